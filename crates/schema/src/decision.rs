//! What somebody decided on a comparison: a record of its own, with the gates as they stood, and the
//! ledger that lists such records.
//!
//! A decision never edits the comparison; it names it by its digest.

mod ledger;
mod standing;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::error::CanonicalError;
use crate::nullable::nullable;
use crate::text::{Identifier, PublicText};
use crate::timestamp::Timestamp;
use crate::vocabulary::closed_vocabulary;

pub use ledger::{LedgerLine, LedgerSchema};
pub use standing::{GateStanding, StoodGate};

closed_vocabulary! {
    /// The layout of a decision.
    DecisionSchema {
        /// The first one.
        V1 = "streamgauge-decision/v1",
    }
}

closed_vocabulary! {
    /// What was decided.
    DecisionChoice {
        /// The candidate takes the baseline's place.
        Promote = "promote",
        /// The baseline stays.
        Retain = "retain",
    }
}

closed_vocabulary! {
    /// The layout of the comparison that was decided on.
    DecidedSchema {
        /// By the point rule.
        ComparisonV1 = "runtime-profile-comparison/v1",
        /// By the interval rule.
        ComparisonV2 = "streamgauge-comparison/v2",
    }
}

closed_vocabulary! {
    /// What a file of evidence is.
    EvidenceKind {
        /// The comparison that was decided on.
        Comparison = "comparison",
        /// The record of a run that was compared.
        RunRecord = "run_record",
    }
}

/// A decision of version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The layout.
    pub schema: DecisionSchema,
    /// What was decided and when, `-`, and the first 12 digits of the decision's digest.
    pub decision_id: Identifier,
    /// What was decided.
    pub decision: DecisionChoice,
    /// Who decided: a person, or a rule.
    pub by: PublicText,
    /// When.
    pub decided_at: Timestamp,
    /// Why.
    pub reason: PublicText,
    /// Why the candidate was promoted although not every gate had passed; `None` when nothing was
    /// overridden.
    #[serde(rename = "override", deserialize_with = "nullable")]
    pub override_reason: Option<PublicText>,
    /// The layout of the comparison.
    pub comparison_schema: DecidedSchema,
    /// What the baseline served.
    pub baseline: DecidedBuild,
    /// What the candidate served.
    pub candidate: DecidedBuild,
    /// What all gates amounted to.
    pub outcome: GateStanding,
    /// The gate on turnover runs; `None` when none of the candidate was given.
    #[serde(deserialize_with = "nullable")]
    pub turnover: Option<GateStanding>,
    /// Each gate of each cell as it stood, in the comparison's order.
    pub gates: Vec<StoodGate>,
    /// The files that were decided on: the comparison, then the records of runs that were at hand.
    pub evidence: Vec<DecisionEvidence>,
}

/// What one side served, as far as the comparison says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DecidedBuild {
    /// The image.
    #[serde(deserialize_with = "nullable")]
    pub image: Option<PublicText>,
    /// The model's name.
    #[serde(deserialize_with = "nullable")]
    pub model: Option<PublicText>,
    /// Revision of the weights.
    #[serde(deserialize_with = "nullable")]
    pub revision: Option<PublicText>,
    /// The serving software.
    #[serde(deserialize_with = "nullable")]
    pub runtime: Option<PublicText>,
    /// Its version.
    #[serde(deserialize_with = "nullable")]
    pub runtime_version: Option<PublicText>,
    /// Number formats of weights and cache.
    #[serde(deserialize_with = "nullable")]
    pub quantization: Option<PublicText>,
    /// Which build of several.
    #[serde(deserialize_with = "nullable")]
    pub variant: Option<PublicText>,
    /// The machines.
    #[serde(deserialize_with = "nullable")]
    pub hardware: Option<PublicText>,
}

/// A file that was decided on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DecisionEvidence {
    /// What it is.
    pub kind: EvidenceKind,
    /// The comparison's file name, or the record's run id.
    pub name: PublicText,
    /// Digest of the file.
    pub sha256: Digest,
    /// Its length.
    pub bytes: u64,
}

impl Decision {
    /// Digest of the decision with `decision_id` set to the bare name.
    ///
    /// # Errors
    /// When a number of the decision is not finite.
    pub fn digest(&self, bare_name: &Identifier) -> Result<Digest, CanonicalError> {
        Digest::of_value(&Self { decision_id: bare_name.clone(), ..self.clone() })
    }

    /// The comparison that was decided on, among the evidence.
    #[must_use]
    pub fn comparison(&self) -> Option<&DecisionEvidence> {
        self.evidence.iter().find(|it| it.kind == EvidenceKind::Comparison)
    }
}
