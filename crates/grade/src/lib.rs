//! Graders of answers: pure, versioned, each with a receipt.
//!
//! A build that answers wrong is not fast. This crate holds an answer against what its request
//! expects and says, check by check, what held. It knows no request, no clock and no file: an answer
//! is a text and whether it was cut. It does not judge style, and no model grades a model here.
//!
//! ```
//! use streamgauge_grade::{Answer, Canaries, Grader};
//! use streamgauge_schema::{Digest, Expectation, NumberWithin};
//!
//! let expected = NumberWithin { value: 18.0, within: 0.0, within_ratio: 0.0 };
//! let grader = Grader::new(&Expectation::Numeric(expected)).unwrap();
//! let answer = Answer { text: "9 + 9 eggs make 18.", untruncated: true };
//! let grade = grader.grade(Digest::of(b"the prompt"), answer, &Canaries::none());
//! assert!(grade.passed);
//! ```
//!
//! | grader | passes when |
//! | --- | --- |
//! | `canary-v1` | the answer begins with its own marker and a space, and holds no other request's |
//! | `choice-v1` | the label that the answer names is the right one |
//! | `controlled-output-v1` | the answer is a word, as often as wanted |
//! | `exact-text-v1` | the answer is a text, white space around it aside |
//! | `frozen-evidence-fields-v1` | the answer is JSON whose members have the frozen values |
//! | `json-schema-v1` | the answer is JSON that a JSON Schema admits |
//! | `numeric-v1` | the last number of the answer is the right one |
//!
//! [`determinism`] holds answers to the same prompt against each other, within a build and between two.
//!
//! No answer passes that its length limit cut. Regular expressions run in linear time, answers above
//! [`MAX_ANSWER_BYTES`] are refused, and a JSON answer with a member twice is none.

mod canary;
mod choice;
mod controlled_output;
mod determinism;
mod error;
mod exact_text;
mod fields;
mod findings;
mod grader;
mod json_answer;
mod json_schema;
mod number;
mod numeric;
mod thinking;

pub use canary::Canaries;
pub use determinism::{GivenAnswer, RepeatedAnswers, determinism};
pub use error::GraderError;
pub use grader::{Answer, Grader, MAX_ANSWER_BYTES};
