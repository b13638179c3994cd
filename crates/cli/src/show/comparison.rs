//! A comparison for people: each figure on both sides, its change, and what the gates say.

use streamgauge_metrics::{GateOutcome, verdict};
use streamgauge_schema::Comparison;

use super::number::{figure, percent};
use super::table::table;
use crate::args::Format;

/// A comparison of version 1.
pub(crate) fn comparison(comparison: &Comparison, format: Format) -> String {
    let mut rows = Vec::new();
    for (cell, compared) in comparison.cells.iter() {
        for (name, metric) in compared.metrics.iter() {
            rows.push([
                format!("{cell} {name}"),
                figure(metric.baseline),
                figure(metric.candidate),
                percent(metric.delta_percent),
                if metric.no_more_than_5_percent_regression { "yes" } else { "NO" }.to_owned(),
            ]);
        }
    }
    let header = ["", "baseline", "candidate", "change", "within 5 %"];
    format!(
        "{}\n\nVerdict by the point rule: {}\n{}",
        table(format, header, rows),
        outcome(verdict(comparison)),
        comparison.qualification
    )
}

fn outcome(outcome: GateOutcome) -> &'static str {
    match outcome {
        GateOutcome::Failed => "FAILED",
        GateOutcome::Ineligible => "INELIGIBLE (requests failed, or the client was the limit)",
        GateOutcome::NotEvaluated => "NOT EVALUATED",
        GateOutcome::Passed => "PASSED",
    }
}
