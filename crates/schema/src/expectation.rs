//! What an answer is held against: the member `expect` of a dataset's line, one grader each.
//!
//! The member names the grader, and what it holds is the grader's own:
//!
//! ```
//! use streamgauge_schema::{Expectation, Json, read_typed};
//! let text = br#"{"fields": [{"pointer": "/total", "is": {"number": {"value": 42, "within": 0.5}}}]}"#;
//! let Expectation::Fields(checks) = read_typed(text).unwrap() else { panic!("other grader") };
//! assert_eq!(checks[0].pointer, "/total");
//! assert!(read_typed::<Expectation>(br#"{"field": []}"#).is_err());
//! ```

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::vocabulary::closed_vocabulary;

/// What an answer is held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expectation {
    /// The answer begins with this request's own marker, and holds nobody else's.
    Canary(Canary),
    /// One of several labels, of which one is right.
    Choice(Choice),
    /// A word, again and again.
    ControlledOutput(ControlledOutput),
    /// This text, white space around it aside.
    ExactText(String),
    /// JSON whose named members have these values.
    Fields(Vec<FieldCheck>),
    /// JSON that this JSON Schema admits.
    JsonSchema(Json),
    /// The last number of the answer.
    Numeric(NumberWithin),
}

/// A request's own marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Canary {
    /// The text that the answer has to begin with, before one space. No marker of a run is part of
    /// another one.
    pub marker: String,
}

/// One label out of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The right one.
    pub correct: String,
    /// All of them, the right one too, such as `A` to `D`.
    pub of: Vec<String>,
}

/// A word that the answer has to repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ControlledOutput {
    /// The marker that stands before the words, with one space; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<String>,
    /// How often.
    pub count: u64,
    /// What a wrong count means.
    pub policy: OutputPolicy,
    /// The word: without white space.
    pub word: String,
}

closed_vocabulary! {
    /// What it means when a controlled output is not as wanted.
    OutputPolicy {
        /// It is counted and reported, and fails nothing.
        Observe = "observe",
        /// The answer fails.
        Strict = "strict",
    }
}

/// A member of the answer and what it has to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FieldCheck {
    /// Where the value stands: a JSON pointer (RFC 6901), empty for the whole answer.
    pub pointer: String,
    /// What it has to be.
    pub is: FieldRule,
}

/// What a value has to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FieldRule {
    /// A text that holds this one.
    Contains(String),
    /// This value. Numbers are equal by their value (`1` and `1.0`), objects whatever the order of
    /// their members.
    Equals(Json),
    /// A text in which this regular expression matches somewhere.
    Matches(String),
    /// A number near this one.
    Number(NumberWithin),
    /// One of these values.
    OneOf(Vec<Json>),
    /// A list that holds these values and no others, in any order, each as often as here.
    Set(Vec<Json>),
}

/// A number and how far from it another may lie. With both distances the wider one holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NumberWithin {
    /// The number.
    pub value: f64,
    /// Largest distance, in the number's own unit; 0 when absent.
    #[serde(default)]
    pub within: f64,
    /// Largest distance as a share of the number's size; 0 when absent.
    #[serde(default)]
    pub within_ratio: f64,
}
