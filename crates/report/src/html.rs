//! Pages: one self-contained file each.
//!
//! Invariant: what a record or a file says reaches a page through a template, which escapes it, or
//! through the SVG backend, which does too; and what may steer a reader's eye or a terminal is spelt
//! out, once, for the whole page.

mod comparison;
mod findings;
mod gates;
mod glossary;
mod plots;
mod replicas;
mod rows;
mod run;
mod search;
mod shards;
mod shell;
mod sweep;
mod tiles;
mod verdict;

pub use comparison::comparison_page;
pub use run::run_page;
pub use search::search_page;
pub use shell::is_page;
pub use sweep::sweep_page;
