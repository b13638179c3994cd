//! The two versions of run records and what they have in common.

use serde::{Deserialize, Serialize};

use super::parts::{
    Case, Condition, Counts, Deployment, Evidence, InstrumentReport, LoadReport, Metric, MetricV1,
    Performance, Windows,
};
use super::spread_out::{ReplicaReport, ShardReport};
use super::turnover::TurnoverReport;
use super::words::{Boundary, EvidenceMode, Phase, Role, RunStatus};
use crate::digest::Digest;
use crate::error::CanonicalError;
use crate::nullable::nullable;
use crate::text::{Identifier, PublicText};
use crate::timestamp::Timestamp;

/// Defines a record version: the members that all versions share, and its own.
macro_rules! run_record {
    ($(#[$meta:meta])* $name:ident, metrics: $metric:ty, cases: $(#[$cases_meta:meta])* $cases:ty,
     own: { $($(#[$own_meta:meta])* $own:ident: $own_type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Version of the layout.
            pub schema_version: u32,
            /// Bare name, `-`, and the first 12 digits of the record's digest.
            pub run_id: Identifier,
            /// Whether the run came to its end.
            pub status: RunStatus,
            /// Start of the run.
            pub started_at: Timestamp,
            /// End of the run.
            pub completed_at: Timestamp,
            /// What the run was for.
            pub phase: Phase,
            /// The part that the deployment plays.
            pub role: Role,
            /// What one case spans.
            pub boundary: Boundary,
            /// What kind of evidence this is.
            pub evidence_mode: EvidenceMode,
            /// What was measured.
            pub deployment: Deployment,
            /// Name and version of the suite.
            pub suite_version: Identifier,
            /// Digest of the suite's dataset and prompts.
            pub suite_sha256: Digest,
            /// Digest of the grader; `None` when nothing was graded.
            #[serde(deserialize_with = "nullable")]
            pub evaluator_sha256: Option<Digest>,
            /// Digest of the matching conditions, when a matched protocol was declared.
            #[serde(deserialize_with = "nullable")]
            pub comparison_key: Option<Digest>,
            /// The conditions of the run.
            pub conditions: Vec<Condition>,
            /// What the figures do not say.
            pub limitations: Vec<PublicText>,
            /// The serving cell.
            pub performance: Performance,
            /// Every declared request.
            $(#[$cases_meta])*
            pub cases: $cases,
            /// How many of them, by outcome.
            pub counts: Counts,
            /// The figures.
            pub metrics: Vec<$metric>,
            /// The files that the record was made from.
            pub evidence: Vec<Evidence>,
            $($(#[$own_meta])* pub $own: $own_type,)*
        }

        impl $name {
            /// Digest of the record with `run_id` set to the bare name.
            ///
            /// # Errors
            /// When a number of the record is not finite.
            pub fn digest(&self, bare_name: &Identifier) -> Result<Digest, CanonicalError> {
                Digest::of_value(&Self { run_id: bare_name.clone(), ..self.clone() })
            }
        }
    };
}

run_record! {
    /// A run record of version 1: the golden layout.
    RunRecordV1,
    metrics: MetricV1,
    cases: Vec<Case>,
    own: {}
}

run_record! {
    /// A run record of version 2: what `run` writes.
    RunRecordV2,
    metrics: Metric,
    cases:
        /// `None` above 10,000 requests, when the cases stand in a file of their own.
        #[serde(deserialize_with = "nullable")]
        Option<Vec<Case>>,
    own: {
        /// What the instrument says of itself.
        instrument: InstrumentReport,
        /// What was offered, and what became of it.
        load: LoadReport,
        /// What became of the requests at each of several addresses; absent where there is one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replicas: Vec<ReplicaReport>,
        /// The parts that the run was divided into, as far as they are in this record; absent of a run
        /// that is whole and had no common start.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shards: Vec<ShardReport>,
        /// What a turnover run came to; other runs have no such part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turnover: Option<TurnoverReport>,
        /// The parts of the run that figures are taken over.
        windows: Windows,
    }
}

/// A run record of any version.
#[derive(Clone, Debug, PartialEq)]
pub enum RunRecord {
    /// Version 1.
    V1(Box<RunRecordV1>),
    /// Version 2.
    V2(Box<RunRecordV2>),
}

/// Reads a member that every version has.
macro_rules! shared {
    ($($(#[$meta:meta])* $name:ident: $type:ty,)+) => {
        $($(#[$meta])*
        #[must_use]
        pub fn $name(&self) -> &$type {
            match self {
                Self::V1(record) => &record.$name,
                Self::V2(record) => &record.$name,
            }
        })+
    };
}

impl RunRecord {
    shared! {
        /// Bare name, `-`, and the first 12 digits of the record's digest.
        run_id: Identifier,
        /// Whether the run came to its end.
        status: RunStatus,
        /// Start of the run.
        started_at: Timestamp,
        /// End of the run.
        completed_at: Timestamp,
        /// What the run was for.
        phase: Phase,
        /// The part that the deployment plays.
        role: Role,
        /// What one case spans.
        boundary: Boundary,
        /// What kind of evidence this is.
        evidence_mode: EvidenceMode,
        /// What was measured.
        deployment: Deployment,
        /// Digest of the suite's dataset and prompts.
        suite_sha256: Digest,
        /// The conditions of the run.
        conditions: Vec<Condition>,
        /// What the figures do not say.
        limitations: Vec<PublicText>,
        /// The serving cell.
        performance: Performance,
        /// How many cases, by outcome.
        counts: Counts,
    }

    /// Every declared request; `None` when they stand in a file of their own.
    #[must_use]
    pub fn cases(&self) -> Option<&[Case]> {
        match self {
            Self::V1(record) => Some(&record.cases),
            Self::V2(record) => record.cases.as_deref(),
        }
    }

    /// The figures, as far as every version has them.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricV1> {
        match self {
            Self::V1(record) => record.metrics.clone(),
            Self::V2(record) => record.metrics.iter().map(Metric::to_v1).collect(),
        }
    }

    /// Digest of the record with `run_id` set to the bare name.
    ///
    /// # Errors
    /// When a number of the record is not finite.
    pub fn digest(&self, bare_name: &Identifier) -> Result<Digest, CanonicalError> {
        match self {
            Self::V1(record) => record.digest(bare_name),
            Self::V2(record) => record.digest(bare_name),
        }
    }
}

impl Metric {
    /// The members that version 1 has too.
    #[must_use]
    pub fn to_v1(&self) -> MetricV1 {
        MetricV1 {
            id: self.id.clone(),
            label: self.label.clone(),
            definition: self.definition.clone(),
            unit: self.unit,
            value: self.value,
            samples: self.samples,
        }
    }
}
