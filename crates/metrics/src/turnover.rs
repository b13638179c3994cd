//! What became of the requests of a turnover run, in the words of comparisons of version 1.
//!
//! Invariant: each declared request either had exactly the controlled output, or stands among the
//! failures with one class.

use streamgauge_schema::{
    Completion, FailureStage, Grade, Observation, PublicText, RequestLine, Turnover,
    TurnoverFailure, TurnoverFailureClass,
};

/// The name of the check by which a request's own marker is looked for.
const CANARY_CHECK: &str = "canary";

/// The requests of a turnover run, taken one by one in any order.
#[derive(Debug, Default)]
pub(crate) struct TurnoverTally {
    answered: u64,
    passed: u64,
    failures: Vec<TurnoverFailure>,
    /// Whether an answer came that nothing graded: nobody knows then what became of its request.
    is_ungraded: bool,
}

impl TurnoverTally {
    /// Takes a measured request that was sent, and the receipt of its answer's grader.
    pub(crate) fn add(&mut self, expect_model: &str, line: &RequestLine, grade: Option<&Grade>) {
        let answered = line.completion == Completion::Succeeded;
        self.answered += u64::from(answered);
        self.is_ungraded |= answered && grade.is_none();
        let Some(failure_class) = failure_class(expect_model, line, grade) else {
            self.passed += 1;
            return;
        };
        let seen = line.observation.as_ref();
        self.failures.push(TurnoverFailure {
            request_index: line.index,
            failure_class,
            words: grade.and_then(|grade| grade.words),
            finish_reasons: seen.map(finish_reasons).unwrap_or_default(),
            canary_passed: grade.and_then(canary_passed),
        });
    }

    /// What they add up to. `unsent` are the declared requests that were never sent; `is_eligible`
    /// says whether the run's figures may pass a gate if no request failed. `None` when an answer
    /// was not graded.
    pub(crate) fn close(
        mut self,
        unsent: impl Iterator<Item = u64>,
        is_eligible: bool,
    ) -> Option<Turnover> {
        if self.is_ungraded {
            return None;
        }
        self.failures.extend(unsent.map(|request_index| TurnoverFailure {
            request_index,
            failure_class: TurnoverFailureClass::RequestError,
            words: None,
            finish_reasons: Vec::new(),
            canary_passed: None,
        }));
        self.failures.sort_unstable_by_key(|failure| failure.request_index);
        let failed = self.failures.len() as u64;
        Some(Turnover {
            requests: self.passed + failed,
            exact_output_passed: self.passed,
            failed,
            responses_received: self.answered,
            performance_eligible: is_eligible && failed == 0,
            failures: self.failures,
        })
    }
}

/// How a request failed: first by what came over the wire, then by whose answer it was, then by the
/// answer. `None` when it did not.
fn failure_class(
    expect_model: &str,
    line: &RequestLine,
    grade: Option<&Grade>,
) -> Option<TurnoverFailureClass> {
    use TurnoverFailureClass::{
        ControlledOutputFailed, RequestCanaryFailed, RequestError, StreamValidationFailed,
    };
    if line.completion != Completion::Succeeded {
        let stage = line.failure.as_ref().map(|failure| failure.class.stage());
        return Some(match stage {
            Some(FailureStage::Stream) => StreamValidationFailed,
            _ => RequestError,
        });
    }
    let models = line.observation.as_ref().map(|seen| seen.returned_models.as_slice());
    if models.unwrap_or_default().iter().any(|model| model != expect_model) {
        return Some(StreamValidationFailed);
    }
    match grade {
        Some(grade) if canary_passed(grade) != Some(true) => Some(RequestCanaryFailed),
        Some(grade) => (!grade.passed).then_some(ControlledOutputFailed),
        None => Some(RequestCanaryFailed),
    }
}

/// Whether a request's own marker came, and no other's; `None` where none was expected.
pub(crate) fn canary_passed(grade: &Grade) -> Option<bool> {
    let check = grade.checks.iter().find(|check| check.name == CANARY_CHECK);
    check.map(|check| check.passed())
}

/// The reasons as sent, where they may be published.
fn finish_reasons(seen: &Observation) -> Vec<PublicText> {
    let reasons = seen.finish_reasons.iter();
    reasons.map(|reason| PublicText::or_withheld(reason)).collect()
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::{CheckFault, Digest, Failure, FailureClass, GradeCheck, GraderName};

    use super::*;
    use crate::sample_run::{refused, silent, succeeded, timed_out};

    const MODEL: &str = "m";

    fn check(name: &str, fault: Option<CheckFault>) -> GradeCheck {
        GradeCheck { name: name.to_owned(), fault }
    }

    fn grade(canary: Option<CheckFault>, words: Option<CheckFault>, untruncated: bool) -> Grade {
        let checks = vec![check("canary", canary), check("words", words)];
        Grade {
            prompt_sha256: Digest::of(b"prompt"),
            grader: GraderName::ControlledOutput,
            grader_sha256: Digest::of(b"rules"),
            passed: untruncated && checks.iter().all(GradeCheck::passed),
            untruncated_final: untruncated,
            checks,
            words: Some(24),
            fenced_would_pass: None,
        }
    }

    fn answered(index: u64, models: &[&str]) -> RequestLine {
        let mut line = succeeded(index, 0, &[10, 20], 3);
        let seen = line.observation.as_mut().unwrap();
        seen.returned_models = models.iter().copied().map(str::to_owned).collect();
        line
    }

    fn torn(index: u64) -> RequestLine {
        let failure = Failure { class: FailureClass::PrematureEof, message: "torn".into() };
        let completion = Completion::Failed;
        RequestLine { completion, failure: Some(failure), ..answered(index, &[MODEL]) }
    }

    #[test]
    fn each_failure_has_its_class() {
        use CheckFault::{Differs, ForeignMarker, Missing};
        use TurnoverFailureClass::{
            ControlledOutputFailed, RequestCanaryFailed, RequestError, StreamValidationFailed,
        };
        let right = || Some(grade(None, None, true));
        let own = || answered(0, &[MODEL]);
        let cases = [
            (own(), right(), None),
            (answered(0, &[]), right(), None),
            (answered(0, &["other"]), right(), Some(StreamValidationFailed)),
            (answered(0, &[MODEL, "other"]), right(), Some(StreamValidationFailed)),
            (own(), Some(grade(Some(Missing), None, true)), Some(RequestCanaryFailed)),
            (
                own(),
                Some(grade(Some(ForeignMarker), Some(Differs), true)),
                Some(RequestCanaryFailed),
            ),
            (own(), Some(grade(None, Some(Differs), true)), Some(ControlledOutputFailed)),
            (own(), Some(grade(None, None, false)), Some(ControlledOutputFailed)),
            (refused(0, 0, 1), None, Some(RequestError)),
            (timed_out(own()), None, Some(RequestError)),
            (torn(0), None, Some(StreamValidationFailed)),
            (silent(0, 0, 5, 0), None, Some(StreamValidationFailed)),
        ];
        for (line, grade, expected) in cases {
            let found = failure_class(MODEL, &line, grade.as_ref());
            assert_eq!(found, expected, "{:?} {grade:?}", line.failure);
        }
    }

    #[test]
    fn all_declared_requests_are_accounted_for() {
        let mut tally = TurnoverTally::default();
        tally.add(MODEL, &torn(4), None);
        tally.add(MODEL, &answered(2, &[MODEL]), Some(&grade(None, None, true)));
        let wrong = grade(None, Some(CheckFault::Differs), true);
        tally.add(MODEL, &answered(0, &[MODEL]), Some(&wrong));
        let turnover = tally.close([3, 1].into_iter(), true).unwrap();
        assert_eq!((turnover.requests, turnover.exact_output_passed, turnover.failed), (5, 1, 4));
        assert_eq!((turnover.responses_received, turnover.performance_eligible), (2, false));
        let indexes: Vec<u64> = turnover.failures.iter().map(|it| it.request_index).collect();
        assert_eq!(indexes, [0, 1, 3, 4]);
        let first = &turnover.failures[0];
        assert_eq!((first.words, first.canary_passed), (Some(24), Some(true)));
        assert_eq!(first.finish_reasons, [PublicText::new("stop").unwrap()]);
        assert_eq!((turnover.failures[1].words, turnover.failures[1].canary_passed), (None, None));
    }

    #[test]
    fn a_run_without_failures_is_as_eligible_as_its_load() {
        for eligible in [false, true] {
            let mut tally = TurnoverTally::default();
            tally.add(MODEL, &answered(0, &[MODEL]), Some(&grade(None, None, true)));
            let turnover = tally.close(std::iter::empty(), eligible).unwrap();
            assert_eq!((turnover.failed, turnover.performance_eligible), (0, eligible));
        }
    }

    #[test]
    fn what_nothing_graded_is_not_told() {
        let mut tally = TurnoverTally::default();
        tally.add(MODEL, &answered(0, &[MODEL]), None);
        assert_eq!(tally.close(std::iter::empty(), true), None);
    }
}
