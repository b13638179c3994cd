//! Grading: what answers are held against, and the receipts of what came of it.

mod expected;
mod kept;
mod prepared;
mod receipts;

pub(crate) use expected::Expected;
pub(crate) use kept::{grades_so_far, kept_receipts};
pub(crate) use prepared::Expectations;
pub(crate) use receipts::{Answered, Receipts, Wrong};
