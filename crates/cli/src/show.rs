//! What a person reads: tables of runs and comparisons.

mod comparison;
mod number;
mod run;
mod table;

pub(crate) use comparison::comparison;
pub(crate) use run::run;
