//! The cases of a run that nothing graded: one for each declared request.

use streamgauge_schema::{Case, CaseOutcome, Completion, Identifier, Millis, Plan, PromptSource};

use super::text;
use crate::error::RecordError;
use crate::measured::Measured;

/// One case for each declared request, in their order, sent or not.
pub(super) fn of(plan: &Plan, run: &Measured<'_>) -> Result<Vec<Case>, RecordError> {
    let kind = match plan.workload.source {
        PromptSource::Dataset { .. } => "Dataset",
        PromptSource::Synthetic { .. } => "Synthetic",
    };
    let width = run.offered.to_string().len().max(2);
    let mut sent = run.sent.iter().peekable();
    let case = |index| {
        let line = sent.next_if(|line| line.index == index);
        let number = format!("{:0width$}", index + 1);
        Ok(Case {
            case_id: Identifier::new(format!("request-{number}")).expect("letters, '-' and digits"),
            title: text(format!("{kind} request {number}"))?,
            outcome: line.map_or(CaseOutcome::NotRun, |line| outcome(line.completion)),
            primary_outcome: CaseOutcome::Unverified,
            failure_stage: line
                .and_then(|line| line.failure.as_ref())
                .map(|failure| failure.class.stage()),
            duration_ms: line.map(|line| Millis::from_micros(line.elapsed_us)),
            summary: None,
        })
    };
    (0..run.offered).map(case).collect()
}

/// The outcome of a case by what became of its request alone.
pub(super) fn outcome(completion: Completion) -> CaseOutcome {
    match completion {
        Completion::Cancelled | Completion::NotSent => CaseOutcome::NotRun,
        Completion::Failed => CaseOutcome::Error,
        Completion::Succeeded => CaseOutcome::Unverified,
        Completion::TimedOut => CaseOutcome::Timeout,
    }
}
