//! A line of a set, and what is known of it beside the line: answers that are right and wrong.

use serde::Serialize;
use streamgauge_schema::Expectation;

/// A line as its file holds it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its name, distinct within the set.
    pub id: String,
    /// What is asked.
    pub prompt: String,
    /// What the answer is held against.
    pub expect: Expectation,
}

/// A line, an answer that is right, and some that a model gives which has not understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The line.
    pub line: Line,
    /// A right answer.
    pub right: String,
    /// Answers that are wrong in a way of their own each: a value that stands beside the right one, a
    /// step too few, a word too many.
    pub wrong: Vec<String>,
}
