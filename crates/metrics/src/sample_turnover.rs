//! An invented turnover run for tests: ten requests of two in flight, of which two were answered wrong
//! and one broke.

use streamgauge_schema::{
    CheckFault, Completion, Digest, Ending, Failure, FailureClass, Grade, GradeCheck,
    GraderIdentity, GraderName, Grades, Grading, OutputPolicy, Plan, PromptSource, RequestLine,
};

use crate::sample_run::{plan, succeeded};

/// The run, and the receipts of its answers.
pub(crate) struct TurnoverRun {
    pub(crate) plan: Plan,
    pub(crate) lines: Vec<RequestLine>,
    pub(crate) grades: Grades,
}

/// Request 3 lacks a word, request 5 has a foreign marker, request 7 has no whole answer.
pub(crate) fn turnover(policy: OutputPolicy) -> TurnoverRun {
    let mut plan = plan(10, 2);
    let word = "apple".to_owned();
    plan.workload.source = PromptSource::Turnover { word, count: 3, policy, seed: 7 };
    plan.workload.target_input_tokens = None;
    plan.workload.length_basis = None;
    plan.grading = Some(grading());
    plan.max_failure_ratio = 0.1;
    let mut lines: Vec<RequestLine> =
        (0..10).map(|index| succeeded(index, 100 * (index / 2), &[20, 40, 60, 80], 4)).collect();
    lines[7] = torn(lines[7].clone());
    let answered = lines.iter().filter(|line| line.failure.is_none());
    let receipts = answered.map(|line| receipt(line.index, line.prompt_sha256)).collect();
    let grades = Grades { grades_version: 1, grading: grading(), receipts };
    TurnoverRun { plan, lines, grades }
}

fn torn(mut line: RequestLine) -> RequestLine {
    let failure = Failure { class: FailureClass::PrematureEof, message: "torn".into() };
    line.completion = Completion::Failed;
    line.failure = Some(failure);
    let seen = line.observation.as_mut().unwrap();
    seen.ending = Some(Ending::Truncated);
    seen.finish_reasons.clear();
    line
}

fn grading() -> Grading {
    let sha256 = Digest::of(b"rules of the word");
    let graders = vec![GraderIdentity { name: GraderName::ControlledOutput, sha256 }];
    Grading { expectations_sha256: Digest::of(b"recipe"), graders }
}

fn receipt(index: u64, prompt_sha256: Digest) -> Grade {
    let (canary, words) = match index {
        3 => (None, Some(CheckFault::Differs)),
        5 => (Some(CheckFault::ForeignMarker), None),
        _ => (None, None),
    };
    let GraderIdentity { name, sha256 } = grading().graders[0];
    let check = |name: &str, fault| GradeCheck { name: name.into(), fault };
    Grade {
        prompt_sha256,
        grader: name,
        grader_sha256: sha256,
        passed: canary.is_none() && words.is_none(),
        untruncated_final: true,
        checks: vec![check("canary", canary), check("words", words)],
        words: Some(if words.is_some() { 2 } else { 3 }),
        fenced_would_pass: None,
    }
}
