//! What was judged before speed, a row for each finding of each cell.

use streamgauge_schema::{
    CellComparisonV2, ComparisonV2, CorrectnessComparison, FindingVerdict, Identifier, PromptPairs,
    Tally,
};

use crate::show::number::{count, figure};

/// One finding of one cell.
pub(super) struct FindingRow {
    pub(super) cell: String,
    pub(super) name: &'static str,
    pub(super) baseline: String,
    pub(super) candidate: String,
    pub(super) p_value: Option<f64>,
    pub(super) verdict: FindingVerdict,
}

/// The findings of all cells.
pub(super) fn findings(comparison: &ComparisonV2) -> Vec<FindingRow> {
    comparison.cells.iter().flat_map(|(name, cell)| of_cell(name, cell)).collect()
}

fn of_cell(cell: &Identifier, compared: &CellComparisonV2) -> Vec<FindingRow> {
    let counts = compared.counts.iter().map(|it| {
        (it.name.as_str(), share(it.baseline), share(it.candidate), it.p_value, it.verdict)
    });
    let values = compared.values.iter().map(|it| {
        (it.name.as_str(), mean(&it.baseline), mean(&it.candidate), it.p_value, it.verdict)
    });
    let row = |(name, baseline, candidate, p_value, verdict)| FindingRow {
        cell: cell.to_string(),
        name,
        baseline,
        candidate,
        p_value,
        verdict,
    };
    let answers = compared.correctness.as_ref().map(answers);
    answers.into_iter().chain(counts).chain(values).map(row).collect()
}

/// Pairs of prompts that are right on one side alone.
fn answers(
    correctness: &CorrectnessComparison,
) -> (&'static str, String, String, Option<f64>, FindingVerdict) {
    let alone = |of: fn(&PromptPairs) -> u64| {
        let text = |pairs: &PromptPairs| {
            format!("{} of {} alone right", count(of(pairs)), count(pairs.count()))
        };
        correctness.pairs.as_ref().map_or_else(|| figure(None), text)
    };
    let (old, new) = (alone(|pairs| pairs.baseline_only), alone(|pairs| pairs.candidate_only));
    ("right_answers", old, new, correctness.p_value, correctness.differs)
}

fn share(tally: Option<Tally>) -> String {
    let shown = |tally: Tally| format!("{} of {}", count(tally.count), count(tally.of));
    tally.map_or_else(|| figure(None), shown)
}

fn mean(values: &[Option<f64>]) -> String {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    figure((!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64))
}

/// A p-value; one too small to be told from 0 is said to be small.
pub(super) fn p_value(value: Option<f64>) -> String {
    match value {
        None => figure(None),
        Some(value) if value < 0.0001 => "< 0.0001".to_owned(),
        Some(value) => format!("{value:.4}"),
    }
}

/// A finding's verdict in words.
pub(super) fn sides(verdict: FindingVerdict) -> &'static str {
    match verdict {
        FindingVerdict::Alike => "alike",
        FindingVerdict::Differs => "DIFFER",
        FindingVerdict::NotEvaluated => "not judged",
    }
}
