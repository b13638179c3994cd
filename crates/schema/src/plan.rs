//! The resolved plan of a run: everything that was asked, without secrets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::json::Json;
use crate::nullable::nullable;
use crate::record::{CacheState, Condition, Deployment, EvidenceMode, TokenAccounting};
use crate::stream::Dialect;
use crate::text::{Identifier, PublicText};
use crate::vocabulary::closed_vocabulary;

/// The plan of one run of one cell (`plan.json`). It is private: it names what was contacted.
///
/// Invariant: a record is a function of plan, journal and grades, so whatever a record says of what
/// was asked stands here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this layout: 1.
    pub plan_version: u32,
    /// Name of the run; run id and directory begin with it.
    pub name: Identifier,
    /// Version of the instrument that made the plan.
    pub instrument_version: String,
    /// Where the requests go.
    pub target: Target,
    /// What each request asks for.
    pub request: RequestSettings,
    /// What the prompts are.
    pub workload: Workload,
    /// How the requests are sent.
    pub load: Load,
    /// Time limits.
    pub limits: Limits,
    /// Share of requests that may fail before the figures stop being eligible, 0 to 1.
    pub max_failure_ratio: f64,
    /// What measures, and how.
    pub instrument: Instrumentation,
    /// What is being measured.
    pub deployment: Deployment,
    /// The image that was served, as the operator names it.
    #[serde(deserialize_with = "nullable")]
    pub image: Option<PublicText>,
    /// Whether a real model answers.
    pub evidence_mode: EvidenceMode,
    /// State of the server's caches, as the operator declares it.
    pub cache_state: CacheState,
    /// How the server counts reasoning tokens, as the operator declares it.
    pub token_accounting: TokenAccounting,
    /// Further conditions that the operator declares.
    pub conditions: Vec<Condition>,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Scheme, host, port and path prefix, without user or query.
    pub base_url: String,
    /// The API spoken there.
    pub dialect: Dialect,
    /// Path of the endpoint, added to `base_url`.
    pub endpoint_path: String,
    /// The model asked for.
    pub model: String,
    /// The one model that may answer.
    pub expect_model: String,
    /// Certificate authorities from a file instead of the platform's.
    pub private_ca: bool,
}

/// What each request asks for besides its prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestSettings {
    /// Tokens to stop after, where a dataset line does not say its own.
    pub max_tokens: u64,
    /// Go on after an end token, so that answers have `max_tokens`.
    pub ignore_eos: bool,
    /// Sampling temperature.
    #[serde(deserialize_with = "nullable")]
    pub temperature: Option<f64>,
    /// Sampling seed.
    #[serde(deserialize_with = "nullable")]
    pub seed: Option<u64>,
    /// Names of the extra headers; their values are secrets and stand nowhere.
    pub header_names: Vec<String>,
    /// Members added to every request body.
    pub extra_body: BTreeMap<String, Json>,
}

/// What the prompts are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Where they come from.
    pub source: PromptSource,
    /// Tokens that a prompt is meant to have; `None` when a dataset decides.
    #[serde(deserialize_with = "nullable")]
    pub target_input_tokens: Option<u64>,
    /// Name and version of the suite.
    pub suite_version: Identifier,
    /// Digest of `{dataset, dataset_version, prompts}`: name, version and the prompts' digests.
    pub suite_sha256: Digest,
    /// Digest of the dataset's file, or of the synthetic prompts' recipe.
    pub dataset_sha256: Digest,
    /// Measured requests whose prompt occurs more than once.
    pub repeated_prompts: u64,
}

/// Where prompts come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum PromptSource {
    /// A file of one JSON object a line.
    Dataset {
        /// The file as it was named.
        path: String,
        /// Lines in it that hold a request.
        records: u64,
        /// Use the lines again from the first when there are more requests than lines.
        repeat: bool,
        /// Put a line of its own before each prompt, so that no two are equal.
        nonce: bool,
    },
    /// Unique prompts of seeded words.
    Synthetic {
        /// Words a prompt.
        words: u64,
        /// Seed of the words.
        seed: u64,
    },
}

/// How requests are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Name of the cell, by which runs are matched.
    pub cell: Identifier,
    /// Its shape.
    pub shape: LoadShape,
    /// Measured requests.
    pub requests: u64,
    /// Requests sent before the measurement and left out of it.
    pub warmup: u64,
}

impl Load {
    /// Most requests of a stage: their digests and outcomes are held in memory.
    pub const MAX_REQUESTS: u64 = 10_000_000;
}

/// The shape of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum LoadShape {
    /// A fixed number of clients, each of which sends its next request when the last has ended.
    ClosedLoop {
        /// How many clients.
        concurrency: u64,
    },
}

impl LoadShape {
    /// The word for the shape in a record.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ClosedLoop { .. } => "closed_loop",
        }
    }

    /// The most requests that this shape has under way at once.
    #[must_use]
    pub fn max_inflight(&self) -> u64 {
        match self {
            Self::ClosedLoop { concurrency } => *concurrency,
        }
    }
}

/// Time limits of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// To make a connection, TLS included.
    pub connect_timeout_ms: u64,
    /// Between two arrivals of bytes, and before the first.
    pub idle_timeout_ms: u64,
    /// From `started` to the end.
    pub timeout_ms: u64,
}

/// What measures, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Instrumentation {
    /// Which connections carry the kernel's receive stamps.
    pub kernel_stamps: KernelStamps,
    /// Send a request once more when a reused connection turns out closed before any answer.
    pub resend: bool,
}

closed_vocabulary! {
    /// Which connections carry the kernel's receive stamps.
    KernelStamps {
        /// Every connection.
        All = "all",
        /// None.
        Off = "off",
        /// Every eighth, at least eight.
        Sampled = "sampled",
    }
}
