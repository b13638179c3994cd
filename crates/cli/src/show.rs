//! What a person reads: tables of runs and comparisons.

mod calibration;
mod comparison;
mod number;
mod run;
mod search;
mod table;

pub(crate) use calibration::calibration;
pub(crate) use comparison::comparison;
pub(crate) use run::run;
pub(crate) use search::search;
