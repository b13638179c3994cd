//! What is right passes and what is wrong fails, for every line that ships.

#![expect(clippy::unwrap_used, reason = "a test may end by a panic")]

use streamgauge_datasets::{Case, SETS};
use streamgauge_grade::{Answer, Canaries, Grader};
use streamgauge_schema::{Digest, Expectation, Grade};

/// The markers of a whole set, as a run would have them beside each other.
fn canaries(cases: &[Case]) -> Canaries {
    let marker = |case: &Case| match &case.line.expect {
        Expectation::ControlledOutput(wanted) => wanted.canary.clone(),
        _ => None,
    };
    Canaries::new(cases.iter().filter_map(marker)).unwrap()
}

fn grade(case: &Case, text: &str, untruncated: bool, canaries: &Canaries) -> Grade {
    let grader = Grader::new(&case.line.expect).unwrap();
    let prompt = Digest::of_value(&case.line.prompt).unwrap();
    grader.grade(prompt, Answer { text, untruncated }, canaries)
}

#[test]
fn every_right_answer_passes_and_every_wrong_one_fails() {
    for set in &SETS {
        let cases = set.cases();
        let canaries = canaries(&cases);
        for case in &cases {
            let id = &case.line.id;
            let right = grade(case, &case.right, true, &canaries);
            assert!(right.passed, "{id}: {:?}", right.checks);
            assert!(!grade(case, &case.right, false, &canaries).passed, "{id} was cut");
            assert!(case.wrong.len() >= 5, "{id}");
            for wrong in &case.wrong {
                assert!(!grade(case, wrong, true, &canaries).passed, "{id} takes {wrong}");
            }
        }
    }
}

#[test]
fn no_answer_is_right_for_another_line() {
    for set in &SETS {
        let cases = set.cases();
        let canaries = canaries(&cases);
        let next = cases.iter().cycle().skip(1);
        for (case, other) in cases.iter().zip(next) {
            let crossed = grade(case, &other.right, true, &canaries);
            assert!(!crossed.passed, "{} takes the answer of {}", case.line.id, other.line.id);
        }
    }
}

#[test]
fn a_fence_around_a_right_answer_is_told_from_a_wrong_one() {
    let set = SETS.iter().find(|set| set.name == "evidence-512").unwrap();
    for case in set.cases() {
        let fenced = format!("```json\n{}\n```", case.right);
        let grade = grade(&case, &fenced, true, &Canaries::none());
        assert_eq!((grade.passed, grade.fenced_would_pass), (false, Some(true)));
    }
}
