//! The figures of a run as rows of tables.

use streamgauge_metrics::{MetricSpec, Statistic};
use streamgauge_schema::{Metric, MetricV1, Unit};

use super::glossary::{Glossary, Term};
use crate::figures::{Figures, Quantity, spec};
use crate::number::{NONE, count, figure, of, share, tick};
use crate::words::{better, unit};

/// A quantity that each request has.
#[derive(Debug)]
pub(super) struct QuantityRow {
    pub(super) term: Term,
    pub(super) unit: &'static str,
    /// Median, p95, p99 and mean.
    pub(super) figures: [String; 4],
    /// Of the median.
    pub(super) interval: String,
    pub(super) samples: String,
}

/// What the run has one value of.
#[derive(Debug)]
pub(super) struct SingleRow {
    pub(super) term: Term,
    pub(super) value: String,
    pub(super) unit: &'static str,
    pub(super) interval: String,
    pub(super) samples: String,
}

/// Quantities that lack a value for the same reason.
#[derive(Debug)]
pub(super) struct AbsentRow {
    pub(super) terms: Vec<Term>,
    pub(super) reason: String,
}

/// The tables of one window.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) quantities: Vec<QuantityRow>,
    pub(super) singles: Vec<SingleRow>,
    pub(super) absent: Vec<AbsentRow>,
}

impl Tables {
    pub(super) fn of(figures: &Figures<'_>, glossary: &mut Glossary) -> Self {
        let (absent, present): (Vec<_>, Vec<_>) =
            figures.quantities.iter().partition(|quantity| quantity.is_absent());
        let quantities = present.into_iter().map(|quantity| quantity_row(quantity, glossary));
        let quantities = quantities.collect();
        let singles = figures.singles.iter().filter(|metric| metric.value.is_some());
        let singles = singles.map(|metric| single_row(metric, glossary)).collect();
        let mut rows = Vec::new();
        for quantity in absent {
            let term = glossary.quantity(quantity.spec);
            add_absent(&mut rows, term, quantity.spec.absent_when);
        }
        for metric in figures.singles.iter().filter(|metric| metric.value.is_none()) {
            let reason = spec(metric.id.as_str()).map(|spec| spec.absent_when);
            add_absent(&mut rows, glossary.metric(metric), reason.unwrap_or("not said."));
        }
        Self { quantities, singles, absent: rows }
    }

    /// Those of a record of version 1, which has single figures only.
    pub(super) fn of_version_1(metrics: &[MetricV1], glossary: &mut Glossary) -> Self {
        let row = |metric: &MetricV1| SingleRow {
            term: glossary.own(
                metric.label.as_str(),
                metric.definition.as_str(),
                (metric.unit, direction_of(metric), "as the definition says"),
            ),
            value: value(metric.value, metric.unit),
            unit: unit(metric.unit),
            interval: NONE.to_owned(),
            samples: count(metric.samples),
        };
        Self {
            quantities: Vec::new(),
            singles: metrics.iter().map(row).collect(),
            absent: Vec::new(),
        }
    }
}

fn direction_of(metric: &MetricV1) -> &'static str {
    spec(metric.id.as_str()).map_or("not said", |spec| better(spec.direction))
}

fn quantity_row(quantity: &Quantity<'_>, glossary: &mut Glossary) -> QuantityRow {
    const SHOWN: [Statistic; 4] = [Statistic::P50, Statistic::P95, Statistic::P99, Statistic::Mean];
    let median = quantity.statistic(Statistic::P50);
    QuantityRow {
        term: glossary.quantity(quantity.spec),
        unit: unit(quantity.spec.unit),
        figures: SHOWN.map(|statistic| figure(quantity.value(statistic))),
        interval: median.map_or_else(|| NONE.to_owned(), interval),
        samples: median.map_or_else(|| NONE.to_owned(), samples),
    }
}

fn single_row(metric: &&Metric, glossary: &mut Glossary) -> SingleRow {
    SingleRow {
        term: glossary.metric(metric),
        value: value(metric.value, metric.unit),
        unit: unit(metric.unit),
        interval: interval(metric),
        samples: samples(metric),
    }
}

/// The ends of a metric's interval; one that is missing is not bounded.
fn interval(metric: &Metric) -> String {
    let Some(interval) = &metric.interval else { return NONE.to_owned() };
    let end = |end: Option<f64>, without: &str| match end {
        None => without.to_owned(),
        known => value(known, metric.unit),
    };
    // Where the values are too few for either bound, nothing is known.
    if interval.lower.is_none() && interval.upper.is_none() {
        return NONE.to_owned();
    }
    format!("{} … {}", end(interval.lower, "−∞"), end(interval.upper, "∞"))
}

/// A value by its unit: shares in percent, whole counts without digits after the point.
pub(super) fn value(value: Option<f64>, unit: Unit) -> String {
    match (unit, value) {
        (Unit::Ratio, Some(value)) => share(value),
        (Unit::Count, Some(value)) => tick(value),
        (_, value) => figure(value),
    }
}

/// How many values entered, of how many that could. Of a quantity that a request has many values of
/// (gaps, reads) what is missing is counted in requests, so that the two do not add up;
/// the extremes of all gaps are of that kind, and have no statistic.
fn samples(metric: &Metric) -> String {
    let is_pooled = |spec: &MetricSpec| {
        spec.is_pooled || spec.statistic.is_none() && spec.unit == Unit::Milliseconds
    };
    let pooled = spec(metric.id.as_str()).is_some_and(is_pooled);
    match (pooled, metric.missing) {
        (true, 0) => count(metric.samples),
        (true, missing) => {
            format!("{} ({} requests without)", count(metric.samples), count(missing))
        }
        (false, missing) => of(metric.samples, metric.samples.saturating_add(missing)),
    }
}

fn add_absent(rows: &mut Vec<AbsentRow>, term: Term, reason: &str) {
    // What is told of one run in a line; the glossary has the rest.
    let first = reason.split_once(". ").map_or(reason.trim_end_matches('.'), |(first, _)| first);
    match rows.iter_mut().find(|row| row.reason == first) {
        Some(row) => row.terms.push(term),
        None => rows.push(AbsentRow { terms: vec![term], reason: first.to_owned() }),
    }
}
