//! The cases of a run that nothing graded: one for each declared request.

use streamgauge_schema::{
    Case, CaseOutcome, Completion, Identifier, Millis, Plan, PromptSource, PublicText,
};

use crate::measured::Measured;
use crate::sent::Sent;

/// One case for each declared request, in their order, sent or not.
pub(super) fn of(plan: &Plan, run: &Measured) -> impl Iterator<Item = Case> {
    let kind = match plan.workload.source {
        PromptSource::Dataset { .. } => "Dataset",
        PromptSource::Synthetic { .. } => "Synthetic",
    };
    let width = run.offered.to_string().len().max(2);
    let mut sent = run.sent.iter().peekable();
    let mut not_sent = run.offered - run.sent.len() as u64;
    let mut next = 0;
    std::iter::from_fn(move || {
        let index = next;
        // Where time ends a load, what was sent is all that was due, whatever its numbers are.
        let line =
            if not_sent == 0 { sent.next() } else { sent.next_if(|sent| sent.index == index) };
        if line.is_none() {
            not_sent = not_sent.checked_sub(1)?;
        }
        let index = line.map_or(index, |sent| sent.index);
        next = index + 1;
        Some(case(kind, format!("{next:0width$}"), line))
    })
}

fn case(kind: &str, number: String, sent: Option<&Sent>) -> Case {
    Case {
        case_id: Identifier::new(format!("request-{number}")).expect("letters, '-' and digits"),
        title: PublicText::new(format!("{kind} request {number}")).expect("letters and digits"),
        outcome: sent.map_or(CaseOutcome::NotRun, |sent| outcome(sent.completion)),
        primary_outcome: CaseOutcome::Unverified,
        failure_stage: sent.and_then(|sent| sent.failure).map(|class| class.stage()),
        duration_ms: sent
            .filter(|sent| sent.is_timed)
            .map(|sent| Millis::from_micros(sent.elapsed_us)),
        summary: None,
    }
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
