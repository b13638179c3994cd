//! What was judged before speed, a row for each finding of each cell.

use streamgauge_metrics::Compared;
use streamgauge_schema::{CellComparisonV2, FindingVerdict, PromptPairs, Tally};

use super::verdict::Tone;
use crate::number::{NONE, count, figure, of, p_value};
use crate::words::spaced;

/// One finding of one cell.
#[derive(Debug)]
pub(super) struct FindingRow {
    pub(super) cell: String,
    pub(super) name: String,
    pub(super) baseline: String,
    pub(super) candidate: String,
    pub(super) p_value: String,
    pub(super) verdict: &'static str,
    pub(super) tone: Tone,
}

/// The findings of all cells; a comparison by points has none.
pub(super) fn findings(compared: Compared<'_>) -> Vec<FindingRow> {
    let Compared::V2(comparison) = compared else { return Vec::new() };
    comparison.cells.iter().flat_map(|(name, cell)| of_cell(name.as_str(), cell)).collect()
}

fn of_cell(cell: &str, compared: &CellComparisonV2) -> Vec<FindingRow> {
    let answers = compared.correctness.as_ref().map(|it| {
        let alone = |of: fn(&PromptPairs) -> u64| {
            let text = |pairs: &PromptPairs| {
                format!("{} of {} alone right", count(of(pairs)), count(pairs.count()))
            };
            it.pairs.as_ref().map_or_else(|| NONE.to_owned(), text)
        };
        let sides = (alone(|pairs| pairs.baseline_only), alone(|pairs| pairs.candidate_only));
        ("right_answers", sides, it.p_value, it.differs)
    });
    let counts = compared.counts.iter().map(|it| {
        (it.name.as_str(), (tally(it.baseline), tally(it.candidate)), it.p_value, it.verdict)
    });
    let values = compared.values.iter().map(|it| {
        (it.name.as_str(), (mean(&it.baseline), mean(&it.candidate)), it.p_value, it.verdict)
    });
    let rows = answers.into_iter().chain(counts).chain(values);
    rows.map(|(name, (baseline, candidate), p, verdict)| FindingRow {
        cell: cell.to_owned(),
        name: spaced(name),
        baseline,
        candidate,
        p_value: p_value(p),
        verdict: match verdict {
            FindingVerdict::Alike => "alike",
            FindingVerdict::Differs => "differ",
            FindingVerdict::NotEvaluated => "not judged",
        },
        tone: match verdict {
            FindingVerdict::Alike => Tone::Good,
            FindingVerdict::Differs => Tone::Bad,
            FindingVerdict::NotEvaluated => Tone::Open,
        },
    })
    .collect()
}

fn tally(of_side: Option<Tally>) -> String {
    of_side.map_or_else(|| NONE.to_owned(), |tally| of(tally.count, tally.of))
}

fn mean(values: &[Option<f64>]) -> String {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    figure((!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64))
}
