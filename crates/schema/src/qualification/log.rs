//! The log of a qualification: one line for each step, written when it has happened.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::QualificationPhase;
use super::order::Visit;
use crate::digest::Digest;
use crate::gate::GateVerdict;
use crate::nullable::nullable;
use crate::plan::LengthBasis;
use crate::text::Identifier;
use crate::timestamp::Timestamp;
use crate::vocabulary::closed_vocabulary;

/// One line of `log.jsonl`. It is private.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationLine {
    /// Milliseconds since the last `opened` line.
    pub at_ms: u64,
    /// What happened.
    pub step: QualificationStep,
}

/// A step of a qualification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum QualificationStep {
    /// An arm was brought up.
    Activated(QualificationActivated),
    /// A run begins: from here on its directory is there.
    Begun(QualificationBegun),
    /// A comparison was written.
    Compared(QualificationCompared),
    /// A run is not used, and will be taken anew.
    Discarded(QualificationDiscarded),
    /// The work ended in good order; it may be taken up again where it is not complete.
    Ended(QualificationEnded),
    /// An arm was not brought up, or did not become ready.
    Failed(QualificationFailed),
    /// A run's record is written.
    Finished(QualificationFinished),
    /// What an arm says it is.
    Identified(QualificationIdentified),
    /// How long the synthetic prompts of a cell are, in all its runs.
    Lengths(QualificationLengths),
    /// The work was taken up, for the first time or again.
    Opened(QualificationOpened),
    /// An arm is up.
    Ready(QualificationReady),
}

/// The work was taken up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationOpened {
    /// Digest of the plan.
    pub plan_sha256: Digest,
    /// When.
    pub started_at: Timestamp,
    /// Version of the instrument.
    pub instrument_version: String,
}

/// An arm was brought up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationActivated {
    /// For which visit.
    pub visit: Visit,
    /// How long it took.
    pub elapsed_ms: u64,
    /// How the program ended; `None` where somebody was asked.
    #[serde(deserialize_with = "nullable")]
    pub exit_code: Option<i32>,
}

/// An arm was not brought up, or did not become ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationFailed {
    /// For which visit.
    pub visit: Visit,
    /// After how long.
    pub elapsed_ms: u64,
    /// How the program ended; `None` where it did not end by itself, or there was none.
    #[serde(deserialize_with = "nullable")]
    pub exit_code: Option<i32>,
    /// What happened.
    pub problem: String,
}

/// An arm is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationReady {
    /// For which visit.
    pub visit: Visit,
    /// How long it was waited for.
    pub elapsed_ms: u64,
}

/// What an arm says it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationIdentified {
    /// Before which visit.
    pub visit: Visit,
    /// What it says.
    pub identity: ServerIdentity,
}

/// What a server says it is. An arm whose answer changes is not the arm that was measured before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    /// The model that is asked for.
    pub model: String,
    /// The models that it lists, sorted; `None` where it lists none.
    #[serde(deserialize_with = "nullable")]
    pub models: Option<Vec<String>>,
    /// What else it says, such as its version, by the path and the member where it says so.
    pub stated: BTreeMap<String, String>,
    /// Whether it is a simulated one.
    pub simulated: bool,
}

/// How long the synthetic prompts of a cell are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationLengths {
    /// The cell.
    pub cell: Identifier,
    /// What was found out before its first run, and holds for all.
    pub basis: LengthBasis,
}

/// A run begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationBegun {
    /// The visit that it belongs to.
    pub visit: Visit,
    /// Its cell.
    pub cell: Identifier,
    /// Name of its directory below `runs`.
    pub directory: Identifier,
}

/// A run's record is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationFinished {
    /// The visit that it belongs to.
    pub visit: Visit,
    /// Its cell.
    pub cell: Identifier,
    /// Name of its directory below `runs`.
    pub directory: Identifier,
    /// Digest of its record's file.
    pub record_sha256: Digest,
}

/// A run is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationDiscarded {
    /// Name of its directory below `runs`.
    pub directory: Identifier,
    /// Why not.
    pub reason: DiscardReason,
}

closed_vocabulary! {
    /// Why a run is not used.
    DiscardReason {
        /// A signal stopped it.
        Interrupted = "interrupted",
        /// None of its requests succeeded.
        NothingSucceeded = "nothing_succeeded",
    }
}

/// A comparison was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationCompared {
    /// Of which blocks.
    pub phase: QualificationPhase,
    /// How many of them, from the first.
    pub blocks: u64,
    /// Which of the planned looks it is, from 1; `None` where only one was planned.
    #[serde(deserialize_with = "nullable")]
    pub look: Option<u64>,
    /// Name of its file.
    pub file: Identifier,
    /// Digest of the file.
    pub sha256: Digest,
    /// What it amounts to.
    pub verdict: GateVerdict,
}

/// The work ended in good order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationEnded {
    /// Why.
    pub reason: QualificationEnd,
}

closed_vocabulary! {
    /// Why the work on a qualification ended.
    QualificationEnd {
        /// The last comparison is written: nothing is left to do.
        Complete = "complete",
        /// A signal stopped it.
        Interrupted = "interrupted",
        /// The server failed, or is not the one that was measured before.
        Stopped = "stopped",
        /// The time was over before the candidate could be judged.
        TimeOver = "time_over",
    }
}
