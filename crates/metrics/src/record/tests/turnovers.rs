//! Turnover runs: the part that their records have.

use streamgauge_schema::{LoadShape, OutputPolicy, TurnoverFailureClass};

use super::*;
use crate::sample_turnover::{TurnoverRun, turnover};

fn run_of(policy: OutputPolicy) -> (Run, Grades) {
    let TurnoverRun { plan, lines, grades } = turnover(policy);
    (Run { plan, lines, ended: true }, grades)
}

#[test]
fn failures_are_told_with_their_classes() {
    use TurnoverFailureClass::{
        ControlledOutputFailed, RequestCanaryFailed, StreamValidationFailed,
    };
    let (run, grades) = run_of(OutputPolicy::Strict);
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    assert_eq!(record.phase, Phase::Turnover);
    let report = record.turnover.as_ref().unwrap();
    assert_eq!((report.policy, report.count, report.waves), (OutputPolicy::Strict, 3, 4));
    let outcome = &report.outcome;
    assert_eq!((outcome.requests, outcome.exact_output_passed, outcome.failed), (10, 7, 3));
    assert_eq!((outcome.responses_received, outcome.performance_eligible), (9, false));
    let found: Vec<_> = outcome
        .failures
        .iter()
        .map(|it| (it.request_index, it.failure_class, it.words, it.canary_passed))
        .collect();
    let expected = [
        (3, ControlledOutputFailed, Some(2), Some(true)),
        (5, RequestCanaryFailed, Some(3), Some(false)),
        (7, StreamValidationFailed, None, None),
    ];
    assert_eq!(found, expected);
    let stages: Vec<_> = record.cases.iter().flatten().map(|it| it.failure_stage.clone()).collect();
    assert_eq!(stages[3], Some(FailureStage::Contract));
    assert!(!record.load.performance_eligible, "contracts were broken");
    assert!(!bytes(&record).windows(5).any(|text| text == b"apple"), "prompts are private");
}

#[test]
fn an_output_that_is_only_observed_breaks_no_contract() {
    let (run, grades) = run_of(OutputPolicy::Observe);
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    let case = |index: usize| record.cases.as_ref().unwrap()[index].clone();
    assert_eq!(case(3).outcome, CaseOutcome::Fail);
    assert_eq!(case(3).failure_stage, Some(FailureStage::AnswerChecks));
    // An answer that crossed is another's, whatever is observed.
    assert_eq!(case(5).failure_stage, Some(FailureStage::Contract));
    assert!(!record.load.performance_eligible);

    let (mut run, mut grades) = run_of(OutputPolicy::Observe);
    run.lines.remove(5);
    run.plan.load.requests = 10;
    let crossed = turnover(OutputPolicy::Observe).lines[5].clone();
    run.lines.push(RequestLine { prompt_sha256: Digest::of(b"right"), ..crossed.clone() });
    let receipt = grades.receipts.iter_mut().find(|it| it.prompt_sha256 == crossed.prompt_sha256);
    let receipt = receipt.unwrap();
    (receipt.prompt_sha256, receipt.passed) = (Digest::of(b"right"), true);
    receipt.checks.iter_mut().for_each(|check| check.fault = None);
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    assert!(record.load.performance_eligible, "one of ten broke, and so many may");
    assert_eq!(record.turnover.unwrap().outcome.failed, 2);
}

#[test]
fn what_was_never_sent_failed() {
    let (mut run, grades) = run_of(OutputPolicy::Strict);
    run.lines.pop();
    let mut grades = grades;
    grades.receipts.pop();
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    let outcome = record.turnover.unwrap().outcome;
    let last = outcome.failures.last().unwrap();
    assert_eq!((last.request_index, last.failure_class), (9, TurnoverFailureClass::RequestError));
    assert_eq!((outcome.requests, outcome.failed), (10, 4));
}

#[test]
fn answers_that_were_not_graded_leave_the_outcome_unknown() {
    let (run, _) = run_of(OutputPolicy::Strict);
    let record = run.build().unwrap();
    assert_sound(&record);
    assert_eq!((record.turnover, record.status), (None, RunStatus::Aborted));
}

#[test]
fn a_turnover_replaces_what_is_in_flight_often_enough() {
    let fault = |change: fn(&mut Plan)| {
        let (mut run, _) = run_of(OutputPolicy::Strict);
        change(&mut run.plan);
        run.lines.clear();
        run.build().unwrap_err().to_string()
    };
    let few = fault(|plan| plan.load.requests = 9);
    assert!(few.contains("9 requests replace 2 in flight 3 times"), "{few}");
    let timed = fault(|plan| plan.load.duration_ms = Some(1_000));
    assert!(timed.contains("the load has a duration"), "{timed}");
    let staged = fault(|plan| plan.load.shape = LoadShape::ClosedStages { stages: Vec::new() });
    assert!(
        staged.contains("a turnover is a closed loop, and the load is closed_stages"),
        "{staged}"
    );
}
