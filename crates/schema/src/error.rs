//! What can go wrong when records are read or written.

use crate::json::Position;
use crate::path::JsonPath;

/// A value that has no canonical bytes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// NaN and infinities are no JSON numbers.
    #[error("{value} is not a finite number and cannot be written")]
    NotFinite {
        /// The number.
        value: f64,
    },
    /// A key of an object is neither a text nor a whole number.
    #[error("a key of an object must be a text")]
    KeyNotText,
    /// A type refused to be serialised.
    #[error("{message}")]
    Refused {
        /// The type's own words.
        message: String,
    },
}

impl serde::ser::Error for CanonicalError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Refused { message: message.to_string() }
    }
}

/// A document that could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are not JSON.
    #[error("not JSON: {message}")]
    NotJson {
        /// What the parser says, with line and column.
        message: String,
    },
    /// The JSON is none of the documents of this crate.
    #[error("not a document of Streamgauge: {found}")]
    UnknownKind {
        /// What stands where the version should.
        found: String,
    },
    /// A member is missing, unknown, of the wrong type, or breaks the rule of its type.
    #[error("{path}: {message} ({position})")]
    Shape {
        /// The member; of one that is missing or doubled, the object around it.
        path: JsonPath,
        /// Where its value begins in the text.
        position: Position,
        /// The value and the rule.
        message: String,
    },
}

/// A text that may not stand in a published record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextFault {
    /// A network address.
    #[error("a published text holds no network addresses")]
    Address,
    /// A credential, such as `Bearer …`.
    #[error("a published text holds no credentials")]
    Credential,
    /// A character that is not seen but steers what shows it.
    #[error(
        "a published text has no control characters, nor any that turn the direction of writing"
    )]
    Control,
    /// Not 1 to 240 characters.
    #[error("a published text has 1 to 240 characters")]
    Length,
    /// A word that is a file path.
    #[error("a published text holds no file paths")]
    Path,
    /// A URL.
    #[error("a published text holds no URLs")]
    Url,
}
