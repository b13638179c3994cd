//! What the figures do not say of answers: which were not right, and why that may be.

use streamgauge_schema::CaseOutcome;

use crate::graded::Graded;
use crate::record::CollectedRun;
use crate::record::cases::outcome;
use crate::record::load::contracts_broken as broken;

pub(super) fn contracts_broken(run: &CollectedRun<'_>) -> Option<String> {
    let broken = broken(&run.measured);
    (broken > 0).then(|| {
        format!(
            "Contracts that were not met, canaries or controlled outputs: {broken}; the server may \
             have mixed or lost answers, and no gate on the figures passes."
        )
    })
}

pub(super) fn not_passed(run: &CollectedRun<'_>) -> Option<String> {
    run.joined.as_ref()?;
    let declared = run.measured.offered;
    let count = |wanted| run.measured.sent.iter().filter(|sent| outcome(sent) == wanted).count();
    let [passed, failed, ungraded] =
        [CaseOutcome::Pass, CaseOutcome::Fail, CaseOutcome::Unverified].map(|it| count(it) as u64);
    let others = declared - passed - failed - ungraded;
    (passed < declared).then(|| {
        format!(
            "Declared requests without a right answer: {} of {declared}; graded wrong: {failed}, not \
             graded: {ungraded}, without an answer: {others}.",
            declared - passed
        )
    })
}

pub(super) fn from_another_model(run: &CollectedRun<'_>) -> Option<String> {
    let unsure = graded(run).filter(|graded| !graded.is_primary()).count();
    (unsure > 0).then(|| {
        format!(
            "Graded answers that do not name exactly the expected model: {unsure}; their primary \
             outcome is unverified."
        )
    })
}

pub(super) fn length_limited(run: &CollectedRun<'_>) -> Option<String> {
    let cut = run.joined.as_ref()?.found.length_limited;
    (cut > 0).then(|| {
        format!(
            "Graded answers that their length limit cut: {cut}; they cannot pass. A larger limit \
             shows whether they are wrong."
        )
    })
}

pub(super) fn fenced(run: &CollectedRun<'_>) -> Option<String> {
    let fenced = run.joined.as_ref()?.found.fenced;
    (fenced > 0).then(|| {
        format!(
            "Graded answers that failed because they stand in a Markdown fence, and would pass \
             without it: {fenced}."
        )
    })
}

fn graded(run: &CollectedRun<'_>) -> impl Iterator<Item = Graded> {
    run.measured.sent.iter().filter_map(|sent| sent.graded)
}
