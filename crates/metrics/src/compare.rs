//! The point rule: one run of the candidate held against one run of the baseline, cell by cell.
//!
//! It is arithmetic on the figures as they stand. The noise between runs, which is what matters, is
//! not considered, and the comparison says so.

mod blocks;
mod build;
mod error;
mod gates;
mod gathered;
mod insecure;
mod matching;
mod pairing;
mod pairs;
mod retried;
#[cfg(test)]
mod tests;
mod turnovers;

use std::fmt;

use streamgauge_schema::{
    CellComparison, CellComparisonV2, ComparedFigure, ComparedRun, Comparison, ComparisonSchema,
    Direction, EvidenceMode, Identifier, MetricComparison, MetricComparisonV2, OrderedMap, Phase,
    PublicText, RunRecord, RunRecordV2, Turnover,
};

use crate::catalogue::PASS_RATIO;
use crate::gate::{
    compared_direction, delta_percent, performance_gate, strict_turnover_gate, within_five_percent,
};

use crate::record::{EXPECTED_MODEL_LABEL, NO_MODEL_NAMED, RETURNED_MODELS_LABEL};
use crate::stood::Compared;

pub use blocks::{BlockRules, compare_blocks};
pub(crate) use build::build_as_compared;
pub use error::CompareError;
pub use gates::prompts_needed;
pub(crate) use gates::samples_needed;
pub(crate) use gathered::{compared_run, figure_of, share_of, value_of};
pub use insecure::InsecureRuns;
pub use matching::{Difference, MatchingCondition, UnknownCondition};
pub use pairing::Pairing;
pub use pairs::{DiscordantPrompts, PromptOutcomes, discordant_prompts};
pub(crate) use turnovers::compared as compared_turnover;

/// The gated metrics: their ids in records, and their names in comparisons.
const GATED: [(&str, &str); 3] = [
    ("ttft_p50_ms", "ttft_p50_ms"),
    ("e2e_p50_ms", "e2e_p50_ms"),
    ("decode_rate_p50_tok_per_s", "decode_tok_s_p50"),
];

const GATED_IDS: [&str; 3] = [GATED[0].0, GATED[1].0, GATED[2].0];

/// The id in records of a metric by its name in a comparison by the point rule; a name that is no other
/// than its id, or of which nothing is known, is returned as it is.
///
/// ```
/// use streamgauge_metrics::recorded_id;
/// assert_eq!(recorded_id("decode_tok_s_p50"), "decode_rate_p50_tok_per_s");
/// assert_eq!(recorded_id("ttft_p50_ms"), "ttft_p50_ms");
/// ```
#[must_use]
pub fn recorded_id(compared: &str) -> &str {
    GATED.iter().find(|(_, name)| *name == compared).map_or(compared, |(id, _)| id)
}

/// The metric that says how long the prompts were.
const PROMPT_TOKENS: &str = "prompt_tokens_p50_tok";
/// The condition that names what was served.
const IMAGE_LABEL: &str = "Runtime image";

/// The condition that holds the digest of what a server says of itself. Where a deployment declares
/// nothing that tells builds apart, a comparison takes it for the build's variant.
pub const SERVER_LABEL: &str = "Server's account of itself";
/// The condition that says how many models the server listed.
pub const MODELS_LISTED_LABEL: &str = "Models listed by the server";
/// The condition that says which version the server says it has.
pub const VERSION_LABEL: &str = "Version stated by the server";

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// What ships now.
    Baseline,
    /// What may ship next.
    Candidate,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
        })
    }
}

/// Compares a candidate with a baseline by the point rule: one run each, matched by cell.
///
/// Medians of first output, of full duration and of decode rate are gated at 5 percent. Turnover runs
/// among the records, at most one of the baseline and two of the candidate, are matched by what they
/// are, and fill the members of their own. A side is eligible when its run is and when the client did not bend a gated metric. Conditions in
/// `allow_differing` may differ; the comparison's `qualification` then names them, and says when runs that
/// did not verify their server were allowed.
///
/// # Errors
/// When the records do not pair up, lack gated metrics, differ in a matching condition, or did not verify
/// their server.
pub fn compare_point(
    baseline: &[RunRecord],
    candidate: &[RunRecord],
    allow_differing: &[MatchingCondition],
    insecure: InsecureRuns,
) -> Result<Comparison, CompareError> {
    let insecure = insecure::count(baseline, candidate, insecure)?;
    let retried = retried::count(baseline, candidate).into_iter().sum();
    let (baseline, old_turnovers) = turnovers::part(Side::Baseline, baseline)?;
    let (candidate, new_turnovers) = turnovers::part(Side::Candidate, candidate)?;
    let baseline = runs_of(Side::Baseline, &baseline)?;
    let candidate = runs_of(Side::Candidate, &candidate)?;
    let pairs = pair(&baseline, &candidate)?;

    let (allowed, forbidden): (Vec<Difference>, Vec<Difference>) = pairs
        .iter()
        .flat_map(|(baseline, candidate)| matching::differences(baseline, candidate, &GATED_IDS))
        .chain(turnovers::differences(&old_turnovers, &new_turnovers))
        .partition(|difference| allow_differing.contains(&difference.condition));
    if !forbidden.is_empty() {
        return Err(CompareError::Differing { differences: forbidden });
    }

    let cells = pairs
        .iter()
        .map(|(baseline, candidate)| (baseline.load.cell.clone(), cell(baseline, candidate)));
    let cells = OrderedMap(cells.collect());
    let [baseline_turnover, candidate_turnover, candidate_turnover_repeat] =
        turnovers::in_version_1(old_turnovers, new_turnovers)?;
    let of_candidate: Vec<&Turnover> =
        [&candidate_turnover, &candidate_turnover_repeat].into_iter().flatten().collect();
    Ok(Comparison {
        schema: ComparisonSchema::V1,
        baseline_image: image(Side::Baseline, &baseline)?,
        candidate_image: image(Side::Candidate, &candidate)?,
        performance_gate_passed: performance_gate(&cells),
        cells,
        strict_turnover_gate_passed: strict_turnover_gate(&of_candidate),
        qualification: qualification(&pairs, &allowed, Counts { insecure, retried }),
        promotion: undecided(),
        baseline_turnover,
        candidate_turnover,
        candidate_turnover_repeat,
        human_decision: undecided(),
    })
}

type Pair<'a> = (&'a RunRecordV2, &'a RunRecordV2);

/// Whether a run is one of those that a comparison compared: named by it, where it names runs, and with
/// the figures, to the last bit, that one side of its cell has.
#[must_use]
pub fn was_compared(compared: Compared<'_>, record: &RunRecord) -> bool {
    let RunRecord::V2(run) = record else { return false };
    if run.phase == Phase::Turnover {
        return was_turnover_compared(compared, run);
    }
    match compared {
        Compared::V1(comparison) => {
            let cell = comparison.cells.iter().find(|(name, _)| **name == run.load.cell);
            cell.is_some_and(|(_, cell)| has_point_figures(cell, run))
        }
        Compared::V2(comparison) => {
            let cell = comparison.cells.iter().find(|(name, _)| **name == run.load.cell);
            cell.is_some_and(|(_, cell)| has_run_figures(cell, run))
        }
    }
}

fn was_turnover_compared(compared: Compared<'_>, run: &RunRecordV2) -> bool {
    let Some(report) = &run.turnover else { return false };
    match compared {
        Compared::V1(comparison) => {
            let turnovers = [
                &comparison.baseline_turnover,
                &comparison.candidate_turnover,
                &comparison.candidate_turnover_repeat,
            ];
            turnovers.into_iter().flatten().any(|turnover| *turnover == report.outcome)
        }
        Compared::V2(comparison) => {
            let turnover = comparison.turnover.as_ref();
            turnover.is_some_and(|it| turnovers::holds([&it.baseline, &it.candidate], run))
        }
    }
}

fn has_point_figures(cell: &CellComparison, run: &RunRecordV2) -> bool {
    let of_side = |figure: fn(&MetricComparison) -> Option<f64>| {
        GATED.iter().all(|(id, name)| {
            let metric = cell.metrics.iter().find(|(it, _)| it.as_str() == *name);
            metric.is_some_and(|(_, metric)| figure(metric) == value(run, id))
        })
    };
    of_side(|metric| metric.baseline) || of_side(|metric| metric.candidate)
}

fn has_run_figures(cell: &CellComparisonV2, run: &RunRecordV2) -> bool {
    let of_side = |runs: &[ComparedRun], figures: fn(&MetricComparisonV2) -> &[ComparedFigure]| {
        let place = runs.iter().position(|it| it.run_id == run.run_id);
        place.is_some_and(|place| {
            cell.metrics.iter().all(|(id, metric)| {
                let figure = figures(metric).get(place);
                figure.is_some_and(|figure| figure.value == value(run, id.as_str()))
            })
        })
    };
    of_side(&cell.baseline_runs, |metric| &metric.baseline)
        || of_side(&cell.candidate_runs, |metric| &metric.candidate)
}

/// The runs of one side, each with every gated metric and a cell of its own.
fn runs_of<'a>(
    side: Side,
    records: &[&'a RunRecord],
) -> Result<Vec<&'a RunRecordV2>, CompareError> {
    let mut runs: Vec<&RunRecordV2> = Vec::with_capacity(records.len());
    for record in records {
        let missing = |metrics| CompareError::MetricsMissing {
            side,
            run_id: record.run_id().clone(),
            metrics,
            is_imported: *record.evidence_mode() == EvidenceMode::Imported,
        };
        let lacking: Vec<Identifier> =
            GATED_IDS.into_iter().filter(|id| !has_metric(record, id)).map(gated_name).collect();
        let RunRecord::V2(run) = record else { return Err(missing(lacking)) };
        if !lacking.is_empty() {
            return Err(missing(lacking));
        }
        if runs.iter().any(|known| known.load.cell == run.load.cell) {
            return Err(CompareError::CellRepeated { cell: run.load.cell.clone(), side });
        }
        runs.push(run);
    }
    if runs.is_empty() { Err(CompareError::NoRuns { side }) } else { Ok(runs) }
}

/// Pairs the runs by cell, in the baseline's order.
fn pair<'a>(
    baseline: &[&'a RunRecordV2],
    candidate: &[&'a RunRecordV2],
) -> Result<Vec<Pair<'a>>, CompareError> {
    let partner = |run: &RunRecordV2, side, others: &[&'a RunRecordV2]| {
        let cell = &run.load.cell;
        let found = others.iter().copied().find(|other| other.load.cell == *cell);
        found.ok_or_else(|| CompareError::CellUnmatched { cell: cell.clone(), side })
    };
    for run in candidate {
        partner(run, Side::Candidate, baseline)?;
    }
    baseline.iter().map(|run| Ok((*run, partner(run, Side::Baseline, candidate)?))).collect()
}

fn cell(baseline: &RunRecordV2, candidate: &RunRecordV2) -> CellComparison {
    let metrics = GATED.map(|(id, name)| {
        let (old, new) = (value(baseline, id), value(candidate, id));
        let delta = delta_percent(old, new);
        let metric = MetricComparison {
            baseline: old,
            candidate: new,
            delta_percent: delta,
            no_more_than_5_percent_regression: within_five_percent(compared_direction(name), delta),
        };
        (gated_name(name), metric)
    });
    CellComparison {
        baseline_requests: baseline.load.offered,
        candidate_requests: candidate.load.offered,
        baseline_performance_eligible: is_eligible(baseline),
        candidate_performance_eligible: is_eligible(candidate)
            && !answers_worse(baseline, candidate),
        // One number stands for both sides, or none.
        median_prompt_tokens: value(baseline, PROMPT_TOKENS)
            .filter(|tokens| value(candidate, PROMPT_TOKENS) == Some(*tokens)),
        metrics: OrderedMap(metrics.into()),
    }
}

/// A metric that the client may have bent passes no gate, and no figure of another model does.
fn is_eligible(run: &RunRecordV2) -> bool {
    run.load.performance_eligible && !is_client_limited(run) && !another_model_answered(run)
}

/// Whether the candidate's pass rate is lower by more than the point rule lets any metric be. A build
/// that answers wrong is not fast.
fn answers_worse(baseline: &RunRecordV2, candidate: &RunRecordV2) -> bool {
    let delta = delta_percent(value(baseline, PASS_RATIO), value(candidate, PASS_RATIO));
    delta.is_some() && !within_five_percent(Direction::HigherIsBetter, delta)
}

/// Whether the responses named a model, and not the one expected.
fn another_model_answered(run: &RunRecordV2) -> bool {
    let condition = |label| run.conditions.iter().find(|it| it.label.as_str() == label);
    match (condition(EXPECTED_MODEL_LABEL), condition(RETURNED_MODELS_LABEL)) {
        (Some(expected), Some(returned)) => {
            returned.value.as_str() != NO_MODEL_NAMED && returned.value != expected.value
        }
        _ => false,
    }
}

fn is_client_limited(run: &RunRecordV2) -> bool {
    GATED.iter().any(|(id, _)| run.instrument.client_limited.iter().any(|it| it.as_str() == *id))
}

/// Whether the record has the metric as this version takes it, with what is needed to judge it.
fn has_metric(record: &RunRecord, id: &str) -> bool {
    match record {
        RunRecord::V1(_) => false,
        RunRecord::V2(run) => run.metrics.iter().any(|metric| metric.id.as_str() == id),
    }
}

fn gated_name(name: &str) -> Identifier {
    Identifier::new(name).expect("the gated metrics are named by identifiers")
}

fn value(run: &RunRecordV2, id: &str) -> Option<f64> {
    run.metrics.iter().find(|metric| metric.id.as_str() == id)?.value
}

fn image(side: Side, runs: &[&RunRecordV2]) -> Result<PublicText, CompareError> {
    let mut images: Vec<&PublicText> = Vec::new();
    for run in runs {
        let named = run.conditions.iter().find(|it| it.label.as_str() == IMAGE_LABEL);
        images.extend(named.map(|condition| &condition.value));
    }
    images.sort_unstable();
    images.dedup();
    match images.as_slice() {
        [] => Ok(PublicText::new("unknown").expect("a plain word")),
        [image] => Ok((*image).clone()),
        several => Err(CompareError::SeveralImages {
            side,
            images: several.iter().map(|image| image.to_string()).collect(),
        }),
    }
}

/// Runs of both sides of which something must be known.
#[derive(Clone, Copy)]
struct Counts {
    insecure: usize,
    retried: usize,
}

/// What must be known to read the comparison rightly.
fn qualification(pairs: &[Pair<'_>], allowed: &[Difference], counts: Counts) -> PublicText {
    let mut text = "point rule: noise between runs was not considered".to_owned();
    let runs = || pairs.iter().flat_map(|(baseline, candidate)| [baseline, candidate]);
    if runs().any(|run| run.evidence_mode == EvidenceMode::Simulated) {
        text.push_str("; a simulated server answered");
    }
    if counts.insecure > 0 {
        text.push_str("; a server was not verified (TLS)");
    }
    if counts.retried > 0 {
        text.push_str("; failed attempts were made again");
    }
    if runs().any(|run| is_client_limited(run)) {
        text.push_str("; bent by the client");
    }
    if runs().any(|run| another_model_answered(run)) {
        text.push_str("; a model other than the expected one answered");
    }
    if pairs.iter().any(|(baseline, candidate)| answers_worse(baseline, candidate)) {
        text.push_str("; the candidate answers fewer requests right");
    }
    let mut conditions: Vec<&str> = allowed.iter().map(|it| it.condition.as_str()).collect();
    conditions.sort_unstable();
    conditions.dedup();
    let stated = match conditions.len() {
        0 => PublicText::new(text.as_str()),
        count => PublicText::new(format!("{text}; allowed to differ: {}", conditions.join(", ")))
            .or_else(|_| PublicText::new(format!("{text}; {count} conditions allowed to differ"))),
    };
    stated.expect("where the names are too many, their number is short")
}

fn undecided() -> PublicText {
    PublicText::new("undecided").expect("a plain word")
}
