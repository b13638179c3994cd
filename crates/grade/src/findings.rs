//! What a grader hands back: its checks, and what it counted.

use streamgauge_schema::{CheckFault, GradeCheck};

/// The checks of one answer.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) checks: Vec<GradeCheck>,
    pub(crate) words: Option<u64>,
    pub(crate) fenced_would_pass: Option<bool>,
}

impl Findings {
    /// One check.
    pub(crate) fn one(name: &str, result: Result<(), CheckFault>) -> Self {
        Self { checks: vec![check(name, result)], ..Self::default() }
    }

    pub(crate) fn all_passed(&self) -> bool {
        self.checks.iter().all(GradeCheck::passed)
    }
}

/// A check and what came of it.
pub(crate) fn check(name: &str, result: Result<(), CheckFault>) -> GradeCheck {
    GradeCheck { name: name.to_owned(), fault: result.err() }
}

/// Holds when `condition` does; differs otherwise.
pub(crate) fn same(condition: bool) -> Result<(), CheckFault> {
    if condition { Ok(()) } else { Err(CheckFault::Differs) }
}
