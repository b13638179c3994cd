//! The due times of a trace: every line has one, or none, and none lies before another.

use std::sync::Arc;

use super::line::{LineFault, at, member};
use crate::error::MemberFault;

/// Due times, line after line.
#[derive(Debug, Default)]
pub(super) struct Times {
    due_us: Vec<u64>,
    /// The first line, and the one before.
    lines: Option<(usize, usize)>,
}

impl Times {
    pub(super) fn push(&mut self, line: usize, at_us: Option<u64>) -> Result<(), LineFault> {
        let Some((first, before)) = self.lines else {
            self.lines = Some((line, line));
            self.due_us.extend(at_us);
            return Ok(());
        };
        self.lines = Some((first, line));
        let fault = match (self.due_us.last(), at_us) {
            (None, None) => return Ok(()),
            (Some(last), Some(at_us)) if *last <= at_us => {
                self.due_us.push(at_us);
                return Ok(());
            }
            (Some(_), Some(at_us)) => MemberFault::NotInOrder {
                found: format!("{}", at_us as f64 / 1000.0),
                earlier_line: before,
            },
            (last, _) => MemberFault::SometimesDue { here: last.is_none(), other_line: first },
        };
        Err(member(at("at_ms"), fault))
    }

    pub(super) fn finish(self) -> Option<Arc<[u64]>> {
        (!self.due_us.is_empty()).then(|| self.due_us.into())
    }
}
