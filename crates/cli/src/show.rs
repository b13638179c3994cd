//! What a person reads: tables of runs and comparisons.

mod answers;
mod calibration;
mod comparison;
mod decision;
mod determinism;
mod markdown;
mod number;
mod outlook;
mod page;
mod replicas;
mod run;
mod search;
mod shards;
mod table;
#[cfg(test)]
mod tests;
mod turnover;
mod vllm;

pub(crate) use answers::answers;
pub(crate) use calibration::calibration;
pub(crate) use comparison::{comparison, discordant, junit, short, verdict};
pub(crate) use decision::{decision, decision_in_markdown};
pub(crate) use determinism::determinism;
pub(crate) use number::{count, rough};
pub(crate) use outlook::outlook;
pub(crate) use page::Page;
pub(crate) use run::{SteadyWindow, failures, record, run, title};
pub(crate) use search::{load_figure, probe_fault, search, searched};
pub(crate) use turnover::{turnover, turnover_failures};
pub(crate) use vllm::vllm;
