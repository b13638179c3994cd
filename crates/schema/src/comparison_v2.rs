//! Comparisons of version 2: several runs of each side, judged with the noise between runs.
//!
//! What was measured stands beside what follows from it, so that a reader can recompute every
//! interval and verdict from the document alone. Members are written in declaration order.

mod correctness;

use serde::{Deserialize, Serialize};

use crate::comparison::{OrderedMap, Turnover};
use crate::digest::Digest;
use crate::expectation::OutputPolicy;
use crate::gate::{GateStatistic, GateVerdict};
use crate::nullable::nullable;
use crate::record::{Direction, EvidenceMode, Interval, TimeBasis, TokenSource, Unit, WindowName};
use crate::text::{Identifier, PublicText};
use crate::timestamp::Timestamp;
use crate::vocabulary::closed_vocabulary;

pub use correctness::{CorrectnessComparison, PromptPairs};

closed_vocabulary! {
    /// The layout of a comparison with intervals.
    ComparisonSchemaV2 {
        /// Blocks, intervals and verdicts.
        V2 = "streamgauge-comparison/v2",
    }
}

closed_vocabulary! {
    /// How the runs of the two sides are held against each other.
    ComparisonMethod {
        /// The n-th run of the baseline and the n-th of the candidate were taken one straight after
        /// the other; each such block gives one ratio.
        Blocks = "blocks",
        /// The runs were not taken in blocks; the sides are compared as two samples (Welch).
        Unpaired = "unpaired",
    }
}

closed_vocabulary! {
    /// Where a whole interval lies against the limit on both sides.
    Equivalence {
        /// All of it is beyond the limit on one side: the builds differ by more than it.
        Outside = "outside",
        /// It reaches over the limit.
        Undecided = "undecided",
        /// All of it is within plus and minus the limit: for this limit the builds are the same.
        Within = "within",
    }
}

closed_vocabulary! {
    /// What is judged before speed. A candidate that fails more, or answers differently, is not
    /// faster.
    FindingName {
        /// Share of prompt tokens that came from a cache.
        CachedShare = "cached_share",
        /// Streams that ended without a finish reason.
        Endings = "endings",
        /// Requests that did not succeed.
        Failures = "failures",
        /// Answers that were cut by their length.
        FinishReasons = "finish_reasons",
        /// Completion tokens of a request.
        OutputLength = "output_length",
        /// Share of completion tokens that are reasoning.
        ReasoningShare = "reasoning_share",
        /// Answers that refuse.
        Refusals = "refusals",
    }
}

closed_vocabulary! {
    /// Whether the two sides differ in what is judged before speed.
    FindingVerdict {
        /// Not by more than chance explains.
        Alike = "alike",
        /// Significantly.
        Differs = "differs",
        /// The records or their number do not say.
        NotEvaluated = "not_evaluated",
    }
}

closed_vocabulary! {
    /// Why a comparison says less than it seems to.
    LimitationKind {
        /// A matching condition differs and was allowed to.
        AllowedDifference = "allowed_difference",
        /// The order within the blocks does not alternate, so that a drift adds to the difference.
        BlocksNotAlternating = "blocks_not_alternating",
        /// The sides were served by different machines.
        HardwareDiffers = "hardware_differs",
        /// Not all runs were measured by the same version of the instrument, or by the same clock.
        InstrumentDiffers = "instrument_differs",
        /// Something that is judged before speed could not be.
        NotJudgedFirst = "not_judged_first",
        /// Runs were under way at the same time.
        OverlappingRuns = "overlapping_runs",
        /// Prompts were sent by several runs of a side, and count once.
        PromptsRepeated = "prompts_repeated",
        /// Tests of counts take requests as independent.
        RequestsPooled = "requests_pooled",
        /// As far as is known, both sides are the same build.
        SameIdentity = "same_identity",
        /// A simulated server answered.
        Simulated = "simulated",
        /// Whoever compared said so.
        Stated = "stated",
        /// What was served is not known well enough to tell the sides apart.
        UnknownIdentity = "unknown_identity",
        /// The runs were not taken in blocks.
        Unpaired = "unpaired",
    }
}

/// A comparison of version 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparisonV2 {
    /// The layout.
    pub schema: ComparisonSchemaV2,
    /// How the runs are held against each other.
    pub method: ComparisonMethod,
    /// What the baseline served.
    pub baseline: Build,
    /// What the candidate served.
    pub candidate: Build,
    /// Chance of a wrong verdict at a true change of exactly the limit, both sides together.
    pub alpha: f64,
    /// Share of a run's requests that may fail before no verdict on speed is given.
    pub max_failure_ratio: f64,
    /// The looks that were planned, and which this is; `None` when the number of blocks was fixed.
    #[serde(deserialize_with = "nullable")]
    pub looks: Option<Looks>,
    /// The gates as they stood.
    pub gates: Vec<GateInForce>,
    /// The gate on right answers, whose limit is in percentage points; absent where nothing was graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correctness_gate: Option<GateInForce>,
    /// Gates that have an interval, over all cells.
    pub gates_judged: u64,
    /// Level of the intervals that a pass is judged by: `1 − alpha / looks`.
    pub pass_level: f64,
    /// Level of the intervals that a fail is judged by: `1 − alpha / looks / gates_judged`; `None`
    /// when no gate was judged.
    #[serde(deserialize_with = "nullable")]
    pub fail_level: Option<f64>,
    /// Findings with a p-value, over all cells. Sides differ in one when its p-value is at most
    /// `alpha / looks / findings_judged`.
    pub findings_judged: u64,
    /// Matching conditions that differ and were allowed to.
    pub allowed_differences: Vec<AllowedDifference>,
    /// The cells in the order in which they were first measured.
    pub cells: OrderedMap<CellComparisonV2>,
    /// The turnover runs of both sides; absent when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turnover: Option<TurnoverComparison>,
    /// What all gates amount to: the worst of them. The turnover counts where the candidate has such
    /// runs.
    pub verdict: GateVerdict,
    /// Why the comparison says less than it seems to.
    pub limitations: Vec<Limitation>,
}

/// What one side served, as its records say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The image.
    #[serde(deserialize_with = "nullable")]
    pub image: Option<PublicText>,
    /// The model's name.
    pub model: PublicText,
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
    /// The machines. They are no part of the build.
    #[serde(deserialize_with = "nullable")]
    pub hardware: Option<PublicText>,
}

/// The looks of a comparison that goes on until it is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Looks {
    /// Blocks after which somebody looks, planned before the first one; each more than the one
    /// before.
    pub planned_blocks: Vec<u64>,
    /// Which of them this is, from 1.
    pub look: u64,
}

/// A gate as it was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GateInForce {
    /// The metric's id in run records.
    pub metric: Identifier,
    /// Most that it may get worse, in percent; the limit itself is still within it.
    pub limit_percent: f64,
    /// Which way it gets better.
    pub direction: Direction,
    /// The statistic that it is.
    pub statistic: GateStatistic,
    /// Fewest samples that each run must have.
    pub min_samples: u64,
}

/// A matching condition that differs between the sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AllowedDifference {
    /// The cell.
    pub cell: Identifier,
    /// The condition.
    pub condition: Identifier,
    /// What the baseline says, cut where it is long.
    pub baseline: PublicText,
    /// What the candidate says, cut where it is long.
    pub candidate: PublicText,
}

/// One cell on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CellComparisonV2 {
    /// The baseline's runs. With blocks, the n-th belongs to the n-th of the candidate.
    pub baseline_runs: Vec<ComparedRun>,
    /// The candidate's runs.
    pub candidate_runs: Vec<ComparedRun>,
    /// What is judged before speed by counts of requests.
    pub counts: Vec<CountFinding>,
    /// What is judged before speed by one value a run.
    pub values: Vec<ValueFinding>,
    /// Whether the sides answer equally well; absent where nothing was graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correctness: Option<CorrectnessComparison>,
    /// Why no verdict on speed is given; `None` when there is one.
    #[serde(deserialize_with = "nullable")]
    pub speed_void: Option<PublicText>,
    /// The gated metrics by id.
    pub metrics: OrderedMap<MetricComparisonV2>,
}

/// One run of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedRun {
    /// The record's own id, which holds its digest.
    pub run_id: Identifier,
    /// Start of the run.
    pub started_at: Timestamp,
    /// End of the run.
    pub completed_at: Timestamp,
    /// What kind of evidence it is.
    pub evidence_mode: EvidenceMode,
    /// The version of the instrument.
    pub instrument: PublicText,
    /// Which clock reading an arrival is.
    pub time_basis: TimeBasis,
    /// Requests that the schedule held.
    pub offered: u64,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Whether the record says that its figures may pass a gate.
    pub performance_eligible: bool,
    /// The responses named a model, and not the one expected.
    pub another_model_answered: bool,
    /// Gated metrics that the instrument itself may have bent.
    pub client_limited: Vec<Identifier>,
}

/// Something that is judged before speed by counts of requests, all runs of a side together, with
/// Fisher's exact test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CountFinding {
    /// What it is.
    pub name: FindingName,
    /// The baseline's; `None` when its records do not say.
    #[serde(deserialize_with = "nullable")]
    pub baseline: Option<Tally>,
    /// The candidate's; `None` when its records do not say.
    #[serde(deserialize_with = "nullable")]
    pub candidate: Option<Tally>,
    /// Chance of a difference at least as rare if there were none.
    #[serde(deserialize_with = "nullable")]
    pub p_value: Option<f64>,
    /// Whether the sides differ.
    pub verdict: FindingVerdict,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Requests to which it applies.
    pub count: u64,
    /// Requests that were looked at.
    pub of: u64,
}

/// Something that is judged before speed by one value a run, with the same test as speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueFinding {
    /// What it is.
    pub name: FindingName,
    /// The value of each run of the baseline; `None` where its record does not say.
    pub baseline: Vec<Option<f64>>,
    /// The value of each run of the candidate; `None` where its record does not say.
    pub candidate: Vec<Option<f64>>,
    /// Mean over the candidate's runs minus mean over the baseline's.
    #[serde(deserialize_with = "nullable")]
    pub difference: Option<f64>,
    /// Chance of a difference at least as large if there were none.
    #[serde(deserialize_with = "nullable")]
    pub p_value: Option<f64>,
    /// Whether the sides differ.
    pub verdict: FindingVerdict,
}

/// A gated metric on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MetricComparisonV2 {
    /// Its unit.
    pub unit: Unit,
    /// Which way it gets better.
    pub direction: Direction,
    /// The statistic that it is.
    pub statistic: GateStatistic,
    /// What it is and what is in its denominator.
    pub definition: PublicText,
    /// The part of a run that it is taken over.
    pub window: WindowName,
    /// The requests that it is taken over.
    pub population: PublicText,
    /// Where its token counts come from; `None` when it needs none.
    #[serde(deserialize_with = "nullable")]
    pub token_source: Option<TokenSource>,
    /// Most that it may get worse, in percent.
    pub limit_percent: f64,
    /// The figure of each run of the baseline.
    pub baseline: Vec<ComparedFigure>,
    /// The figure of each run of the candidate.
    pub candidate: Vec<ComparedFigure>,
    /// Geometric mean of the baseline's figures.
    #[serde(deserialize_with = "nullable")]
    pub baseline_mean: Option<f64>,
    /// Geometric mean of the candidate's figures.
    #[serde(deserialize_with = "nullable")]
    pub candidate_mean: Option<f64>,
    /// How much larger the candidate's figure is, in percent: `(exp(d) − 1) · 100`, where `d` is the
    /// mean logarithm of candidate over baseline.
    #[serde(deserialize_with = "nullable")]
    pub delta_percent: Option<f64>,
    /// Standard deviation of what one block, or one pair of runs, says of `d`, as `(exp(s) − 1) · 100`.
    #[serde(deserialize_with = "nullable")]
    pub noise_percent: Option<f64>,
    /// Degrees of freedom that the noise is known with.
    #[serde(deserialize_with = "nullable")]
    pub degrees_of_freedom: Option<f64>,
    /// Interval of the delta, in percent, at the level that a pass is judged by.
    #[serde(deserialize_with = "nullable")]
    pub pass_interval: Option<Interval>,
    /// Interval of the delta, in percent, at the level that a fail is judged by.
    #[serde(deserialize_with = "nullable")]
    pub fail_interval: Option<Interval>,
    /// Where the interval of a pass lies against plus and minus the limit; `None` without one.
    #[serde(deserialize_with = "nullable")]
    pub equivalence: Option<Equivalence>,
    /// What the gate amounts to.
    pub verdict: GateVerdict,
    /// Why.
    pub reason: PublicText,
}

/// A metric of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedFigure {
    /// The figure; `None` when the run has none.
    #[serde(deserialize_with = "nullable")]
    pub value: Option<f64>,
    /// Values that entered.
    pub samples: u64,
}

/// Something that makes a comparison say less than it seems to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limitation {
    /// What kind of thing.
    pub kind: LimitationKind,
    /// What it means here.
    pub text: PublicText,
}

/// The turnover runs of both sides, and the gate on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnoverComparison {
    /// The baseline's runs, by their starts.
    pub baseline: Vec<ComparedTurnover>,
    /// The candidate's runs, by their starts.
    pub candidate: Vec<ComparedTurnover>,
    /// Requests of the baseline that had exactly the controlled output. Of runs that sent the same
    /// prompts only the first is counted, as the others say little of their own. `None` without a run.
    #[serde(deserialize_with = "nullable")]
    pub baseline_exact: Option<Tally>,
    /// The same of the candidate.
    #[serde(deserialize_with = "nullable")]
    pub candidate_exact: Option<Tally>,
    /// Chance of counts at least as far apart if the sides did not differ, by Fisher's exact test.
    #[serde(deserialize_with = "nullable")]
    pub p_value: Option<f64>,
    /// What the gate amounts to. It fails where a strict run of the candidate has a failed request, or
    /// where the candidate is exact less often than the baseline by more than chance explains.
    pub verdict: GateVerdict,
    /// Why.
    pub reason: PublicText,
}

/// One turnover run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedTurnover {
    /// The record's own id, which holds its digest.
    pub run_id: Identifier,
    /// Start of the run.
    pub started_at: Timestamp,
    /// Digest of its prompts as they were sent.
    pub prompts_sha256: Digest,
    /// What a wrong answer means for the run.
    pub policy: OutputPolicy,
    /// What became of its requests.
    pub outcome: Turnover,
}
