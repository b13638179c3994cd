//! A comparison by intervals for people: the verdict first, then what it rests on.

use streamgauge_schema::{
    CellComparisonV2, ComparisonMethod, ComparisonV2, Equivalence, FindingVerdict, GateVerdict,
    Interval, MetricComparisonV2,
};

use super::number::{figure, percent};
use super::table::table;
use crate::args::Format;

/// A comparison of version 2.
pub(crate) fn comparison_v2(comparison: &ComparisonV2, format: Format) -> String {
    let mut parts = vec![verdict(comparison, format), metrics(comparison, format)];
    parts.extend(reasons(comparison));
    parts.push(findings(comparison, format));
    let limitations =
        comparison.limitations.iter().map(|limitation| format!("- {}", limitation.text));
    let limitations: Vec<String> = limitations.collect();
    if !limitations.is_empty() {
        parts.push(format!("What this does not say:\n{}", limitations.join("\n")));
    }
    parts.join("\n\n")
}

fn verdict(comparison: &ComparisonV2, format: Format) -> String {
    let heading = if format == Format::Markdown { "### " } else { "" };
    let runs = match comparison.method {
        ComparisonMethod::Blocks => "blocks of one run a side",
        ComparisonMethod::Unpaired => "runs that were not taken in blocks (Welch)",
    };
    format!(
        "{heading}Verdict by the interval rule: {} ({runs}; alpha {})",
        word(comparison.verdict),
        comparison.alpha
    )
}

fn metrics(comparison: &ComparisonV2, format: Format) -> String {
    let mut rows = Vec::new();
    for (cell, compared) in comparison.cells.iter() {
        for (name, metric) in compared.metrics.iter() {
            rows.push(row(cell.as_str(), name.as_str(), metric));
        }
    }
    let header =
        ["", "baseline", "candidate", "change", "interval", "noise", "n", "limit", "same", "gate"];
    table(format, header, rows)
}

fn row(cell: &str, name: &str, metric: &MetricComparisonV2) -> [String; 10] {
    let same = match metric.equivalence {
        Some(Equivalence::Within) => "yes",
        Some(Equivalence::Outside) => "no",
        Some(Equivalence::Undecided) => "?",
        None => "–",
    };
    [
        format!("{cell} {name}"),
        figure(metric.baseline_mean),
        figure(metric.candidate_mean),
        percent(metric.delta_percent),
        metric.pass_interval.as_ref().map_or_else(|| "–".to_owned(), interval),
        percent(metric.noise_percent),
        format!("{}+{}", metric.baseline.len(), metric.candidate.len()),
        format!("{} %", metric.limit_percent),
        same.to_owned(),
        word(metric.verdict).to_owned(),
    ]
}

fn interval(interval: &Interval) -> String {
    format!("{} … {}", percent(interval.lower), percent(interval.upper))
}

/// Why a gate did not pass, and why speed was not judged.
fn reasons(comparison: &ComparisonV2) -> Option<String> {
    let mut reasons = Vec::new();
    for (cell, compared) in comparison.cells.iter() {
        reasons.extend(compared.speed_void.iter().map(|why| format!("{cell}: {why}")));
        for (name, metric) in compared.metrics.iter() {
            if metric.verdict != GateVerdict::Pass {
                reasons.push(format!("{cell} {name}: {}", metric.reason));
            }
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("\n"))
}

/// What was judged before speed.
fn findings(comparison: &ComparisonV2, format: Format) -> String {
    let rows =
        comparison.cells.iter().flat_map(|(cell, compared)| of_cell(cell.as_str(), compared));
    table(format, ["judged before speed", "baseline", "candidate", "p", "sides"], rows)
}

fn of_cell(cell: &str, compared: &CellComparisonV2) -> Vec<[String; 5]> {
    let share = |tally: Option<streamgauge_schema::Tally>| {
        tally.map_or_else(|| "–".to_owned(), |tally| format!("{} of {}", tally.count, tally.of))
    };
    let mean = |values: &[Option<f64>]| {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        figure((!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64))
    };
    let counts = compared.counts.iter().map(|finding| {
        let (old, new) = (share(finding.baseline), share(finding.candidate));
        (finding.name, old, new, finding.p_value, finding.verdict)
    });
    let values = compared.values.iter().map(|finding| {
        let (old, new) = (mean(&finding.baseline), mean(&finding.candidate));
        (finding.name, old, new, finding.p_value, finding.verdict)
    });
    let row = |(name, old, new, p_value, verdict)| {
        [format!("{cell} {name}"), old, new, figure(p_value), sides(verdict).to_owned()]
    };
    counts.chain(values).map(row).collect()
}

fn sides(verdict: FindingVerdict) -> &'static str {
    match verdict {
        FindingVerdict::Alike => "alike",
        FindingVerdict::Differs => "DIFFER",
        FindingVerdict::NotEvaluated => "not judged",
    }
}

fn word(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Fail => "FAIL",
        GateVerdict::Inconclusive => "inconclusive",
        GateVerdict::NotEvaluated => "not evaluated",
        GateVerdict::Pass => "pass",
    }
}
