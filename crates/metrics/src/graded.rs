//! What a grader made of one request's answer.

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
