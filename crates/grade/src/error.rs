//! Why an expectation cannot be graded.

/// Why no grader can be made of an expectation. Nothing of an answer ever is an error: it is a check
/// that did not hold.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraderError {
    /// A marker is empty, has white space, or is part of another one.
    #[error(
        "canary marker {marker:?} {fault}; markers are texts without white space, none part of another"
    )]
    Marker {
        /// The marker.
        marker: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The labels of a choice do not allow one answer.
    #[error("choice: {0}")]
    Choice(&'static str),
    /// The word of a controlled output is no word.
    #[error("controlled output: the word {word:?} is empty or has white space")]
    Word {
        /// The word.
        word: String,
    },
    /// A number cannot be compared with.
    #[error(
        "number: value {value} within {within} or {within_ratio} of it: all must be finite, and distances 0 or more"
    )]
    Number {
        /// The value.
        value: f64,
        /// The distance.
        within: f64,
        /// The distance as a share.
        within_ratio: f64,
    },
    /// No check is named.
    #[error("fields: there is no check; an answer that nothing checks must not pass")]
    NoChecks,
    /// A JSON pointer is none.
    #[error(
        "fields: {pointer:?} is no JSON pointer (RFC 6901): it is empty or begins with a slash, and \"~\" stands before 0 or 1 only"
    )]
    Pointer {
        /// The pointer.
        pointer: String,
    },
    /// A regular expression cannot be used.
    #[error("fields: {pointer}: the regular expression cannot be used")]
    Pattern {
        /// The pointer of its check.
        pointer: String,
        /// Why; look-around and back-references are among what is refused, as they take unbounded
        /// time.
        #[source]
        source: regex::Error,
    },
    /// An expected value or a JSON Schema has a member twice.
    #[error("an object that is expected has a member twice, so that its value is not certain")]
    MemberTwice,
    /// A JSON Schema cannot be used.
    #[error("json_schema: {0}")]
    Schema(String),
}
