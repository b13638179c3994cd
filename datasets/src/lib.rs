//! The datasets that ship with Streamgauge.
//!
//! Each is a pure function of a seed: documents with facts to find, sums to work out, words to repeat.
//! What is right is known because it was there first, and the text was written around it. Beside each
//! line the crate knows a right answer and several wrong ones, which the files do not hold: tests grade
//! them all. The files themselves lie beside this crate's `Cargo.toml`, one JSON object a line, with a
//! manifest each.
//!
//! ```
//! let arithmetic = streamgauge_datasets::SETS.iter().find(|set| set.name == "arithmetic").unwrap();
//! let made = arithmetic.make();
//! assert_eq!(made.manifest.lines, 96);
//! let again = streamgauge_schema::Digest::of(&made.jsonl);
//! assert_eq!(made.manifest.sha256, again);
//! ```
//!
//! Left out: grading and sending, which are the business of others; and difficulty as such. A line is
//! there to find out whether a build still answers what the build before it did.
//!
//! | module | holds |
//! | --- | --- |
//! | `set` | the sets by name; from a set to its file and manifest |
//! | `line` | one line, and answers to it |
//! | `evidence/*` | documents, one kind a file, and what is asked of them |
//! | `arithmetic/*` | word problems |
//! | `turnover` | a marker, and a word again and again |
//! | `draw` | chance from a seed |

mod arithmetic;
mod draw;
mod evidence;
mod line;
mod set;
mod turnover;

pub use line::{Case, Line};
pub use set::{Made, SETS, Set};
