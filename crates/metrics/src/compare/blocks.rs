//! The interval rule: several runs of each side, judged with the noise between runs.
//!
//! It checks that the records may be compared at all, takes from them what a comparison holds, and
//! has it judged.

use streamgauge_schema::{
    AllowedDifference, ComparisonMethod, ComparisonSchemaV2, ComparisonV2, EvidenceMode,
    GateVerdict, Gates, Identifier, Limitation, LimitationKind, Looks, OrderedMap, PublicText,
    RunRecord, RunRecordV2,
};

use super::matching::{Difference, MatchingCondition, differences};
use super::pairing::{CellRuns, cells};
use super::turnovers::{self, TurnoverRuns};
use super::{
    CompareError, InsecureRuns, Pairing, PromptOutcomes, Side, build, gates, gathered, has_metric,
    insecure, retried,
};
use crate::judge::{judge, said};
use crate::record::was_taken_up;

/// How runs are compared.
#[derive(Clone, Debug)]
pub struct BlockRules<'a> {
    /// The metrics and their limits, and how sure the verdict must be.
    pub gates: &'a Gates,
    /// How the runs belong together.
    pub pairing: Pairing,
    /// The looks that were planned before the first block, and which this is; `None` when the
    /// number of blocks was fixed.
    pub looks: Option<Looks>,
    /// What became of each prompt of graded runs; runs that it does not name have no pairs.
    pub outcomes: &'a PromptOutcomes,
    /// Matching conditions that may differ between the sides; each that does becomes a limitation.
    pub allow_differing: &'a [MatchingCondition],
    /// Whether runs may be compared that did not verify their server; that becomes a limitation.
    pub insecure: InsecureRuns,
    /// What else must be known to read the comparison rightly.
    pub limitations: &'a [PublicText],
}

/// Compares a candidate with a baseline by the interval rule: several runs of each side, matched by
/// cell, each block (or, unpaired, each run) one value a metric.
///
/// For each gated metric the mean logarithm of candidate over baseline has an interval by Student's
/// t distribution over the blocks. A gate fails when the interval of level `1 − alpha / gates` lies
/// beyond its limit, passes when that of level `1 − alpha` lies within it, and is inconclusive
/// otherwise; with planned looks, `alpha` is divided by their number. Where answers were graded, the
/// share of prompts that are right may fall by 5 percentage points, or by what a gate on `pass_ratio`
/// says: over pairs of the same prompt, each counted once however often it was sent. Failures, endings, lengths and
/// what else may be bought with are judged first, and leave no verdict on speed where the sides
/// differ. Turnover runs among the records have a gate of their own.
///
/// ```
/// use streamgauge_metrics::{
///     BlockRules, CompareError, InsecureRuns, Pairing, PromptOutcomes, Side, compare_blocks,
/// };
/// use streamgauge_schema::Gates;
/// let rules = BlockRules {
///     gates: &Gates::default(),
///     pairing: Pairing::ByTime,
///     looks: None,
///     outcomes: &PromptOutcomes::NONE,
///     allow_differing: &[],
///     insecure: InsecureRuns::Refused,
///     limitations: &[],
/// };
/// let error = compare_blocks(&[], &[], &rules).unwrap_err();
/// assert_eq!(error, CompareError::NoRuns { side: Side::Baseline });
/// ```
///
/// # Errors
/// When the records lack gated metrics, are not paired as the rules say, differ in a matching
/// condition, did not verify their server, or do not each belong to one build a side; and when the gates contradict the metrics.
pub fn compare_blocks<'a>(
    baseline: &'a [RunRecord],
    candidate: &'a [RunRecord],
    rules: &BlockRules<'_>,
) -> Result<ComparisonV2, CompareError> {
    let insecure = insecure::said(insecure::count(baseline, candidate, rules.insecure)?);
    let retried = retried::said(retried::count(baseline, candidate));
    let (baseline, old_turnovers) = turnovers::part(Side::Baseline, baseline)?;
    let (candidate, new_turnovers) = turnovers::part(Side::Candidate, candidate)?;
    let baseline = runs_of(Side::Baseline, &baseline, rules.gates)?;
    let candidate = runs_of(Side::Candidate, &candidate, rules.gates)?;
    let mut gates = gates::in_force(rules.gates, baseline[0])?;
    let graded = baseline.iter().chain(&candidate).any(|run| run.evaluator_sha256.is_some());
    let correctness_gate = gates::take_correctness(&mut gates, graded);
    let cells = cells(&baseline, &candidate, rules.pairing)?;
    let allowed = check(&cells, turnovers::differences(&old_turnovers, &new_turnovers), rules)?;
    let with_turnovers = |runs: &[&'a RunRecordV2], turnovers: &TurnoverRuns<'a>| {
        runs.iter().copied().chain(turnovers.records()).collect::<Vec<_>>()
    };
    let compared = cells
        .iter()
        .map(|runs| (runs.cell.clone(), gathered::cell(runs, &gates, rules.outcomes)))
        .collect();
    let taken_up: Vec<PublicText> = [
        (Side::Baseline, with_turnovers(&baseline, &old_turnovers)),
        (Side::Candidate, with_turnovers(&candidate, &new_turnovers)),
    ]
    .into_iter()
    .filter_map(|(side, runs)| taken_up(side, &runs))
    .collect();
    let stated =
        |text: &PublicText| Limitation { kind: LimitationKind::Stated, text: text.clone() };
    let mut comparison = ComparisonV2 {
        schema: ComparisonSchemaV2::V2,
        method: rules.pairing.method(),
        baseline: build::of(Side::Baseline, &with_turnovers(&baseline, &old_turnovers))?,
        candidate: build::of(Side::Candidate, &with_turnovers(&candidate, &new_turnovers))?,
        alpha: rules.gates.alpha(),
        max_failure_ratio: rules.gates.max_failure_ratio(),
        looks: rules.looks.clone(),
        gates,
        correctness_gate,
        gates_judged: 0,
        pass_level: 0.0,
        fail_level: None,
        findings_judged: 0,
        allowed_differences: allowed,
        cells: OrderedMap(compared),
        turnover: turnovers::in_version_2(old_turnovers, new_turnovers),
        verdict: GateVerdict::NotEvaluated,
        limitations: rules
            .limitations
            .iter()
            .chain(&insecure)
            .chain(&taken_up)
            .chain(&retried)
            .map(stated)
            .collect(),
    };
    judge(&mut comparison);
    Ok(comparison)
}

/// What is said of runs that broke off and were taken up again: they count, but are not quite like whole
/// ones.
fn taken_up(side: Side, runs: &[&RunRecordV2]) -> Option<PublicText> {
    let count = runs.iter().filter(|run| was_taken_up(run)).count();
    (count > 0).then(|| {
        said(&format!(
            "Runs of the {side} that broke off and were taken up again: {count} of {}; their rates \
             leave out the time between, unless they are of several shards, and caches may have been \
             others after it.",
            runs.len()
        ))
    })
}

/// The runs of one side, each with every gated metric; at least one.
fn runs_of<'a>(
    side: Side,
    records: &[&'a RunRecord],
    gates: &Gates,
) -> Result<Vec<&'a RunRecordV2>, CompareError> {
    let run = |record: &'a RunRecord| {
        let ids = gates.gates().iter().map(|gate| &gate.metric);
        let lacking: Vec<Identifier> =
            ids.filter(|id| !has_metric(record, id.as_str())).cloned().collect();
        match record {
            RunRecord::V2(run) if lacking.is_empty() => Ok(&**run),
            _ => Err(CompareError::MetricsMissing {
                side,
                run_id: record.run_id().clone(),
                metrics: lacking,
                is_imported: *record.evidence_mode() == EvidenceMode::Imported,
            }),
        }
    };
    if records.is_empty() {
        return Err(CompareError::NoRuns { side });
    }
    records.iter().copied().map(run).collect()
}

/// What differs between the sides and was allowed to; an error when the runs cannot be compared.
fn check(
    cells: &[CellRuns<'_>],
    of_turnovers: Vec<Difference>,
    rules: &BlockRules<'_>,
) -> Result<Vec<AllowedDifference>, CompareError> {
    let gated: Vec<&str> = rules.gates.gates().iter().map(|gate| gate.metric.as_str()).collect();
    let in_blocks = rules.pairing.method() == ComparisonMethod::Blocks;
    let mut found = Vec::new();
    for runs in cells {
        check_look(runs, rules)?;
        if in_blocks {
            check_side(Side::Baseline, &runs.baseline, &gated)?;
            check_side(Side::Candidate, &runs.candidate, &gated)?;
        }
        found.extend(between_sides(runs, in_blocks, &gated));
    }
    found.extend(of_turnovers);
    let (allowed, forbidden): (Vec<Difference>, Vec<Difference>) =
        found.into_iter().partition(|it| rules.allow_differing.contains(&it.condition));
    if !forbidden.is_empty() {
        return Err(CompareError::Differing { differences: forbidden });
    }
    Ok(allowed.into_iter().map(allowed_difference).collect())
}

/// The looks rise, and this one has as many blocks as were planned for it.
fn check_look(runs: &CellRuns<'_>, rules: &BlockRules<'_>) -> Result<(), CompareError> {
    let Some(Looks { planned_blocks, look }) = &rules.looks else { return Ok(()) };
    let blocks = runs.baseline.len();
    let place = usize::try_from(*look).ok().and_then(|look| look.checked_sub(1));
    let planned = place.and_then(|place| planned_blocks.get(place));
    let rises = planned_blocks.is_sorted_by(|one, next| one < next);
    let in_blocks = rules.pairing.method() == ComparisonMethod::Blocks;
    if in_blocks && rises && planned == Some(&(blocks as u64)) {
        return Ok(());
    }
    Err(CompareError::LookNotPlanned {
        cell: runs.cell.clone(),
        blocks,
        planned_blocks: planned_blocks.clone(),
        look: *look,
    })
}

/// The blocks of a side agree in everything but their prompts, which may be fresh in each.
fn check_side(side: Side, runs: &[&RunRecordV2], gated: &[&str]) -> Result<(), CompareError> {
    let Some((first, others)) = runs.split_first() else { return Ok(()) };
    for other in others {
        let mut uneven = differences(first, other, gated);
        uneven.retain(|it| it.condition != MatchingCondition::Dataset);
        if let Some(Difference { cell, condition, baseline, candidate }) = uneven.pop() {
            return Err(CompareError::SideUneven {
                cell,
                side,
                condition,
                first: baseline,
                found: candidate,
                run_id: other.run_id.clone(),
            });
        }
    }
    Ok(())
}

/// What differs between the sides, each condition once: within the blocks; without blocks, of every
/// run and the first of the other side.
fn between_sides(runs: &CellRuns<'_>, in_blocks: bool, gated: &[&str]) -> Vec<Difference> {
    let CellRuns { baseline, candidate, .. } = runs;
    let pairs: Vec<(&RunRecordV2, &RunRecordV2)> = if in_blocks {
        baseline.iter().copied().zip(candidate.iter().copied()).collect()
    } else {
        let with_first = baseline.iter().map(|old| (*old, candidate[0]));
        with_first.chain(candidate.iter().map(|new| (baseline[0], *new))).collect()
    };
    let mut found: Vec<Difference> = Vec::new();
    for difference in pairs.into_iter().flat_map(|(old, new)| differences(old, new, gated)) {
        if !found.iter().any(|known| known.condition == difference.condition) {
            found.push(difference);
        }
    }
    found
}

fn allowed_difference(difference: Difference) -> AllowedDifference {
    AllowedDifference {
        cell: difference.cell,
        condition: Identifier::new(difference.condition.as_str()).expect("letters and '_'"),
        baseline: said(&difference.baseline),
        candidate: said(&difference.candidate),
    }
}

#[cfg(test)]
mod tests;
