//! What came of asking the same several times: which prompts get the same answer again, and where
//! two builds part. It holds digests and places, and no text of an answer.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::nullable::nullable;
use crate::text::Identifier;
use crate::vocabulary::closed_vocabulary;

closed_vocabulary! {
    /// The layout of a determinism report.
    DeterminismSchema {
        /// One run by itself, or a candidate's beside a baseline's.
        V1 = "streamgauge-determinism/v1",
    }
}

closed_vocabulary! {
    /// What the repetitions of one prompt amount to.
    Stability {
        /// Some repetition was not answered, and all that were answered agree.
        Incomplete = "incomplete",
        /// Every repetition was answered, and all agree.
        Stable = "stable",
        /// Two repetitions differ.
        Unstable = "unstable",
    }
}

closed_vocabulary! {
    /// What a prompt says of two builds.
    PromptVerdict {
        /// Stable on both, with different answers.
        Differs = "differs",
        /// Stable on the baseline; the candidate was not asked it, or did not always answer.
        Missing = "missing",
        /// Not stable on the baseline: whatever the candidate says means nothing.
        NotComparable = "not_comparable",
        /// Stable on both, with one answer.
        Same = "same",
        /// Stable on the baseline, and not on the candidate.
        UnstableOnCandidate = "unstable_on_candidate",
    }
}

closed_vocabulary! {
    /// The parts of an answer, which are held against each other in this order: reasoning, content,
    /// finish reasons.
    AnswerPart {
        /// The visible answer.
        Content = "content",
        /// Why it ended.
        FinishReasons = "finish_reasons",
        /// What was reasoned before it.
        Reasoning = "reasoning",
    }
}

/// Which prompts are answered the same each time, and where two builds part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Determinism {
    /// The layout.
    pub schema: DeterminismSchema,
    /// The run that the other is held against.
    pub baseline: RepeatedRun,
    /// The run that is held against it; `None` where one run stands by itself.
    #[serde(deserialize_with = "nullable")]
    pub candidate: Option<RepeatedRun>,
    /// What comes of the two; `None` without a candidate.
    #[serde(deserialize_with = "nullable")]
    pub compared: Option<ComparedPrompts>,
    /// Each prompt of either run, in the order of their digests.
    pub prompts: Vec<RepeatedPrompt>,
}

/// A run that asked each of its prompts several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RepeatedRun {
    /// The run's record.
    pub run_id: Identifier,
    /// Its cell: answers can depend on what a server has beside them in a batch.
    pub cell: Identifier,
    /// Sampling temperature; `None` where the server's own was left.
    #[serde(deserialize_with = "nullable")]
    pub temperature: Option<f64>,
    /// How often each prompt was to be asked.
    pub repetitions: u64,
    /// Different prompts.
    pub prompts: u64,
    /// Prompts of which every repetition was answered, and the same.
    pub stable: u64,
    /// Prompts of which two repetitions differ.
    pub unstable: u64,
    /// Prompts of which some repetition was not answered, and the others agree.
    pub incomplete: u64,
}

/// What a candidate's answers amount to on the prompts that are stable on the baseline. The four
/// counts add up to those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedPrompts {
    /// Stable on both, with one answer.
    pub same: u64,
    /// Stable on both, with different answers.
    pub differing: u64,
    /// Not stable on the candidate.
    pub unstable_on_candidate: u64,
    /// Not asked of the candidate, or not always answered by it.
    pub missing: u64,
}

/// One prompt, asked several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RepeatedPrompt {
    /// Digest of the prompt exactly as sent.
    pub prompt_sha256: Digest,
    /// The baseline's answers; `None` where it was not asked.
    #[serde(deserialize_with = "nullable")]
    pub baseline: Option<RepeatedAnswer>,
    /// The candidate's answers; `None` where it was not asked.
    #[serde(deserialize_with = "nullable")]
    pub candidate: Option<RepeatedAnswer>,
    /// What the two amount to; `None` without a candidate's run.
    #[serde(deserialize_with = "nullable")]
    pub verdict: Option<PromptVerdict>,
    /// Where the two answers part; there exactly when the verdict is that they differ.
    #[serde(deserialize_with = "nullable")]
    pub divergence: Option<AnswerPlace>,
}

/// The answers of one build to one prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RepeatedAnswer {
    /// What they amount to.
    pub state: Stability,
    /// Repetitions that were answered: requests that succeeded.
    pub answered: u64,
    /// Different answers among them.
    pub different: u64,
    /// Digest of the answer, where there is exactly one: of its reasoning, content and finish
    /// reasons, as a JSON object of these members.
    #[serde(deserialize_with = "nullable")]
    pub answer_sha256: Option<Digest>,
    /// Where the first two answers part that differ; there exactly when some differ.
    #[serde(deserialize_with = "nullable")]
    pub first_difference: Option<AnswerPlace>,
}

/// A place in an answer: where another one parts from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerPlace {
    /// The part of the answer.
    pub part: AnswerPart,
    /// Characters (Unicode scalar values) of that part that both begin with.
    pub character: u64,
    /// The event, from 0 among those with output, that brought the first character on which they
    /// differ, in the answer that the other was held against; behind the end of that part, the event
    /// after the last one that brought some of it. `None` where that is not known.
    #[serde(deserialize_with = "nullable")]
    pub output_event: Option<u64>,
    /// The repetition, from 0, in which the other answer was given.
    pub repetition: u64,
}
