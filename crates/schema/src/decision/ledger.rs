//! A line of the ledger in which decisions are listed.
//!
//! Each line holds the digest of its own members and that of the line before it, so that no line but
//! the last can be changed, removed or moved without the next one saying so.

use serde::{Deserialize, Serialize};

use super::standing::GateStanding;
use super::{Decision, DecisionChoice};
use crate::digest::Digest;
use crate::error::CanonicalError;
use crate::json::Json;
use crate::nullable::nullable;
use crate::text::{Identifier, PublicText};
use crate::timestamp::Timestamp;
use crate::vocabulary::closed_vocabulary;

closed_vocabulary! {
    /// The layout of a line of the ledger.
    LedgerSchema {
        /// The first one.
        V1 = "streamgauge-ledger/v1",
    }
}

/// One decision in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LedgerLine {
    /// The layout.
    pub schema: LedgerSchema,
    /// Which line this is, from 1.
    pub line: u64,
    /// The decision's own id.
    pub decision_id: Identifier,
    /// The name of its file.
    pub decision_file: PublicText,
    /// Digest of its file.
    pub decision_sha256: Digest,
    /// Digest of the comparison that was decided on.
    pub comparison_sha256: Digest,
    /// What was decided.
    pub decision: DecisionChoice,
    /// What all gates amounted to.
    pub outcome: GateStanding,
    /// The candidate was promoted although not every gate had passed.
    pub overridden: bool,
    /// Who decided.
    pub by: PublicText,
    /// When.
    pub decided_at: Timestamp,
    /// `sha256` of the line before; `None` in the first one.
    #[serde(deserialize_with = "nullable")]
    pub previous_sha256: Option<Digest>,
    /// Digest of this line without this member.
    pub sha256: Digest,
}

impl LedgerLine {
    /// The line for a decision, to be appended to a ledger whose last line is `previous`. `file` is
    /// the name and `sha256` the digest of the decision's file.
    ///
    /// # Errors
    /// When the decision names no comparison.
    pub fn after(
        previous: Option<&Self>,
        decision: &Decision,
        file: PublicText,
        sha256: Digest,
    ) -> Result<Self, CanonicalError> {
        let comparison = decision.comparison().ok_or_else(|| CanonicalError::Refused {
            message: "the decision names no comparison".to_owned(),
        })?;
        let mut line = Self {
            schema: LedgerSchema::V1,
            line: previous.map_or(1, |previous| previous.line.saturating_add(1)),
            decision_id: decision.decision_id.clone(),
            decision_file: file,
            decision_sha256: sha256,
            comparison_sha256: comparison.sha256,
            decision: decision.decision,
            outcome: decision.outcome,
            overridden: decision.override_reason.is_some(),
            by: decision.by.clone(),
            decided_at: decision.decided_at,
            previous_sha256: previous.map(|previous| previous.sha256),
            sha256: Digest::of(b""),
        };
        line.sha256 = line.digest()?;
        Ok(line)
    }

    /// The digest of all members but `sha256`.
    ///
    /// # Errors
    /// When the line has no canonical bytes.
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        let mut tree = Json::from_value(self)?;
        if let Json::Object(members) = &mut tree {
            members.retain(|(name, _)| name != "sha256");
        }
        Digest::of_value(&tree)
    }

    /// The bytes of the line, its line feed included: members in this order, without blanks.
    ///
    /// # Errors
    /// When the line cannot be written, which no value of its members causes.
    pub fn file_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        let refused =
            |error: serde_json::Error| CanonicalError::Refused { message: error.to_string() };
        let mut bytes = serde_json::to_vec(self).map_err(refused)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}
