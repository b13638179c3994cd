//! Why a file cannot be imported.

use streamgauge_schema::{CanonicalError, ReadError, TextFault};

use crate::tool::Tool;

/// A file of another tool that makes no record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The record has a number that cannot be written.
    #[error("the record cannot be written")]
    Canonical(#[from] CanonicalError),
    /// Two members of the file cannot both be.
    #[error("{place} contradicts itself: {contradiction}")]
    Contradiction {
        /// Where: the file, or a line of it.
        place: String,
        /// What contradicts what, with the values.
        contradiction: String,
    },
    /// The name of the run is too long for a run id made of it.
    #[error("the run name {name:?} is too long: with 13 characters of digest it is no identifier")]
    NameTooLong {
        /// The name.
        name: String,
    },
    /// The file holds no result.
    #[error("there is no result in it; {tool} is read from {}", tool.files())]
    NoResult {
        /// The tool that was named.
        tool: Tool,
    },
    /// A member is missing or of the wrong type, or the file is no JSON.
    #[error("it is no result of {tool}, which is read from {}", tool.files())]
    Shape {
        /// The tool that was named.
        tool: Tool,
        /// The member and its place.
        #[source]
        source: ReadError,
    },
    /// A text that the record would hold may not be published.
    #[error("{text:?} cannot stand in a record")]
    Unpublishable {
        /// The text.
        text: String,
        /// The rule that it breaks.
        #[source]
        fault: TextFault,
    },
    /// A number is none of the values that its member can have.
    #[error("{place}, {member} is {value}: {rule}")]
    Value {
        /// Where: the file, or a line of it.
        place: String,
        /// The member.
        member: String,
        /// What stands there.
        value: String,
        /// What may stand there.
        rule: &'static str,
    },
}
