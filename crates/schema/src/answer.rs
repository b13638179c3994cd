//! Answers that were kept, which are private: one JSON line each, in `answers.jsonl`.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::nullable::nullable;

/// What a measured request was answered, kept so that it can be graded later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerLine {
    /// Digest of the prompt exactly as sent.
    pub prompt_sha256: Digest,
    /// Place of the request among the measured ones, from 0.
    pub index: u64,
    /// The dataset's own name for the request.
    #[serde(deserialize_with = "nullable")]
    pub dataset_id: Option<String>,
    /// The visible answer, of several choices the first one's; `None` when there is none.
    #[serde(deserialize_with = "nullable")]
    pub answer: Option<String>,
    /// Its reasoning; `None` when none was streamed.
    #[serde(deserialize_with = "nullable")]
    pub reasoning: Option<String>,
    /// For each event with output: bytes of reasoning and of the answer up to its end. There where the
    /// prompt was asked several times, so that answers can part at an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_ends: Option<Vec<[u32; 2]>>,
    /// Why it ended, in the words of the API, by choice.
    pub finish_reasons: Vec<String>,
}
