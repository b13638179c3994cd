//! The journal: one JSON line for the run's start, each request as it ends, and the run's end.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::nullable::nullable;
use crate::observation::Observation;
use crate::outcome::{Completion, FailureClass};
use crate::record::Condition;
use crate::shard::{JournalBegun, Shard};
use crate::timestamp::Timestamp;
use crate::vocabulary::closed_vocabulary;

/// One line of `observations.jsonl`, tagged by what it is: `{"header": …}`, `{"request": …}`, `{"trailer": …}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum JournalLine {
    /// The first line.
    Header(JournalHeader),
    /// A request that has ended.
    Request(Box<RequestLine>),
    /// A run that had been cut off or stopped was taken up again.
    Resumed(JournalResumed),
    /// The measured part begins.
    Begun(JournalBegun),
    /// The last line of a run that was not cut off.
    Trailer(JournalTrailer),
}

/// How a journal begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JournalHeader {
    /// Version of this layout: 1.
    pub journal_version: u32,
    /// Digest of the plan that is carried out.
    pub plan_sha256: Digest,
    /// Start of the run, the zero of every `started_us`.
    pub started_at: Timestamp,
    /// The same instant on the monotonic clock of the machine that measured (CLOCK_MONOTONIC), in
    /// nanoseconds; `None` where it has none. With it, stamps of another process on that machine can
    /// be held against these.
    #[serde(deserialize_with = "nullable")]
    pub started_monotonic_ns: Option<u64>,
    /// The models that the server listed before the run, sorted. Asked where the dialect's responses
    /// name none; `None` where nobody asked, or no list came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_models: Option<Vec<String>>,
    /// With what and where it is measured, and what the server says of itself. The record publishes
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Which part of the plan is carried out; absent when all of it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// Where a run was taken up again. What was missing then follows; a trailer before it counts no more.
///
/// Lines before it whose requests were cancelled count no more either: these are asked again, as are
/// those that were under way and left no line. The warm-up is done again, so that its places occur once
/// more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JournalResumed {
    /// When it was taken up.
    pub resumed_at: Timestamp,
    /// The same since the run's start, by the wall clock that labels it, but never before the end of a
    /// line above. No stamp of a line below is before it.
    pub at_us: u64,
    /// Request lines above that count no more.
    pub dropped: u64,
    /// The models that the server listed then, as in the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_models: Option<Vec<String>>,
    /// With what and where it was measured from then on, as in the header.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// An attempt that failed and was made again by policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RetriedAttempt {
    /// Why it failed.
    pub class: FailureClass,
    /// The status of its response; `None` when there was none.
    #[serde(deserialize_with = "nullable")]
    pub http_status: Option<u16>,
    /// Its start, since the run's start.
    pub started_us: u64,
    /// From its start to its end.
    pub elapsed_us: u64,
    /// From its end to the beginning of the next attempt.
    pub paused_us: u64,
}

/// One request that has ended. Exactly one line stands for each request that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestLine {
    /// Warm-up or measured.
    pub stage: Stage,
    /// Place in its stage, from 0.
    pub index: u64,
    /// Digest of the prompt exactly as sent.
    pub prompt_sha256: Digest,
    /// The dataset's own name for it.
    #[serde(deserialize_with = "nullable")]
    pub dataset_id: Option<String>,
    /// What became of it.
    pub completion: Completion,
    /// Why it did not succeed.
    #[serde(deserialize_with = "nullable")]
    pub failure: Option<Failure>,

    /// When the load schedule wanted it, since the run's start; open loop only.
    #[serde(deserialize_with = "nullable")]
    pub scheduled_us: Option<u64>,
    /// How long after that it had to wait for a place below the limit of requests under way; `None`
    /// without such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_us: Option<u64>,
    /// Immediately before the write of its first byte, since the run's start. Of a request that
    /// was sent twice, the first attempt's.
    pub started_us: u64,
    /// Start of the last attempt, since the run's start.
    pub last_attempt_started_us: u64,
    /// Attempts made: 1; one more when a reused connection was found closed, and one more for each
    /// in `retried`.
    pub attempts: u32,
    /// The attempts that failed and were followed by another one by the plan's `retries`, in their order;
    /// absent when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<RetriedAttempt>,
    /// From `started` to the arrival of the response's head.
    #[serde(deserialize_with = "nullable")]
    pub headers_us: Option<u64>,
    /// From `started` to the end.
    pub elapsed_us: u64,

    /// What setting up the connection took, before `started`; `None` on a reused connection.
    #[serde(deserialize_with = "nullable")]
    pub connect_us: Option<u64>,
    /// Connections found closed before this request was handed to them.
    pub stale_connections: u64,
    /// For each read with a usable kernel stamp: read time minus the kernel's receive time.
    /// `None` when the connection carried no stamps.
    #[serde(deserialize_with = "nullable")]
    pub observer_lag_us: Option<Vec<u64>>,
    /// Kernel stamps that were not used: a lag below 0 or above one second.
    pub unusable_stamps: u64,
    /// For each output event: the lag of the read that completed it. There when every read of an
    /// output event had a usable stamp: only then are all arrivals known by the kernel's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_lags_us: Option<Vec<u64>>,
    /// The lag of the read that ended the response; there together with `output_lags_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_lag_us: Option<u64>,

    /// What the response showed; `None` when no head of a response arrived.
    #[serde(deserialize_with = "nullable")]
    pub observation: Option<Observation>,
}

impl RequestLine {
    /// Moves its stamps since the run's start to a later time, as where they are counted since the start of
    /// another run.
    pub fn move_on(&mut self, by_us: u64) {
        let retried = self.retried.iter_mut().map(|retried| &mut retried.started_us);
        let stamps = [&mut self.started_us, &mut self.last_attempt_started_us];
        for stamp_us in stamps.into_iter().chain(self.scheduled_us.as_mut()).chain(retried) {
            *stamp_us = stamp_us.saturating_add(by_us);
        }
    }
}

/// Why a request did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The class.
    pub class: FailureClass,
    /// What happened, bounded and without control characters; private.
    pub message: String,
}

/// How a journal ends when the run was not cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JournalTrailer {
    /// Why the run ended.
    pub reason: EndReason,
    /// End of the run.
    pub completed_at: Timestamp,
    /// Request lines of the journal.
    pub lines: u64,
    /// The models that the server listed after the run, as in the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_models: Option<Vec<String>>,
}

closed_vocabulary! {
    /// Why a run ended.
    EndReason {
        /// Too many requests had failed.
        ErrorRate = "error_rate",
        /// Every declared request has ended.
        Finished = "finished",
        /// A signal stopped it.
        Interrupted = "interrupted",
    }
}

closed_vocabulary! {
    /// The stage of a run that a request belongs to.
    Stage {
        /// It enters the figures.
        Measured = "measured",
        /// It came before and is left out.
        Warmup = "warmup",
    }
}
