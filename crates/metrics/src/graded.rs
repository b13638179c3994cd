//! What a grader made of one request's answer.

use streamgauge_schema::{Grade, OutputPolicy};

use crate::turnover::canary_passed;

/// What a grader made of one request's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Graded {
    /// Every check held, and the answer was not cut.
    pub(crate) passed: bool,
    /// A canary or a controlled output that had to hold did not.
    pub(crate) breaks_contract: bool,
    /// Exactly the expected model gave the answer.
    pub(crate) is_primary: bool,
}

impl Graded {
    /// The same in a turnover run of this policy. One that only observes its output breaks a contract by
    /// an answer that is not its own alone.
    pub(crate) fn under(self, policy: OutputPolicy, grade: &Grade) -> Self {
        match policy {
            OutputPolicy::Observe => {
                Self { breaks_contract: canary_passed(grade) == Some(false), ..self }
            }
            OutputPolicy::Strict => self,
        }
    }
}
