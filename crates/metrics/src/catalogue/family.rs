//! One quantity and the metrics that are made of it.

use streamgauge_schema::{Direction, Identifier, PublicText, TokenSource, Unit, WindowName};

use super::{MetricSpec, Population, Presence};
use crate::gaps::{GapRange, Gaps};
use crate::measured::Part;
use crate::sent::Sent;
use crate::statistic::Statistic;

/// One quantity and the metrics made of it.
#[derive(Debug)]
pub(crate) struct Family {
    /// Its name for people; the label of a metric is this and the statistic.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) direction: Direction,
    pub(crate) population: Population,
    pub(crate) presence: Presence,
    pub(crate) token_source: Option<TokenSource>,
    /// The end of a definition that begins with the statistic: "the time from …".
    pub(crate) meaning: &'static str,
    /// How the value comes from what was stored.
    pub(crate) formula: &'static str,
    pub(crate) absent_when: &'static str,
    /// One example with numbers.
    pub(crate) example: &'static str,
    pub(crate) source: Source,
}

/// Where the values of a family come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Each response adds its gaps; one that has none is missing.
    Gaps {
        of: fn(&Gaps, &Sent) -> GapRange,
        /// Their number and sum, which are known even where the single ones were not kept.
        sum_us: fn(&Sent) -> Option<(u64, u64)>,
        metrics: Metrics,
    },
    /// Each read with a usable kernel stamp adds how long its bytes lay unread.
    Lags { metrics: Metrics },
    /// Each request has a value, or is missing.
    Requests { value: fn(&Sent) -> Option<f64>, metrics: Metrics },
    /// The run has one value.
    Run { metric: Entry, figure: fn(Part<'_>) -> RunFigure },
    /// The share of the requests that say anything for which it is true.
    Share { metric: Entry, of: fn(&Sent) -> Option<bool> },
    /// Each token after the first event's adds its part of the gap before its event.
    Tokens { metrics: Metrics },
    /// Each request has a whole number (of microseconds, where the unit is a time), or is missing.
    Whole { value: fn(&Sent) -> Option<u64>, metrics: Metrics },
}

/// The metrics of a quantity that each request has.
#[derive(Debug)]
pub(crate) enum Metrics {
    /// All statistics, over the whole run and its steady window, by the name of the quantity.
    Both(&'static str),
    /// These.
    These(&'static [Entry]),
    /// All statistics, over the whole run alone.
    Whole(&'static str),
}

/// One metric of a family.
#[derive(Debug)]
pub(crate) struct Entry {
    /// `None` where it is taken over the steady window alone.
    id: Option<&'static str>,
    /// Its name where it is taken over the steady window too.
    steady_id: Option<&'static str>,
    /// `None` when the run has one value.
    statistic: Option<Statistic>,
    /// The words of version 1, where the metric is one of its seven.
    version_1: Option<&'static str>,
}

impl Entry {
    pub(crate) const fn new(id: &'static str, statistic: Statistic) -> Self {
        Self { id: Some(id), steady_id: None, statistic: Some(statistic), version_1: None }
    }

    pub(crate) const fn of_run(id: &'static str) -> Self {
        Self { id: Some(id), steady_id: None, statistic: None, version_1: None }
    }

    pub(crate) const fn of_steady(id: &'static str) -> Self {
        Self { id: None, steady_id: Some(id), statistic: None, version_1: None }
    }

    pub(crate) const fn in_version_1(self, definition: &'static str) -> Self {
        Self { version_1: Some(definition), ..self }
    }

    pub(crate) const fn and_steady(self, id: &'static str) -> Self {
        Self { steady_id: Some(id), ..self }
    }
}

/// A metric with its name, as it is taken over one window.
struct Named {
    id: String,
    /// What it is called over the whole run; `None` where it has a meaning of its own.
    whole_id: Option<String>,
    statistic: Option<Statistic>,
    version_1: Option<&'static str>,
}

/// One value for the whole of a part.
#[derive(Debug)]
pub(crate) struct RunFigure {
    pub(crate) value: Option<f64>,
    /// Requests that entered the value.
    pub(crate) samples: u64,
    /// Requests that lack what the value needs.
    pub(crate) missing: u64,
    /// What the definition must add for this run.
    pub(crate) remark: Option<String>,
}

impl RunFigure {
    /// A value of so many requests, with nothing missing; none without a value.
    pub(crate) fn of(value: Option<f64>, samples: u64) -> Self {
        Self { value, samples: value.map_or(0, |_| samples), missing: 0, remark: None }
    }
}

impl Family {
    /// What its metrics are, of those that are taken over this window.
    pub(crate) fn specs(&self, window: WindowName) -> Vec<MetricSpec> {
        self.named(window).into_iter().map(|named| self.spec(named, window)).collect()
    }

    /// The names of its metrics, of those that are taken over this window.
    fn named(&self, window: WindowName) -> Vec<Named> {
        let is_steady = window == WindowName::Steady;
        match &self.source {
            Source::Run { metric, .. } | Source::Share { metric, .. } => {
                Named::of(metric, window).into_iter().collect()
            }
            Source::Gaps { metrics, .. }
            | Source::Lags { metrics }
            | Source::Requests { metrics, .. }
            | Source::Tokens { metrics }
            | Source::Whole { metrics, .. } => match metrics {
                Metrics::These(entries) => {
                    entries.iter().filter_map(|entry| Named::of(entry, window)).collect()
                }
                Metrics::Whole(_) if is_steady => Vec::new(),
                Metrics::Both(quantity) | Metrics::Whole(quantity) => Statistic::ALL
                    .map(|statistic| self.statistic(quantity, statistic, window))
                    .into(),
            },
        }
    }

    fn statistic(&self, quantity: &str, statistic: Statistic, window: WindowName) -> Named {
        let (word, unit) = (statistic.word(), self.unit.id_suffix());
        let whole_id = format!("{quantity}_{word}_{unit}");
        let is_steady = window == WindowName::Steady;
        let id =
            if is_steady { format!("{quantity}_steady_{word}_{unit}") } else { whole_id.clone() };
        Named { id, whole_id: Some(whole_id), statistic: Some(statistic), version_1: None }
    }

    fn spec(&self, named: Named, window: WindowName) -> MetricSpec {
        let mut label = self.name.to_owned();
        if window == WindowName::Steady {
            label.push_str(", steady window");
        }
        if let Some(statistic) = named.statistic {
            label = format!("{label}, {}", statistic.label());
        }
        // The catalogue's own texts: a test reads every one.
        let text = |text| PublicText::new(text).expect("the catalogue keeps the rules of texts");
        let is_spread = named.statistic == Some(Statistic::StandardDeviation);
        MetricSpec {
            label: text(label),
            definition: text(self.definition(&named, window)),
            unit: self.unit,
            direction: if is_spread { Direction::Neutral } else { self.direction },
            window,
            population: self.population,
            token_source: self.token_source,
            statistic: named.statistic,
            absent_when: self.absent_when,
            in_version_1: named.version_1.is_some() && window == WindowName::Whole,
            presence: self.presence,
            quantity: self.name,
            formula: self.formula,
            example: self.example,
            is_whole: matches!(
                self.source,
                Source::Gaps { .. } | Source::Lags { .. } | Source::Whole { .. }
            ),
            is_pooled: matches!(
                self.source,
                Source::Gaps { .. } | Source::Lags { .. } | Source::Tokens { .. }
            ),
            is_share: matches!(self.source, Source::Share { .. }),
            id: Identifier::new(named.id).expect("the catalogue's ids are identifiers"),
        }
    }

    fn definition(&self, named: &Named, window: WindowName) -> String {
        if let (WindowName::Steady, Some(whole_id)) = (window, &named.whole_id) {
            let is_rate = matches!(self.unit, Unit::RequestsPerSecond | Unit::TokensPerSecond)
                && named.statistic.is_none();
            let end = if is_rate { ", and over its length." } else { "." };
            return format!(
                "As {whole_id}, but of the requests that began, or by their schedule were due, in \
                 windows.steady (its end left out){end}"
            );
        }
        match (named.version_1, named.statistic) {
            (Some(words), _) => words.to_owned(),
            (None, Some(statistic)) => format!("{} of {}", statistic.phrase(), self.meaning),
            (None, None) => self.meaning.to_owned(),
        }
    }
}

impl Named {
    fn of(entry: &Entry, window: WindowName) -> Option<Self> {
        let id = match window {
            WindowName::Steady => entry.steady_id,
            WindowName::Whole => entry.id,
        };
        Some(Self {
            id: id?.to_owned(),
            whole_id: entry.id.map(str::to_owned),
            statistic: entry.statistic,
            version_1: entry.version_1,
        })
    }
}
