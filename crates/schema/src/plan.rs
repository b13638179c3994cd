//! The resolved plan of a run: everything that was asked, without secrets.

use std::collections::BTreeMap;
use std::ops::Not;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::expectation::OutputPolicy;
use crate::grade::Grading;
use crate::json::Json;
use crate::load::Load;
use crate::nullable::nullable;
use crate::record::{
    CacheState, Calibration, Condition, Deployment, EvidenceMode, TimeBasis, TokenAccounting,
};
use crate::replicas::{Replica, ReplicaTurns};
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
    /// What a request must keep to count as good; empty when nothing was asked of it.
    pub goals: Vec<Goal>,
    /// What grades the answers; absent when nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grading: Option<Grading>,
    /// When to stop waiting.
    pub limits: Limits,
    /// Share of requests that may fail before the figures stop being eligible, 0 to 1.
    pub max_failure_ratio: f64,
    /// When a request that failed is sent again; absent when never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
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
    /// Scheme, host, port and path prefix, without user or query. Of several, the first.
    pub base_url: String,
    /// Where requests go, where they go to several addresses; absent when to `base_url` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<Replica>,
    /// The API spoken there.
    pub dialect: Dialect,
    /// Path of the endpoint, added to `base_url`. Of its query the names stand here alone, as a value
    /// may be a key.
    pub endpoint_path: String,
    /// The model asked for.
    pub model: String,
    /// The one model that may answer.
    pub expect_model: String,
    /// Certificate authorities from a file instead of the platform's.
    pub private_ca: bool,
    /// How the server is reached, where it is not straight and with its certificate verified.
    #[serde(default, skip_serializing_if = "Route::is_plain")]
    pub route: Route,
}

impl Target {
    /// Every address that requests go to, in the order of the replicas' names; at least one.
    #[must_use]
    pub fn base_urls(&self) -> Vec<&str> {
        match self.replicas.as_slice() {
            [] => vec![&self.base_url],
            several => several.iter().map(|replica| replica.base_url.as_str()).collect(),
        }
    }

    /// Which of them a request goes to; `None` where their weights make no round.
    #[must_use]
    pub fn turns(&self) -> Option<ReplicaTurns> {
        let weights: Vec<u64> = self.replicas.iter().map(|replica| replica.weight).collect();
        ReplicaTurns::new(if weights.is_empty() { &[1] } else { &weights })
    }
}

/// How a server is reached. What it holds is absent where it is not so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// With a certificate of the client's own.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub client_certificate: bool,
    /// Address of the HTTP proxy that it goes through, without user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// The server's certificate is not verified.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub unverified: bool,
}

impl Route {
    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
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
    /// Digest of `{dataset, dataset_version, prompts}`: name, version and the prompts' digests,
    /// those of prompts without their nonces. Above 100,000 requests only as many prompts enter,
    /// and `requests` stands beside them.
    pub suite_sha256: Digest,
    /// Digest of the dataset's file, or of the synthetic prompts' recipe.
    pub dataset_sha256: Digest,
    /// Measured requests whose prompt occurs more than once.
    pub repeated_prompts: u64,
    /// How often each prompt is asked, in rounds that ask every prompt once; absent when once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u64>,
    /// How the length of synthetic prompts was chosen; `None` when a dataset decides.
    #[serde(deserialize_with = "nullable")]
    pub length_basis: Option<LengthBasis>,
}

/// How many words a synthetic prompt gets for the tokens that it is meant to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum LengthBasis {
    /// Four tokens for three words, as common tokenizers have it for English.
    Assumed {},
    /// A line through what the server itself counted for some prompts.
    Calibrated {
        /// The prompts that were counted.
        probes: Vec<LengthProbe>,
    },
    /// A tokenizer's own file counted the words.
    Tokenizer {
        /// Digest of the file.
        sha256: Digest,
    },
}

/// One prompt whose tokens the server counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LengthProbe {
    /// Its words.
    pub words: u64,
    /// What the server reported as `prompt_tokens`.
    pub prompt_tokens: u64,
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
        /// Seed of a line of its own before each prompt, so that no two are equal, not even in runs
        /// of different seeds; `None` adds no line.
        #[serde(deserialize_with = "nullable")]
        nonce: Option<u64>,
    },
    /// Prompts of seeded words.
    Synthetic {
        /// Words a prompt, a shared prefix included.
        words: u64,
        /// Seed of the words.
        seed: u64,
        /// Beginnings that prompts have in common.
        #[serde(deserialize_with = "nullable")]
        prefix: Option<SharedPrefix>,
        /// Seed of a line of its own before each prompt, or before each shared prefix, so that a
        /// server's cache knows nothing of another run's; `None` adds no line.
        #[serde(deserialize_with = "nullable")]
        nonce: Option<u64>,
    },
    /// Short prompts, each of which asks for a marker of its own and a word, again and again. A run
    /// of them is a turnover run.
    Turnover {
        /// The word.
        word: String,
        /// How often each answer has to hold it.
        count: u64,
        /// What a wrong answer means for the run.
        policy: OutputPolicy,
        /// Seed of the markers.
        seed: u64,
    },
}

/// Beginnings that prompts have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SharedPrefix {
    /// Words of each.
    pub words: u64,
    /// How many different ones there are; request after request takes the next.
    pub count: u64,
}

/// When to stop waiting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// To make a connection, TLS included.
    pub connect_timeout_ms: u64,
    /// Between two arrivals of bytes, and before the first.
    pub idle_timeout_ms: u64,
    /// From `started` to the end.
    pub timeout_ms: u64,
    /// How long requests under way may go on after the load's duration has passed.
    pub grace_ms: u64,
    /// Share of ended measured requests that may fail, 0 to 1, before the run is stopped; `None`
    /// never stops it.
    #[serde(deserialize_with = "nullable")]
    pub max_error_ratio: Option<f64>,
}

/// When a request is sent again that found no connection, or was refused by status 429 or 503 with a
/// `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retries {
    /// Attempts after the first, at most.
    pub most: u64,
    /// The longest pause before one; a request for which the server asks a longer one is not sent again.
    pub longest_pause_ms: u64,
}

/// What a request must keep to count as good. A request that lacks the quantity misses the goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// What is limited.
    pub quantity: GoalQuantity,
    /// The most that it may be, in milliseconds.
    pub limit_ms: f64,
}

closed_vocabulary! {
    /// A quantity of a single request that can have a goal.
    GoalQuantity {
        /// From `started` to the end.
        E2e = "e2e",
        /// Time per output token after the first.
        Tpot = "tpot",
        /// Time to the first content.
        Ttfc = "ttfc",
        /// Time to the first output.
        Ttft = "ttft",
    }
}

/// What measures, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Instrumentation {
    /// Which connections carry the kernel's receive stamps.
    pub kernel_stamps: KernelStamps,
    /// Which clock reading an arrival is in the record.
    pub time_basis: TimeBasis,
    /// Keep the arrival of every output event; if not, only count, least, greatest and sum of the
    /// intervals of each response are kept.
    pub keep_arrivals: bool,
    /// Threads that send and receive, each with connections of its own.
    pub workers: u64,
    /// Send a request once more when a reused connection turns out closed before any answer.
    pub resend: bool,
    /// What this client's own error was found to be at this load, on this machine.
    #[serde(deserialize_with = "nullable")]
    pub calibration: Option<Calibration>,
    /// Path below `base_url` at which the server is asked for its own metrics while the measured requests
    /// are under way; absent when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_metrics: Option<String>,
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
