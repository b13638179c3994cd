//! The part of a record that a turnover run has.

use streamgauge_schema::{LoadReport, OutputPolicy, Plan, PromptSource, TurnoverReport};

use super::CollectedRun;
use super::load::concurrency_limit;
use crate::turnover::TurnoverTally;

/// What a wrong answer means for the run; `None` of a run that is no turnover.
pub(super) fn policy(plan: &Plan) -> Option<OutputPolicy> {
    match plan.workload.source {
        PromptSource::Turnover { policy, .. } => Some(policy),
        PromptSource::Dataset { .. } | PromptSource::Synthetic { .. } => None,
    }
}

/// What the run came to; `None` of a run that is no turnover, and where an answer was not graded.
pub(super) fn report(
    tally: Option<TurnoverTally>,
    run: &CollectedRun<'_>,
    load: &LoadReport,
) -> Option<TurnoverReport> {
    let (plan, offered) = (run.plan, run.measured.offered);
    let all = 0..plan.load.requests;
    let PromptSource::Turnover { count, policy, .. } = plan.workload.source else { return None };
    let mut sent = run.measured.sent.iter().map(|sent| sent.index()).peekable();
    let unsent = all.filter(|index| run.journals.has(*index));
    let unsent = unsent.filter(move |index| sent.next_if_eq(index).is_none());
    let outcome = tally?.close(unsent, load.performance_eligible)?;
    let waves = waves(offered, concurrency_limit(run));
    Some(TurnoverReport { policy, count, waves, outcome })
}

/// How often so many requests in flight are replaced.
pub(super) fn waves(requests: u64, in_flight: u64) -> u64 {
    (requests / in_flight.max(1)).saturating_sub(1)
}
