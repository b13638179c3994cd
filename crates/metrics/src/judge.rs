//! The judge of a comparison with intervals: everything in it that follows from the rest.
//!
//! A comparison holds what was measured and what was asked: runs, figures, counts, gates, looks.
//! Tests, intervals, verdicts and limitations follow from these alone and are filled in here, once
//! for `compare_blocks` and once more for whoever verifies the document.

mod correctness;
mod findings;
mod limitations;
mod metric;
mod said;
mod speed;
mod turnover;

use streamgauge_schema::{
    CellComparisonV2, ComparisonMethod, ComparisonV2, GateInForce, GateVerdict, Identifier,
};

use metric::Standing;

pub use said::level_in_percent;
pub(crate) use said::said;

/// What the cells of a comparison are judged by.
#[derive(Clone, Copy, Debug)]
struct Terms<'a> {
    method: ComparisonMethod,
    gates: &'a [GateInForce],
    /// Chance of a wrong verdict in this look.
    alpha: f64,
    max_failure_ratio: f64,
}

/// Fills in all that follows from the comparison's given members, whatever stood there before.
pub(crate) fn judge(comparison: &mut ComparisonV2) {
    let looks = comparison.looks.as_ref().map_or(1, |looks| looks.planned_blocks.len().max(1));
    let terms = Terms {
        method: comparison.method,
        gates: &comparison.gates,
        alpha: comparison.alpha / looks as f64,
        max_failure_ratio: comparison.max_failure_ratio,
    };
    let correctness_gate = comparison.correctness_gate.as_ref();
    let cells = &mut comparison.cells.0;
    let test =
        |cell: &mut CellComparisonV2| findings::test(cell, terms.method) + correctness::test(cell);
    comparison.findings_judged = cells.iter_mut().map(|(_, cell)| test(cell)).sum();
    let findings_judged = comparison.findings_judged;
    for (_, cell) in &mut *cells {
        let alpha = terms.alpha / findings_judged.max(1) as f64;
        findings::decide(cell, alpha);
        correctness::decide_difference(cell, alpha);
        cell.speed_void = speed::void(cell, terms.max_failure_ratio);
    }
    comparison.pass_level = 1.0 - terms.alpha;
    (comparison.gates_judged, comparison.fail_level) = judge_gates(cells, correctness_gate, terms);
    if let Some(turnover) = &mut comparison.turnover {
        turnover::judge(turnover, terms.alpha);
    }
    comparison.verdict = verdict(comparison);
    limitations::state(comparison);
}

/// Judges the right answers and the gated metrics of all cells; the number of gates that have an
/// interval decides how wide the ones are that a fail is judged by.
fn judge_gates(
    cells: &mut [(Identifier, CellComparisonV2)],
    correctness_gate: Option<&GateInForce>,
    terms: Terms<'_>,
) -> (u64, Option<f64>) {
    let measure = |cell: &mut CellComparisonV2| {
        (correctness::measure(cell, correctness_gate, terms), metric::measure(cell, terms))
    };
    let standings: Vec<_> = cells.iter_mut().map(|(_, cell)| measure(cell)).collect();
    let judged = standings.iter().map(|(answers, metrics)| {
        let answers = matches!(answers, Some(correctness::Standing::Judged(_)));
        let metrics = metrics.iter().filter(|it| matches!(it, Standing::Judged(_))).count();
        u64::from(answers) + metrics as u64
    });
    let judged: u64 = judged.sum();
    let fail_level = (judged > 0).then(|| 1.0 - terms.alpha / judged as f64);
    for ((_, cell), (answers, metrics)) in cells.iter_mut().zip(standings) {
        if let Some((correctness, standing)) = cell.correctness.as_mut().zip(answers) {
            correctness::decide(correctness, standing, fail_level);
        }
        for ((_, metric), standing) in cell.metrics.0.iter_mut().zip(metrics) {
            metric::decide(metric, standing, terms, fail_level);
        }
    }
    (judged, fail_level)
}

/// The worst of all gates: what fails comes first, then what could not be judged, then what noise
/// left open. Nothing judged passes nothing. Turnovers count where there are any.
fn verdict(comparison: &ComparisonV2) -> GateVerdict {
    let turnover = comparison.turnover.as_ref().map(|it| it.verdict);
    let cells = || comparison.cells.iter().map(|(_, cell)| cell);
    let answers = cells().filter_map(|cell| cell.correctness.as_ref()).map(|it| it.verdict);
    let metrics = cells().flat_map(|cell| cell.metrics.iter()).map(|(_, metric)| metric.verdict);
    let mut found: Vec<GateVerdict> = answers.chain(metrics).collect();
    if found.is_empty() {
        found.push(GateVerdict::NotEvaluated);
    }
    found.extend(turnover);
    let worst_first = [
        GateVerdict::Fail,
        GateVerdict::NotEvaluated,
        GateVerdict::Inconclusive,
        GateVerdict::Pass,
    ];
    let worst = worst_first.into_iter().find(|verdict| found.contains(verdict));
    worst.unwrap_or(GateVerdict::NotEvaluated)
}
