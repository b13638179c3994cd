//! The turnover runs among the records of both sides: which they are, whether they ask for the same,
//! and what a comparison takes from them.

use streamgauge_schema::{
    ComparedTurnover, GateVerdict, Phase, RunRecord, RunRecordV2, RunStatus, Turnover,
    TurnoverComparison,
};

use super::matching::{Difference, MatchingCondition, grader, load_shape, request_settings};
use super::{CompareError, Side};
use crate::judge::said;
use crate::record::DATASET_LABEL;

/// Turnover runs of both sides that a comparison of version 1 has room for.
const MOST_IN_VERSION_1: [(Side, usize); 2] = [(Side::Baseline, 1), (Side::Candidate, 2)];

/// The turnover runs of one side, by their starts; each was graded.
#[derive(Debug, Default)]
pub(super) struct TurnoverRuns<'a>(Vec<(&'a RunRecordV2, ComparedTurnover)>);

/// Parts the records of a side into those that were measured for their speed and turnover runs.
pub(super) fn part(
    side: Side,
    records: &[RunRecord],
) -> Result<(Vec<&RunRecord>, TurnoverRuns<'_>), CompareError> {
    let (turnovers, others): (Vec<&RunRecord>, Vec<&RunRecord>) =
        records.iter().partition(|record| *record.phase() == Phase::Turnover);
    let mut runs = Vec::with_capacity(turnovers.len());
    for record in turnovers {
        let taken = match record {
            RunRecord::V1(_) => None,
            RunRecord::V2(run) => Some(&**run).zip(compared(run)),
        };
        let run_id = || record.run_id().clone();
        if matches!(record, RunRecord::V2(run) if run.status == RunStatus::Aborted) {
            return Err(CompareError::TurnoverCut { side, run_id: run_id() });
        }
        runs.push(taken.ok_or_else(|| CompareError::TurnoverUngraded { side, run_id: run_id() })?);
    }
    runs.sort_by_key(|(run, _)| run.started_at);
    Ok((others, TurnoverRuns(runs)))
}

/// What a comparison takes from a turnover run; `None` where its answers were not all graded.
pub(crate) fn compared(run: &RunRecordV2) -> Option<ComparedTurnover> {
    let report = run.turnover.as_ref()?;
    Some(ComparedTurnover {
        run_id: run.run_id.clone(),
        started_at: run.started_at,
        prompts_sha256: run.suite_sha256,
        policy: report.policy,
        outcome: report.outcome.clone(),
    })
}

impl<'a> TurnoverRuns<'a> {
    /// The records.
    pub(super) fn records(&self) -> impl Iterator<Item = &'a RunRecordV2> {
        self.0.iter().map(|(run, _)| *run)
    }

    fn into_compared(self) -> Vec<ComparedTurnover> {
        self.0.into_iter().map(|(_, turnover)| turnover).collect()
    }
}

/// What differs between what the runs of both sides asked for, each condition once.
pub(super) fn differences(
    baseline: &TurnoverRuns<'_>,
    candidate: &TurnoverRuns<'_>,
) -> Vec<Difference> {
    let mut runs = baseline.records().chain(candidate.records());
    let Some(first) = runs.next() else { return Vec::new() };
    let mut found: Vec<Difference> = Vec::new();
    for other in runs {
        for (condition, [old, new]) in conditions([first, other]) {
            let is_known = found.iter().any(|known| known.condition == condition);
            if old != new && !is_known {
                let cell = first.load.cell.clone();
                found.push(Difference { cell, condition, baseline: old, candidate: new });
            }
        }
    }
    found
}

/// What two runs say of what they asked for. Their prompts differ by their markers; what makes them
/// else is the recipe's digest.
fn conditions(runs: [&RunRecordV2; 2]) -> [(MatchingCondition, [String; 2]); 4] {
    let recipe = |run: &RunRecordV2| {
        let stated = run.conditions.iter().find(|it| it.label.as_str() == DATASET_LABEL);
        stated.map_or_else(|| "not stated".to_owned(), |condition| condition.value.to_string())
    };
    [
        (MatchingCondition::Dataset, runs.map(recipe)),
        (MatchingCondition::Grader, runs.map(grader)),
        (MatchingCondition::LoadShape, runs.map(load_shape)),
        (MatchingCondition::RequestSettings, runs.map(request_settings)),
    ]
}

/// The part of a comparison of version 2, still to be judged; `None` without a run.
pub(super) fn in_version_2(
    baseline: TurnoverRuns<'_>,
    candidate: TurnoverRuns<'_>,
) -> Option<TurnoverComparison> {
    let is_there = !baseline.0.is_empty() || !candidate.0.is_empty();
    is_there.then(|| TurnoverComparison {
        baseline: baseline.into_compared(),
        candidate: candidate.into_compared(),
        baseline_exact: None,
        candidate_exact: None,
        p_value: None,
        verdict: GateVerdict::NotEvaluated,
        reason: said("not judged yet"),
    })
}

/// The members of a comparison of version 1: the baseline's run, the candidate's, and its repeat.
pub(super) fn in_version_1(
    baseline: TurnoverRuns<'_>,
    candidate: TurnoverRuns<'_>,
) -> Result<[Option<Turnover>; 3], CompareError> {
    for ((side, most), found) in MOST_IN_VERSION_1.into_iter().zip([&baseline, &candidate]) {
        let found = found.0.len();
        if found > most {
            return Err(CompareError::TooManyTurnovers { side, most, found });
        }
    }
    let outcome = |turnover: ComparedTurnover| turnover.outcome;
    let mut candidate = candidate.into_compared().into_iter().map(outcome);
    let baseline = baseline.into_compared().into_iter().map(outcome).next();
    Ok([baseline, candidate.next(), candidate.next()])
}

/// Whether a turnover run is one of those that a comparison holds.
pub(super) fn holds(turnovers: [&[ComparedTurnover]; 2], run: &RunRecordV2) -> bool {
    turnovers.into_iter().flatten().any(|turnover| {
        let report = run.turnover.as_ref();
        turnover.run_id == run.run_id
            && report.is_some_and(|report| report.outcome == turnover.outcome)
    })
}
