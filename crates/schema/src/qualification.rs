//! The resolved plan of a qualification: both arms, the cells, the blocks and the gates, fixed before
//! the first run.

mod log;
mod order;

use std::ops::Not;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::gate::Gates;
use crate::nullable::nullable;
use crate::text::Identifier;
use crate::vocabulary::closed_vocabulary;

pub use log::{
    DiscardReason, QualificationActivated, QualificationBegun, QualificationCompared,
    QualificationDiscarded, QualificationEnd, QualificationEnded, QualificationFailed,
    QualificationFinished, QualificationIdentified, QualificationLengths, QualificationLine,
    QualificationOpened, QualificationReady, QualificationStep, ServerIdentity,
};
pub use order::{Visit, visits};

/// The plan of a qualification (`plan.json` of its directory). It is private: it names what is
/// contacted and which programs are run. Values of headers and keys do not stand in it.
///
/// Invariant: plan, log and run records determine every comparison of the qualification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationPlan {
    /// Version of this layout: 1.
    pub qualification_version: u32,
    /// Name of the qualification; its directory and its runs' names begin with it.
    pub name: Identifier,
    /// Version of the instrument that made the plan.
    pub instrument_version: String,
    /// The file that it was made of, which is read again to go on.
    pub source: String,
    /// Options of the command that the plan was made with, beside the file.
    pub options: Vec<String>,
    /// Blocks of the baseline against itself, before all others.
    #[serde(deserialize_with = "blocks")]
    pub aa_blocks: u64,
    /// Numbers of blocks after which the candidate is judged, rising. With more than one, each look
    /// is judged at an equal share of the gates' alpha.
    #[serde(deserialize_with = "looks")]
    pub planned_blocks: Vec<u64>,
    /// Time of measuring after which no block begins; `None` sets no end.
    #[serde(deserialize_with = "nullable")]
    pub max_time_ms: Option<u64>,
    /// Blocks after which the arms exchange their addresses; `None` when they keep them.
    #[serde(deserialize_with = "nullable")]
    pub swap_after_blocks: Option<u64>,
    /// What the candidate is held to.
    pub gates: Gates,
    /// Matching conditions that may differ between the arms.
    pub allow_differing: Vec<Identifier>,
    /// Whether runs are judged that do not verify the certificate of their server; absent when not.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub allow_insecure: bool,
    /// Seed from which each run takes the number that keeps its prompts apart from those of all
    /// others.
    pub nonce_seed: u64,
    /// The cells, in the order in which each visit measures them.
    pub cells: Vec<Identifier>,
    /// The turnover runs of both arms, after all blocks; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turnover: Option<QualificationTurnover>,
    /// What ships now.
    pub baseline: QualificationArm,
    /// What may ship next.
    pub candidate: QualificationArm,
}

/// The turnover runs of a qualification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationTurnover {
    /// Name of their cell.
    pub cell: Identifier,
    /// Runs of each arm, each with markers of its own; at most [`QualificationPlan::MAX_BLOCKS`].
    #[serde(deserialize_with = "repeats")]
    pub repeats: u64,
}

/// One arm of a qualification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QualificationArm {
    /// Scheme, host, port and path prefix of the server.
    pub base_url: String,
    /// How it is brought up after the other arm was.
    pub activation: Activation,
    /// How it is known to be up.
    pub ready: Readiness,
    /// The arguments of `run` for each cell, in the order of the plan's cells; of headers the names
    /// alone.
    pub arguments: Vec<Vec<String>>,
    /// The arguments of `turnover`; absent without turnover runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turnover_arguments: Vec<String>,
}

/// How an arm is brought up after the other one was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Activation {
    /// Somebody is asked to.
    Ask {},
    /// It is always up.
    None {},
    /// A program does it, without a shell.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// Time after which it and what it started are killed.
        timeout_ms: u64,
    },
}

/// How an arm is known to be up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Readiness {
    /// Path below the address that answers with success; `None` when the list of models and the
    /// health of the server are asked for.
    #[serde(deserialize_with = "nullable")]
    pub path: Option<String>,
    /// How long it is waited for.
    pub timeout_ms: u64,
}

closed_vocabulary! {
    /// The part of a qualification that a block belongs to.
    QualificationPhase {
        /// The baseline against itself.
        Aa = "aa",
        /// The candidate against the baseline.
        Blocks = "blocks",
        /// Exact output under turnover, of each arm.
        Turnover = "turnover",
    }
}

closed_vocabulary! {
    /// The side of a comparison that a run belongs to. In the A/A both are the baseline's server.
    QualificationSide {
        /// What is compared with.
        Baseline = "baseline",
        /// What is compared; in the A/A the baseline once more.
        Candidate = "candidate",
    }
}

/// A number of blocks that somebody may take.
fn blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    at_most(deserializer, "blocks")
}

/// A number of turnover runs that somebody may take.
fn repeats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    at_most(deserializer, "turnover runs")
}

fn at_most<'de, D: Deserializer<'de>>(deserializer: D, of: &str) -> Result<u64, D::Error> {
    let count = u64::deserialize(deserializer)?;
    let most = QualificationPlan::MAX_BLOCKS;
    if count > most {
        return Err(de::Error::custom(format_args!("{count} {of} are more than {most}")));
    }
    Ok(count)
}

/// Numbers of blocks, each of which somebody may take.
fn looks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Look(#[serde(deserialize_with = "blocks")] u64);
    Ok(Vec::<Look>::deserialize(deserializer)?.into_iter().map(|Look(blocks)| blocks).collect())
}

impl QualificationPlan {
    /// Version of this layout.
    pub const VERSION: u32 = 1;
    /// More blocks than anybody takes; a plan of more cannot be read.
    pub const MAX_BLOCKS: u64 = 1_000;

    /// The most blocks that are taken: those of the last look.
    #[must_use]
    pub fn most_blocks(&self) -> u64 {
        self.planned_blocks.last().copied().unwrap_or(0)
    }

    /// Every visit that may be made, in its order.
    #[must_use]
    pub fn visits(&self) -> Vec<Visit> {
        visits(self.aa_blocks, self.most_blocks(), self.turnover_repeats())
    }

    /// Turnover runs of each arm.
    #[must_use]
    pub fn turnover_repeats(&self) -> u64 {
        self.turnover.as_ref().map_or(0, |turnover| turnover.repeats)
    }

    /// The cells of a visit.
    #[must_use]
    pub fn cells_of(&self, visit: Visit) -> Vec<&Identifier> {
        match visit.phase {
            QualificationPhase::Aa | QualificationPhase::Blocks => self.cells.iter().collect(),
            QualificationPhase::Turnover => self.turnover.iter().map(|it| &it.cell).collect(),
        }
    }

    /// Whether the arms have exchanged their addresses when a visit is made.
    #[must_use]
    pub fn is_swapped(&self, visit: Visit) -> bool {
        self.swap_after_blocks.is_some_and(|after| match visit.phase {
            QualificationPhase::Aa => false,
            QualificationPhase::Blocks => visit.block > after,
            QualificationPhase::Turnover => true,
        })
    }

    /// The arm whose build a visit measures.
    #[must_use]
    pub fn arm(&self, visit: Visit) -> &QualificationArm {
        match visit.arm() {
            QualificationSide::Baseline => &self.baseline,
            QualificationSide::Candidate => &self.candidate,
        }
    }
}
