//! What the result file of another tool says of single requests: one JSON line each, in
//! `requests.jsonl` beside the record that was made of it.

use serde::{Deserialize, Serialize};

use crate::nullable::nullable;
use crate::outcome::Completion;

/// A request as another tool tells it.
///
/// It is no [`Observation`](crate::Observation): nobody here saw the bytes, so that most of what an
/// observation holds is not known, and the tool's own definitions say what its stamps stand for.
/// What the file does not tell is `None`. It is private, as messages may hold anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportedRequest {
    /// Its place in the file, from 0.
    pub index: u64,
    /// What became of it, by the tool's own rule.
    pub completion: Completion,
    /// What the tool says of a failure, bounded and without control characters.
    #[serde(deserialize_with = "nullable")]
    pub message: Option<String>,
    /// Its start, since the first start of the file's requests, in whole microseconds rounded down,
    /// as all times here.
    #[serde(deserialize_with = "nullable")]
    pub started_us: Option<u64>,
    /// From its start to what the tool takes for its end.
    #[serde(deserialize_with = "nullable")]
    pub elapsed_us: Option<u64>,
    /// From its start to what the tool takes for its first output.
    #[serde(deserialize_with = "nullable")]
    pub first_output_us: Option<u64>,
    /// Between one event that the tool takes for output and the next, in their order.
    #[serde(deserialize_with = "nullable")]
    pub intervals_us: Option<Vec<u64>>,
    /// Tokens of the prompt, as the tool counts them.
    #[serde(deserialize_with = "nullable")]
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer, as the tool counts them.
    #[serde(deserialize_with = "nullable")]
    pub completion_tokens: Option<u64>,
}
