//! Rules of the part that a turnover run's record has: it agrees with what became of the requests.

use streamgauge_schema::{
    Case, CaseOutcome, Phase, RunRecordV2, TurnoverFailure, TurnoverFailureClass, TurnoverReport,
};

use super::comparison::check_turnover;
use super::{Rules, at};

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    let Some(report) = &record.turnover else { return };
    rules.check(
        "turnover-part-fits-phase",
        record.phase == Phase::Turnover,
        [at("phase"), at("turnover")],
        format_args!("only a turnover run has a turnover part (phase {})", record.phase),
    );
    check_waves(record, report, rules);
    check_counts(record, report, rules);
    check_turnover(&at("turnover.outcome"), &report.outcome, rules);
    for (index, failure) in report.outcome.failures.iter().enumerate() {
        check_failure(record, index, failure, rules);
    }
}

fn check_waves(record: &RunRecordV2, report: &TurnoverReport, rules: &mut Rules) {
    let (offered, limit) = (record.load.offered, record.performance.client_concurrency_limit);
    let follows = (offered / limit.max(1)).saturating_sub(1);
    rules.check(
        "turnover-waves-follow",
        report.waves == follows && report.waves >= TurnoverReport::MIN_WAVES,
        [at("turnover.waves"), at("load.offered"), at("performance.client_concurrency_limit")],
        format_args!(
            "turnover.waves ({}) are how often {limit} in flight were replaced by {offered} requests \
             ({follows}), at least {}",
            report.waves,
            TurnoverReport::MIN_WAVES
        ),
    );
}

fn check_counts(record: &RunRecordV2, report: &TurnoverReport, rules: &mut Rules) {
    let outcome = &report.outcome;
    rules.equal(
        "turnover-counts-every-request",
        [(outcome.requests, "turnover.outcome.requests"), (record.load.offered, "load.offered")],
    );
    rules.equal(
        "turnover-responses-succeeded",
        [
            (outcome.responses_received, "turnover.outcome.responses_received"),
            (record.load.succeeded, "load.succeeded"),
        ],
    );
    let passed = outcome.exact_output_passed;
    let graded = record.counts.outcomes.get(&CaseOutcome::Pass).copied().unwrap_or(0);
    let primary = record.counts.primary_passes;
    rules.check(
        "exact-outputs-passed",
        (primary..=graded).contains(&passed),
        [
            at("turnover.outcome.exact_output_passed"),
            at("counts.outcomes"),
            at("counts.primary_passes"),
        ],
        format_args!(
            "turnover.outcome.exact_output_passed ({passed}) are at most the cases that passed \
             ({graded}), and at least those of the expected model ({primary})"
        ),
    );
    let eligible = record.load.performance_eligible && outcome.failed == 0;
    rules.check(
        "turnover-eligibility-follows",
        outcome.performance_eligible == eligible,
        [
            at("turnover.outcome.performance_eligible"),
            at("turnover.outcome.failed"),
            at("load.performance_eligible"),
        ],
        format_args!(
            "turnover.outcome.performance_eligible ({}) says whether the run is eligible and no \
             request failed ({eligible})",
            outcome.performance_eligible
        ),
    );
}

/// What a failure says of its request fits the request's case.
fn check_failure(record: &RunRecordV2, index: usize, failure: &TurnoverFailure, rules: &mut Rules) {
    use TurnoverFailureClass::{
        ControlledOutputFailed, RequestCanaryFailed, RequestError, StreamValidationFailed,
    };
    let case = |cases: &[Case]| {
        let place = usize::try_from(failure.request_index).ok()?;
        Some((place, cases.get(place)?.outcome))
    };
    let Some((place, outcome)) = record.cases.as_deref().and_then(case) else { return };
    let answered = matches!(outcome, CaseOutcome::Fail | CaseOutcome::Pass);
    let fits = match failure.failure_class {
        ControlledOutputFailed | RequestCanaryFailed => outcome == CaseOutcome::Fail,
        RequestError => !answered,
        // An answer of another model may be right by itself.
        StreamValidationFailed => answered || outcome == CaseOutcome::Error,
    };
    let path = at("turnover.outcome.failures").index(index);
    rules.check(
        "turnover-failures-fit-cases",
        fits,
        [
            path.clone().key("failure_class"),
            path.key("request_index"),
            at("cases").index(place).key("outcome"),
        ],
        format_args!(
            "request {}: failure_class {} fits the outcome of its case ({outcome})",
            failure.request_index, failure.failure_class
        ),
    );
}
