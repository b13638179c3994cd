//! What somebody decided on a comparison: the gates as they stood.

mod standing;

pub use standing::{GateStanding, StoodGate};
