//! JSON as an ordered tree, and the canonical bytes in which records are written and digested.
//!
//! Invariant: what is written here never depends on the order or the number format of another
//! library. Keys keep the order they came in and are sorted by our own writer; floats are written
//! from their shortest digits.

mod position;
mod to_tree;
mod tree;
mod write;

pub use position::Position;
pub use tree::Json;
pub use write::{Layout, digest_bytes, file_bytes};
