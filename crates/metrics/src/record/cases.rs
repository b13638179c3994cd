//! The cases of a run: one for each declared request.

use streamgauge_schema::{
    Case, CaseOutcome, Completion, FailureStage, Identifier, Millis, PromptSource, PublicText,
};

use super::{CollectedRun, MAX_CASES_IN_RECORD};
use crate::graded::Graded;
use crate::sent::Sent;

/// One case for each declared request, in their order, sent or not; of more than a record holds, one
/// for each that was sent. A plan may declare millions, of which few were sent when it was stopped.
pub(super) fn of(run: &CollectedRun<'_>) -> impl Iterator<Item = Case> {
    let (load, measured) = (&run.plan.load, &run.measured);
    let kind = match run.plan.workload.source {
        PromptSource::Dataset { .. } => "Dataset",
        PromptSource::Synthetic { .. } => "Synthetic",
        PromptSource::Turnover { .. } => "Turnover",
    };
    // Requests of a shard have the numbers that they have in the whole run.
    let shard = run.journals.shard();
    let all = shard.map_or(measured.offered, |_| load.requests);
    let width = all.to_string().len().max(2);
    let mut sent = measured.sent.iter().peekable();
    let mut not_sent = match measured.offered {
        0..=MAX_CASES_IN_RECORD => measured.offered - measured.sent.len() as u64,
        _ => 0,
    };
    let mut next = 0;
    std::iter::from_fn(move || {
        while not_sent > 0 && shard.is_some_and(|shard| !shard.has(load, next)) {
            next += 1;
        }
        let index = next;
        // What was sent has its own number: where time ends a load, it is all that was due.
        let line =
            if not_sent == 0 { sent.next() } else { sent.next_if(|sent| sent.index() == index) };
        if line.is_none() {
            not_sent = not_sent.checked_sub(1)?;
        }
        let index = line.map_or(index, |sent| sent.index());
        next = index + 1;
        Some(case(kind, format!("{next:0width$}"), line))
    })
}

fn case(kind: &str, number: String, sent: Option<&Sent>) -> Case {
    Case {
        case_id: Identifier::new(format!("request-{number}")).expect("letters, '-' and digits"),
        title: PublicText::new(format!("{kind} request {number}")).expect("letters and digits"),
        outcome: sent.map_or(CaseOutcome::NotRun, outcome),
        primary_outcome: sent.map_or(CaseOutcome::Unverified, primary_outcome),
        failure_stage: sent.and_then(failure_stage),
        duration_ms: sent
            .filter(|sent| sent.is_timed)
            .map(|sent| Millis::from_micros(sent.elapsed_us())),
        summary: None,
    }
}

/// What became of a case: of an answer as it was graded, of any other by the end of its request.
pub(super) fn outcome(sent: &Sent) -> CaseOutcome {
    match (sent.completion, sent.graded) {
        (Completion::Cancelled | Completion::NotSent, _) => CaseOutcome::NotRun,
        (Completion::Failed, _) => CaseOutcome::Error,
        (Completion::Succeeded, None) => CaseOutcome::Unverified,
        (Completion::Succeeded, Some(Graded { passed: true, .. })) => CaseOutcome::Pass,
        (Completion::Succeeded, Some(Graded { passed: false, .. })) => CaseOutcome::Fail,
        (Completion::TimedOut, _) => CaseOutcome::Timeout,
    }
}

/// The outcome that counts: as graded, where exactly the expected model answered.
pub(super) fn primary_outcome(sent: &Sent) -> CaseOutcome {
    match sent.graded {
        Some(graded) if graded.is_primary() => outcome(sent),
        _ => CaseOutcome::Unverified,
    }
}

fn failure_stage(sent: &Sent) -> Option<FailureStage> {
    let of_answer = sent.graded.filter(|graded| !graded.passed).map(|graded| {
        if graded.breaks_contract { FailureStage::Contract } else { FailureStage::AnswerChecks }
    });
    sent.failure.map(|class| class.stage()).or(of_answer)
}
