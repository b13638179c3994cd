//! A run for people: what was measured, its figures, its failures, and what they do not say.

use std::fmt::Write as _;

use streamgauge_schema::{EvidenceMode, Metric, RunRecordV2};

use super::number::{count, figure};
use super::table::table;
use crate::args::Format;
use crate::measure::Measured;

/// Statistics that stand in columns, by the word that ends a label.
const STATISTICS: [&str; 4] = ["p50", "p95", "p99", "mean"];

/// A measured cell.
pub(crate) fn run(measured: &Measured, format: Format) -> String {
    let record = &measured.record;
    let mut out = headline(record, format);
    out += &figures(record, format);
    out.push_str("\n\n");
    out += &singles(record, format);
    out.push('\n');
    for group in &measured.failures {
        let _ = write!(
            out,
            "\n{} × {}, for example: {}",
            count(group.count),
            group.class,
            group.example
        );
    }
    out.push('\n');
    for limitation in &record.limitations {
        let _ = write!(out, "\n- {limitation}");
    }
    let _ = write!(out, "\n\n{}", measured.dir.record().display());
    out
}

fn headline(record: &RunRecordV2, format: Format) -> String {
    let load = &record.load;
    let simulated =
        if record.evidence_mode == EvidenceMode::Simulated { ", SIMULATED server" } else { "" };
    let heading = if format == Format::Markdown { "### " } else { "" };
    let eligible = if load.performance_eligible { "" } else { "; its figures pass no gate" };
    format!(
        "{heading}{model}, cell {cell}{simulated}: {succeeded} of {offered} requests \
         succeeded{eligible}\n\n",
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
        let Some((quantity, "p50")) = split_label(metric) else { continue };
        let value = |statistic| {
            let wanted = format!("{quantity}, {statistic}");
            let found = record.metrics.iter().find(|other| other.label.as_str() == wanted);
            figure(found.and_then(|other| other.value))
        };
        let [p50, p95, p99, mean] = STATISTICS.map(value);
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
            p50,
            p95,
            p99,
            mean,
            interval,
            n,
            direction(metric).to_owned(),
        ]);
    }
    table(format, ["", "p50", "p95", "p99", "mean", "95 % of p50", "n", "better"], rows)
}

/// Metrics of which there is one value.
fn singles(record: &RunRecordV2, format: Format) -> String {
    let alone = |metric: &&Metric| {
        split_label(metric).is_none_or(|(_, end)| !STATISTICS.contains(&end) && end != "median")
    };
    let rows = record.metrics.iter().filter(alone).map(|metric| {
        [
            format!("{}, {}", metric.label, metric.unit),
            figure(metric.value),
            count(metric.samples),
            direction(metric).to_owned(),
        ]
    });
    table(format, ["", "value", "n", "better"], rows)
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
