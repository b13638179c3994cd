//! A run for people: what was measured, its figures, its failures, and what they do not say.

use std::iter;

use streamgauge_schema::{EvidenceMode, Metric, Millis, RunRecordV2, WindowName};

use super::answers::answers;
use super::number::{count, figure};
use super::table::table;
use crate::args::Format;
use crate::measure::Measured;
use crate::notices::FailureGroup;

/// Statistics that stand in columns, by the word that ends a label.
const STATISTICS: [&str; 4] = ["median", "p95", "p99", "mean"];
/// Statistics that a record holds and the table leaves out.
const LEFT_OUT: [&str; 4] = ["p90", "standard deviation", "min", "max"];

/// Headings of a table of single values.
const SINGLES: [&str; 4] = ["", "value", "n", "better"];
/// What ends the label of a quantity that is taken over the steady window.
const STEADY: &str = ", steady window";

/// A measured cell.
pub(crate) fn run(measured: &Measured, format: Format) -> String {
    let record = &measured.record;
    let mut parts = vec![headline(record, format)];
    parts.extend(answers(record, &measured.wrong, format));
    parts.extend([figures(record, WindowName::Whole, format), singles(record, format)]);
    parts.extend(steady(record, format));
    if !measured.failures.is_empty() {
        parts.push(measured.failures.iter().map(failure).collect::<Vec<_>>().join("\n"));
    }
    let limitations = record.limitations.iter().map(|limitation| format!("- {limitation}"));
    let heading = "What these figures do not say:".to_owned();
    parts.push(iter::once(heading).chain(limitations).collect::<Vec<_>>().join("\n"));
    parts.push(measured.dir.record().display().to_string());
    parts.join("\n\n")
}

fn failure(group: &FailureGroup) -> String {
    format!("{} × {}, for example: {}", count(group.count), group.class, group.example)
}

fn headline(record: &RunRecordV2, format: Format) -> String {
    let load = &record.load;
    let simulated =
        if record.evidence_mode == EvidenceMode::Simulated { ", SIMULATED server" } else { "" };
    let heading = if format == Format::Markdown { "### " } else { "" };
    let eligible = if load.performance_eligible { "" } else { "; its figures pass no gate" };
    format!(
        "{heading}{model}, cell {cell}{simulated}: {succeeded} of {offered} requests \
         succeeded{eligible}",
        model = record.deployment.model,
        cell = load.cell,
        succeeded = count(load.succeeded),
        offered = count(load.offered),
    )
}

/// The part of the run in which the load was at its target.
fn steady(record: &RunRecordV2, format: Format) -> Option<String> {
    let window = record.windows.steady?;
    let mut rows = rates(record, WindowName::Steady).peekable();
    rows.peek()?;
    let seconds = |at: Millis| figure(Some(at.value() / 1000.0));
    let heading = format!(
        "In the steady window, from {} s to {} s with {} requests in flight on average:",
        seconds(window.from_ms),
        seconds(window.to_ms),
        figure(Some(window.mean_inflight)),
    );
    let figures = figures(record, WindowName::Steady, format);
    Some([heading, figures, table(format, SINGLES, rows)].join("\n\n"))
}

/// Metrics of one quantity in one row.
fn figures(record: &RunRecordV2, window: WindowName, format: Format) -> String {
    let mut rows: Vec<[String; 8]> = Vec::new();
    for metric in of_window(record, window) {
        let Some((quantity, "median")) = split_label(metric) else { continue };
        let [median, p95, p99, mean] = STATISTICS.map(|statistic| {
            let wanted = format!("{quantity}, {statistic}");
            record.metrics.iter().find(|other| other.label.as_str() == wanted)
        });
        let quantity = quantity.strip_suffix(STEADY).unwrap_or(quantity);
        // The metrics of record 1 stand for themselves; their quantities stand here as well.
        if mean.is_none() {
            continue;
        }
        let interval = metric.interval.as_ref().map_or_else(
            || "–".to_owned(),
            |interval| format!("{} … {}", figure(interval.lower), figure(interval.upper)),
        );
        let n = if metric.missing == 0 {
            count(metric.samples)
        } else {
            format!("{} ({} missing)", count(metric.samples), count(metric.missing))
        };
        rows.push([
            format!("{quantity}, {}", metric.unit),
            figure(median.and_then(|metric| metric.value)),
            figure(p95.and_then(|metric| metric.value)),
            figure(p99.and_then(|metric| metric.value)),
            figure(mean.and_then(|metric| metric.value)),
            interval,
            n,
            direction(metric).to_owned(),
        ]);
    }
    table(
        format,
        ["", "median", "p95", "p99", "mean", "95 % interval of median", "n", "better"],
        rows,
    )
}

/// Metrics of which there is one value.
fn singles(record: &RunRecordV2, format: Format) -> String {
    table(format, SINGLES, rates(record, WindowName::Whole))
}

/// Those that no quantity has several of, a row each.
fn rates(record: &RunRecordV2, window: WindowName) -> impl Iterator<Item = [String; 4]> {
    let alone = |metric: &&Metric| {
        let is_statistic = |end| STATISTICS.contains(&end) || LEFT_OUT.contains(&end);
        split_label(metric).is_none_or(|(_, end)| !is_statistic(end))
    };
    of_window(record, window).filter(alone).map(|metric| {
        let label = metric.label.as_str();
        [
            format!("{}, {}", label.strip_suffix(STEADY).unwrap_or(label), metric.unit),
            figure(metric.value),
            count(metric.samples),
            direction(metric).to_owned(),
        ]
    })
}

fn of_window(record: &RunRecordV2, window: WindowName) -> impl Iterator<Item = &Metric> {
    record.metrics.iter().filter(move |metric| metric.window == window)
}

fn split_label(metric: &Metric) -> Option<(&str, &str)> {
    metric.label.as_str().rsplit_once(", ")
}

fn direction(metric: &Metric) -> &'static str {
    use streamgauge_schema::Direction;
    match metric.direction {
        Direction::HigherIsBetter => "more",
        Direction::LowerIsBetter => "less",
        Direction::Neutral => "",
    }
}
