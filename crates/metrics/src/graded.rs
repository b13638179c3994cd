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
    pub(crate) given_by: GivenBy,
}

/// Which model gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenBy {
    /// Exactly the expected one.
    Expected,
    /// Another one too, or alone.
    Another,
    /// The response does not say.
    Unsaid,
}

impl GivenBy {
    /// By the names in a response.
    pub(crate) fn of(named: &[String], expected: &str) -> Self {
        match named {
            [] => Self::Unsaid,
            [only] if only == expected => Self::Expected,
            _ => Self::Another,
        }
    }
}

impl Graded {
    /// Whether exactly the expected model gave the answer.
    pub(crate) fn is_primary(self) -> bool {
        self.given_by == GivenBy::Expected
    }

    /// Given by the expected model, as the server listed no other, where the response does not say.
    pub(crate) fn as_listed(&mut self) {
        if self.given_by == GivenBy::Unsaid {
            self.given_by = GivenBy::Expected;
        }
    }

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
