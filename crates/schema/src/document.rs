//! Reading any published document, and writing it back byte for byte.

use serde::de::DeserializeOwned;

use crate::comparison::{Comparison, ComparisonSchema};
use crate::comparison_v2::{ComparisonSchemaV2, ComparisonV2};
use crate::decision::{Decision, DecisionSchema};
use crate::determinism::{Determinism, DeterminismSchema};
use crate::error::{CanonicalError, ReadError};
use crate::json::{Json, Layout, Position, file_bytes};
use crate::path::JsonPath;
use crate::record::{RunRecord, RunRecordV1, RunRecordV2};
use crate::text::is_steering;

/// A published document, read and typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// A comparison of version 1.
    Comparison(Box<Comparison>),
    /// A comparison of version 2.
    ComparisonV2(Box<ComparisonV2>),
    /// A decision on a comparison.
    Decision(Box<Decision>),
    /// Which prompts are answered the same each time, and where two builds part.
    Determinism(Box<Determinism>),
    /// A run record.
    Run(RunRecord),
}

impl Document {
    /// Reads a document from its bytes. Its kind and version stand in `schema` or
    /// `schema_version`.
    ///
    /// # Errors
    /// [`ReadError::NotJson`] and [`ReadError::UnknownKind`] when the bytes are none of our
    /// documents; [`ReadError::Shape`] when they are one with a broken member.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let tree: Json = read_json(bytes)?;
        let version = [tree.member("schema"), tree.member("schema_version")];
        match version {
            [Some(schema), None] if schema.as_str() == Some(ComparisonSchema::V1.as_str()) => {
                Ok(Self::Comparison(Box::new(read_typed(bytes)?)))
            }
            [Some(schema), None] if schema.as_str() == Some(ComparisonSchemaV2::V2.as_str()) => {
                Ok(Self::ComparisonV2(Box::new(read_typed(bytes)?)))
            }
            [Some(schema), None] if schema.as_str() == Some(DecisionSchema::V1.as_str()) => {
                Ok(Self::Decision(Box::new(read_typed(bytes)?)))
            }
            [Some(schema), None] if schema.as_str() == Some(DeterminismSchema::V1.as_str()) => {
                Ok(Self::Determinism(Box::new(read_typed(bytes)?)))
            }
            [None, Some(Json::Uint(1))] => {
                Ok(Self::Run(RunRecord::V1(Box::new(read_typed::<RunRecordV1>(bytes)?))))
            }
            [None, Some(Json::Uint(2))] => {
                Ok(Self::Run(RunRecord::V2(Box::new(read_typed::<RunRecordV2>(bytes)?))))
            }
            [Some(schema), _] => Err(ReadError::UnknownKind { found: describe("schema", schema) }),
            [None, Some(version)] => {
                Err(ReadError::UnknownKind { found: describe("schema_version", version) })
            }
            [None, None] => Err(ReadError::UnknownKind {
                found: "neither \"schema\" nor \"schema_version\"".to_owned(),
            }),
        }
    }

    /// The bytes of the document's file, ending with a line feed.
    ///
    /// # Errors
    /// When a number of the document is not finite.
    pub fn file_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        match self {
            Self::Comparison(comparison) => file_bytes(comparison, Layout::AsGiven),
            Self::ComparisonV2(comparison) => file_bytes(comparison, Layout::AsGiven),
            Self::Decision(decision) => file_bytes(decision, Layout::Sorted),
            Self::Determinism(report) => file_bytes(report, Layout::Sorted),
            Self::Run(RunRecord::V1(record)) => file_bytes(record, Layout::Sorted),
            Self::Run(RunRecord::V2(record)) => file_bytes(record, Layout::Sorted),
        }
    }

    /// The bytes of the file that `original` was read from: as [`Self::file_bytes`], but without
    /// the final line feed where `original` has none.
    ///
    /// # Errors
    /// When a number of the document is not finite.
    pub fn file_bytes_like(&self, original: &[u8]) -> Result<Vec<u8>, CanonicalError> {
        let mut bytes = self.file_bytes()?;
        if !original.ends_with(b"\n") {
            bytes.pop();
        }
        Ok(bytes)
    }
}

fn describe(member: &str, value: &Json) -> String {
    let value = serde_json::to_string(value).unwrap_or_default();
    let shown: String = value.chars().take(60).collect();
    format!("\"{member}\" is {shown}")
}

fn read_json(bytes: &[u8]) -> Result<Json, ReadError> {
    serde_json::from_slice(bytes).map_err(|error| ReadError::NotJson { message: error.to_string() })
}

/// Reads one JSON value of a known type, such as a plan or a line of a journal.
///
/// # Errors
/// [`ReadError::NotJson`], or [`ReadError::Shape`] with the path and position of the broken member.
pub fn read_typed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = JsonPath::from_tracked(error.path());
        let cause = error.into_inner();
        if cause.is_data() {
            let message = printable(&without_position(&cause));
            // Of a doubled member only serde_json knows where the second one stands.
            let position = if message.starts_with("duplicate field") {
                Position { line: cause.line(), column: cause.column() }
            } else {
                position_of(bytes, &path, &cause)
            };
            ReadError::Shape { path, position, message }
        } else {
            ReadError::NotJson { message: printable(&cause.to_string()) }
        }
    })?;
    deserializer.end().map_err(|error| ReadError::NotJson { message: error.to_string() })?;
    Ok(value)
}

/// Where the value at `path` begins. serde_json stops behind it, which for the last member of an
/// object is the next line; its position stands in where the path leads to no value of the text.
fn position_of(bytes: &[u8], path: &JsonPath, cause: &serde_json::Error) -> Position {
    let begins = std::str::from_utf8(bytes).ok().and_then(|text| Position::of(text, path));
    begins.unwrap_or(Position { line: cause.line(), column: cause.column() })
}

/// serde_json's text without the position, which stands beside it.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&suffix).unwrap_or(&text).to_owned()
}

/// A message that quotes the text, made safe to show: control characters escaped, and cut where it
/// is longer than a message should be.
fn printable(message: &str) -> String {
    const MAX_CHARS: usize = 500;
    let mut out = String::new();
    for (count, character) in message.chars().enumerate() {
        if count == MAX_CHARS {
            out.push('…');
            break;
        }
        if is_steering(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}
