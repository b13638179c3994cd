//! Exit codes: what a script learns without reading.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Done, and every judged gate passed.
    Done = 0,
    /// A gate failed, a strict turnover failed, a record did not verify, or a promotion was refused.
    GateFailed = 1,
    /// Bad arguments, unreadable or malformed input, differing conditions.
    BadInput = 2,
    /// Inconclusive, not evaluated or ineligible.
    Inconclusive = 3,
    /// The server was unreachable, or nothing succeeded.
    Unreachable = 4,
    /// Interrupted; what had finished is saved.
    Interrupted = 130,
}

/// The code where whoever read the output left before its end, as after SIGPIPE: no verdict was told.
pub(crate) const CLOSED_PIPE: u8 = 141;

impl Exit {
    /// The code for an error that ended a command.
    pub(crate) fn of_error(error: &anyhow::Error) -> Self {
        if error.downcast_ref::<Unreachable>().is_some() {
            Self::Unreachable
        } else {
            Self::BadInput
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The server could not be reached, so that nothing was measured.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreachable(pub(crate) String);
