//! Qualifications: a plan's file, the order of its runs, how they are carried out, and what they
//! amount to.

mod activate;
mod arm;
mod blocks;
mod course;
mod dir;
mod file;
mod file_schema;
mod flags;
mod identity;
mod judged;
mod outlook;
mod resolve;
mod schedule;
mod work;

pub(crate) use activate::somebody_is_there;
pub(crate) use blocks::{COMPARISON, Outcome, all_blocks, kept};
pub(crate) use course::Course;
pub(crate) use dir::QualificationDir;
pub(crate) use file_schema::file_schema;
pub(crate) use judged::{Stand, bytes, comparison};
pub(crate) use outlook::{GateOutlook, Outlook, TimeOutlook};
pub(crate) use resolve::Resolved;
pub(crate) use schedule::ScheduleArgs;
pub(crate) use work::Work;
