//! A run for people: what was measured, what failed, its figures, and what they do not say.

use std::collections::BTreeMap;
use std::path::Path;

use streamgauge_metrics::{MetricSpec, catalogue};
use streamgauge_schema::{
    Direction, EvidenceMode, Identifier, Metric, Millis, RunRecordV2, WindowName,
};

use super::answers::answers;
use super::number::{count, figure};
use super::page::Page;
use super::replicas::replicas;
use super::shards::shards;
use super::table::table;
use crate::args::Format;
use crate::measure::Measured;
use crate::notices::FailureGroup;

/// Statistics that stand in columns, by the word that ends a label.
const STATISTICS: [&str; 4] = ["median", "p95", "p99", "mean"];
/// Statistics that a record holds and the table leaves out.
const LEFT_OUT: [&str; 4] = ["p90", "standard deviation", "min", "max"];

/// Headings of the table of quantities that each request has.
const QUANTITIES: [&str; 9] =
    ["", "median", "p95", "p99", "mean", "95 % interval\nof median", "n", "missing", "better"];
/// Headings of a table of single values.
const SINGLES: [&str; 4] = ["", "value", "n", "better"];
/// What ends the label of a quantity that is taken over the steady window.
const STEADY: &str = ", steady window";

/// How much of the steady window is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SteadyWindow {
    /// Its figures.
    Figures,
    /// That there is one.
    Line,
}

/// Which of the cells of a command one is, for whoever watches.
pub(crate) fn title(what: &str, cell: &Identifier, number: usize, of: usize) -> String {
    match of {
        1 => format!("{what} {cell}"),
        _ => format!("{what} {cell}, {number} of {of}"),
    }
}

/// A measured cell.
pub(crate) fn run(measured: &Measured, steady: SteadyWindow, page: Page) -> String {
    let record = &measured.record;
    let mut parts = vec![headline(record, page)];
    parts.extend(answers(record, &measured.wrong, page));
    parts.extend(failures(&measured.failures, page));
    // Without an answer there are no figures to show.
    if record.load.succeeded > 0 {
        parts.extend(tables(record, WindowName::Whole, page.format));
        parts.extend(replicas(record, page.format));
        parts.extend(shards(record, page));
        parts.extend(absent(record, page));
        parts.extend(steady_window(record, steady, page));
    }
    parts.push(limitations(record, page));
    parts.push(measured.dir.record().display().to_string());
    parts.join("\n\n")
}

/// A record that stands alone: its figures, and what they do not say.
pub(crate) fn record(record: &RunRecordV2, path: &Path, page: Page) -> String {
    let mut parts = vec![headline(record, page)];
    if record.load.succeeded > 0 {
        parts.extend(tables(record, WindowName::Whole, page.format));
        parts.extend(replicas(record, page.format));
        parts.extend(shards(record, page));
    }
    parts.push(limitations(record, page));
    parts.push(path.display().to_string());
    parts.join("\n\n")
}

fn limitations(record: &RunRecordV2, page: Page) -> String {
    let texts = record.limitations.iter().map(|limitation| limitation.as_str());
    page.list("What these figures do not say:", texts)
}

/// What failed, the commonest first; nothing where nothing did.
pub(crate) fn failures(groups: &[FailureGroup], page: Page) -> Option<String> {
    let mut groups: Vec<&FailureGroup> = groups.iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    let lines = groups.into_iter().map(|group| {
        let (count, class, example) = (count(group.count), &group.class, &group.example);
        page.prose(&format!("{count} × {class}, for example: {example}"), "    ")
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn headline(record: &RunRecordV2, page: Page) -> String {
    let load = &record.load;
    let simulated =
        if record.evidence_mode == EvidenceMode::Simulated { ", SIMULATED server" } else { "" };
    let (model, cell) = (&record.deployment.model, &load.cell);
    let offered = count(load.offered);
    let succeeded = match (load.succeeded, load.performance_eligible) {
        (0, _) => format!("NOTHING SUCCEEDED of {offered} requests"),
        (some, true) => format!("{} of {offered} requests succeeded", count(some)),
        (some, false) => {
            format!("{} of {offered} requests succeeded; its figures pass no gate", count(some))
        }
    };
    page.heading(&format!("{model}, cell {cell}{simulated}: {succeeded}"))
}

/// The part of the run in which the load was at its target.
fn steady_window(record: &RunRecordV2, shown: SteadyWindow, page: Page) -> Option<String> {
    let window = record.windows.steady?;
    let seconds = |at: Millis| figure(Some(at.value() / 1000.0));
    let place = format!(
        "from {} s to {} s with {} requests in flight on average",
        seconds(window.from_ms),
        seconds(window.to_ms),
        figure(Some(window.mean_inflight)),
    );
    let tables = tables(record, WindowName::Steady, page.format);
    match (tables.is_empty(), shown) {
        (true, _) => None,
        (false, SteadyWindow::Figures) => {
            let heading = page.prose(&format!("In the steady window, {place}:"), "");
            Some([vec![heading], tables].concat().join("\n\n"))
        }
        (false, SteadyWindow::Line) => Some(page.prose(
            &format!(
                "The steady window is {place}; --steady-window prints its figures, which stand in \
                 the record in any case."
            ),
            "",
        )),
    }
}

/// The figures of a window; a table without a row is none.
fn tables(record: &RunRecordV2, window: WindowName, format: Format) -> Vec<String> {
    let (quantities, singles) = (quantities(record, window), singles(record, window));
    let mut tables = Vec::new();
    if !quantities.is_empty() {
        tables.push(table(format, QUANTITIES, quantities));
    }
    if !singles.is_empty() {
        tables.push(table(format, SINGLES, singles));
    }
    tables
}

/// Metrics of one quantity in one row.
fn quantities(record: &RunRecordV2, window: WindowName) -> Vec<[String; 9]> {
    let mut rows = Vec::new();
    for (metric, quantity) in medians(record, window) {
        let figures = statistics(record, quantity);
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let [median, p95, p99, mean] = figures.map(figure);
        let interval = metric.interval.as_ref().map_or_else(
            || "–".to_owned(),
            |interval| format!("{} … {}", figure(interval.lower), figure(interval.upper)),
        );
        let missing = if metric.missing == 0 { String::new() } else { count(metric.missing) };
        rows.push([
            named(metric, quantity),
            median,
            p95,
            p99,
            mean,
            interval,
            count(metric.samples),
            missing,
            direction(metric).to_owned(),
        ]);
    }
    rows
}

/// The median of each quantity that each request has, and the quantity's name. The metrics of record 1
/// are left out: they have no mean, and their quantities stand here under names of their own.
fn medians(record: &RunRecordV2, window: WindowName) -> impl Iterator<Item = (&Metric, &str)> {
    let has_mean = |quantity: &str| labelled(record, quantity, "mean").is_some();
    of_window(record, window).filter_map(move |metric| match split_label(metric) {
        Some((quantity, "median")) if has_mean(quantity) => Some((metric, quantity)),
        _ => None,
    })
}

fn labelled<'a>(record: &'a RunRecordV2, quantity: &str, statistic: &str) -> Option<&'a Metric> {
    let wanted = format!("{quantity}, {statistic}");
    record.metrics.iter().find(|metric| metric.label.as_str() == wanted)
}

/// What is shown of a quantity.
fn statistics(record: &RunRecordV2, quantity: &str) -> [Option<f64>; 4] {
    STATISTICS.map(|statistic| labelled(record, quantity, statistic)?.value)
}

/// Metrics of which there is one value.
fn alone(record: &RunRecordV2, window: WindowName) -> impl Iterator<Item = &Metric> {
    of_window(record, window).filter(|metric| {
        let is_statistic = |end| STATISTICS.contains(&end) || LEFT_OUT.contains(&end);
        split_label(metric).is_none_or(|(_, end)| !is_statistic(end))
    })
}

/// Metrics of which there is one value, a row each.
fn singles(record: &RunRecordV2, window: WindowName) -> Vec<[String; 4]> {
    let known = alone(record, window).filter(|metric| metric.value.is_some());
    let row = |metric: &Metric| {
        [
            named(metric, metric.label.as_str()),
            figure(metric.value),
            count(metric.samples),
            direction(metric).to_owned(),
        ]
    };
    known.map(row).collect()
}

/// The quantities of which the run has no value at all, and why that may be.
fn absent(record: &RunRecordV2, page: Page) -> Option<String> {
    let specs: BTreeMap<&str, &MetricSpec> =
        catalogue().iter().map(|spec| (spec.id.as_str(), spec)).collect();
    let without = |quantity: &str| statistics(record, quantity).iter().all(Option::is_none);
    let of_requests = medians(record, WindowName::Whole).filter(|(_, quantity)| without(quantity));
    let of_run = alone(record, WindowName::Whole)
        .filter(|metric| metric.value.is_none())
        .map(|metric| (metric, metric.label.as_str()));
    // Quantities that lack a value for the same reason share a line.
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for (metric, name) in of_requests.chain(of_run) {
        let Some(reason) = specs.get(metric.id.as_str()).map(|spec| spec.absent_when) else {
            continue;
        };
        match lines.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => lines.push((reason, vec![name])),
        }
    }
    let items = lines.iter().map(|(reason, names)| {
        let first =
            reason.split_once(". ").map_or(reason.trim_end_matches('.'), |(first, _)| first);
        format!("{}: {first}.", names.join(", "))
    });
    (!lines.is_empty()).then(|| page.list("Without a value in this run:", items))
}

/// A quantity with its unit.
fn named(metric: &Metric, quantity: &str) -> String {
    format!("{}, {}", quantity.strip_suffix(STEADY).unwrap_or(quantity), metric.unit)
}

fn of_window(record: &RunRecordV2, window: WindowName) -> impl Iterator<Item = &Metric> {
    record.metrics.iter().filter(move |metric| metric.window == window)
}

fn split_label(metric: &Metric) -> Option<(&str, &str)> {
    metric.label.as_str().rsplit_once(", ")
}

fn direction(metric: &Metric) -> &'static str {
    match metric.direction {
        Direction::HigherIsBetter => "more",
        Direction::LowerIsBetter => "less",
        Direction::Neutral => "",
    }
}
