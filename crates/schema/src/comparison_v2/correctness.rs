//! How the right answers of two sides are held against each other: pairs of the same prompts.

use serde::{Deserialize, Serialize};

use super::{ComparedFigure, FindingVerdict};
use crate::gate::GateVerdict;
use crate::nullable::nullable;
use crate::record::Interval;
use crate::text::PublicText;

/// Whether the candidate answers as rightly as the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CorrectnessComparison {
    /// Most that the share of right answers may fall, in percentage points.
    pub limit_percent: f64,
    /// The pass rate of each run of the baseline, over its declared requests.
    pub baseline: Vec<ComparedFigure>,
    /// The pass rate of each run of the candidate, over its declared requests.
    pub candidate: Vec<ComparedFigure>,
    /// Each prompt on both sides; `None` where only records were given, which name no prompts.
    #[serde(deserialize_with = "nullable")]
    pub pairs: Option<PromptPairs>,
    /// Share of the pairs that are right with the candidate minus share of those that are right with the
    /// baseline, in percentage points.
    #[serde(deserialize_with = "nullable")]
    pub difference_percent: Option<f64>,
    /// Chance of discordant pairs at least as uneven if the sides answered equally well (McNemar's exact
    /// test, two-sided).
    #[serde(deserialize_with = "nullable")]
    pub p_value: Option<f64>,
    /// Whether the sides differ by more than chance explains.
    pub differs: FindingVerdict,
    /// Interval of the difference, in percentage points, at the level that a pass is judged by.
    #[serde(deserialize_with = "nullable")]
    pub pass_interval: Option<Interval>,
    /// Interval of the difference, in percentage points, at the level that a fail is judged by.
    #[serde(deserialize_with = "nullable")]
    pub fail_interval: Option<Interval>,
    /// What the gate amounts to.
    pub verdict: GateVerdict,
    /// Why.
    pub reason: PublicText,
}

/// Prompts that both sides were sent. A prompt that several runs of a side were sent counts once, as
/// repetitions of a prompt are not independent: by one of the pairs of runs, which its digest draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PromptPairs {
    /// Right on both sides.
    pub both: u64,
    /// Right with the baseline alone.
    pub baseline_only: u64,
    /// Right with the candidate alone.
    pub candidate_only: u64,
    /// Right on neither side.
    pub neither: u64,
    /// Prompts that one side alone was sent: they are in no pair.
    pub unpaired: u64,
    /// Runs of each side that a prompt was sent by.
    pub runs: u64,
    /// Prompts that were right in some runs of a side and wrong in others.
    pub unsteady: u64,
}

impl PromptPairs {
    /// How many pairs there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        let Self { both, baseline_only, candidate_only, neither, .. } = *self;
        [baseline_only, candidate_only, neither].into_iter().fold(both, u64::saturating_add)
    }
}
