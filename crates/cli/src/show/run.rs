//! A run for people: what was measured, its figures, its failures, and what they do not say.

use std::iter;

use streamgauge_schema::{EvidenceMode, Metric, RunRecordV2};

use super::number::{count, figure};
use super::table::table;
use crate::args::Format;
use crate::measure::{FailureGroup, Measured};

/// Statistics that stand in columns, by the word that ends a label.
const STATISTICS: [&str; 4] = ["median", "p95", "p99", "mean"];

/// A measured cell.
pub(crate) fn run(measured: &Measured, format: Format) -> String {
    let record = &measured.record;
    let mut parts =
        vec![headline(record, format), figures(record, format), singles(record, format)];
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

/// Metrics of one quantity in one row.
fn figures(record: &RunRecordV2, format: Format) -> String {
    let mut rows: Vec<[String; 8]> = Vec::new();
    for metric in &record.metrics {
        let Some((quantity, "median")) = split_label(metric) else { continue };
        let [median, p95, p99, mean] = STATISTICS.map(|statistic| {
            let wanted = format!("{quantity}, {statistic}");
            record.metrics.iter().find(|other| other.label.as_str() == wanted)
        });
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
    table(format, ["", "median", "p95", "p99", "mean", "95 % of median", "n", "better"], rows)
}

/// Metrics of which there is one value.
fn singles(record: &RunRecordV2, format: Format) -> String {
    let alone =
        |metric: &&Metric| split_label(metric).is_none_or(|(_, end)| !STATISTICS.contains(&end));
    let rows = record.metrics.iter().filter(alone).map(|metric| {
        [
            format!("{}, {}", metric.label, metric.unit),
            figure(metric.value),
            count(metric.samples),
            direction(metric).to_owned(),
        ]
    });
    let peak = record.performance.observed_peak_inflight;
    let of_the_client = [
        ("Peak in flight", peak.map_or_else(|| figure(None), count)),
        ("Mean in flight", figure(record.windows.whole.map(|window| window.mean_inflight))),
        ("Client's own lag, p99, ms", figure(record.instrument.observer_lag_ms.map(|lag| lag.p99))),
    ];
    let of_the_client = of_the_client
        .into_iter()
        .map(|(label, value)| [label.to_owned(), value, String::new(), String::new()]);
    table(format, ["", "value", "n", "better"], rows.chain(of_the_client))
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
