//! What a server's own metrics said while a run lasted: one JSON line a question, in
//! `server-metrics.jsonl`, which is private.
//!
//! Invariant: of an answer nothing but figures stands here; of its labels a line holds a digest, by which
//! one series is told from another. Of an answer that is none it holds why, as a failed request does.

use serde::{Deserialize, Serialize};

use crate::journal::Failure;
use crate::nullable::nullable;
use crate::vocabulary::closed_vocabulary;

/// A server was asked for its metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScrapeLine {
    /// When it was asked, since the run's start.
    pub asked_us: u64,
    /// When its answer was there, or was waited for no more.
    pub answered_us: u64,
    /// Why there is no answer; `None` where there is one.
    #[serde(deserialize_with = "nullable")]
    pub failure: Option<Failure>,
    /// What it said of the families that are read.
    pub samples: Vec<ServerSample>,
}

/// One sample of a server's metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServerSample {
    /// Its family.
    pub family: ServerFamily,
    /// Which of the family's series, as there is one for each engine: eight digits of the digest of its
    /// labels.
    pub series: String,
    /// What it says: from 0 to 2^53.
    pub value: f64,
}

closed_vocabulary! {
    /// A family of samples that is read, under the name by which the server exposes it.
    ServerFamily {
        /// llama.cpp until its cache was unified: share of the KV cache in use.
        LlamacppKvCacheUsage = "llamacpp:kv_cache_usage_ratio",
        /// llama.cpp: prompt tokens that were processed, those from a cache left out.
        LlamacppPromptTokens = "llamacpp:prompt_tokens_total",
        /// llama.cpp: requests that wait for a slot.
        LlamacppRequestsDeferred = "llamacpp:requests_deferred",
        /// llama.cpp: requests that have a slot.
        LlamacppRequestsProcessing = "llamacpp:requests_processing",
        /// llama.cpp: draft tokens that were accepted.
        LlamacppSpecAccepted = "llamacpp:spec_decode_num_accepted_tokens_total",
        /// llama.cpp: draft tokens.
        LlamacppSpecDraft = "llamacpp:spec_decode_num_draft_tokens_total",
        /// llama.cpp: tokens that were generated.
        LlamacppTokensPredicted = "llamacpp:tokens_predicted_total",
        /// SGLang: tokens that were generated.
        SglangGenerationTokens = "sglang:generation_tokens_total",
        /// SGLang: requests that were taken out of a batch for want of memory.
        SglangRetractedRequests = "sglang:num_retracted_requests_total",
        /// SGLang: prompt tokens.
        SglangPromptTokens = "sglang:prompt_tokens_total",
        /// SGLang: requests that wait.
        SglangQueueRequests = "sglang:num_queue_reqs",
        /// SGLang: requests in the running batch.
        SglangRunningRequests = "sglang:num_running_reqs",
        /// SGLang: tokens that a step of speculative decoding gave of late, on average.
        SglangSpecAcceptLength = "sglang:spec_accept_length",
        /// SGLang: share of the KV cache in use.
        SglangTokenUsage = "sglang:token_usage",
        /// vLLM: tokens that were generated.
        VllmGenerationTokens = "vllm:generation_tokens_total",
        /// vLLM before it had other devices: share of the KV cache in use.
        VllmGpuCacheUsage = "vllm:gpu_cache_usage_perc",
        /// vLLM: share of the KV cache in use, 1 for all of it.
        VllmKvCacheUsage = "vllm:kv_cache_usage_perc",
        /// vLLM: requests that were taken out of a batch for want of memory.
        VllmPreemptions = "vllm:num_preemptions_total",
        /// vLLM: prompt tokens.
        VllmPromptTokens = "vllm:prompt_tokens_total",
        /// vLLM: requests in execution.
        VllmRequestsRunning = "vllm:num_requests_running",
        /// vLLM: requests that wait.
        VllmRequestsWaiting = "vllm:num_requests_waiting",
        /// vLLM: draft tokens that were accepted.
        VllmSpecAccepted = "vllm:spec_decode_num_accepted_tokens_total",
        /// vLLM: draft tokens.
        VllmSpecDraft = "vllm:spec_decode_num_draft_tokens_total",
    }
}

/// What a family of samples tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerQuantity {
    /// Tokens that a step of speculative decoding gave, on average: a state.
    AcceptedLength,
    /// Draft tokens that were accepted: a counter.
    DraftAccepted,
    /// Draft tokens: a counter.
    DraftTokens,
    /// Share of the KV cache in use: a state.
    KvCacheUsage,
    /// Tokens that were generated: a counter.
    OutputTokens,
    /// Requests that were taken out of a batch for want of memory: a counter.
    Preemptions,
    /// Prompt tokens: a counter.
    PromptTokens,
    /// Requests in execution: a state.
    RequestsRunning,
    /// Requests that wait: a state.
    RequestsWaiting,
}

impl ServerFamily {
    /// The engine under whose name it stands.
    ///
    /// ```
    /// use streamgauge_schema::ServerFamily;
    /// assert_eq!(ServerFamily::SglangTokenUsage.engine(), "sglang");
    /// ```
    #[must_use]
    pub fn engine(self) -> &'static str {
        let name = self.as_str();
        name.split_once(':').map_or(name, |(engine, _)| engine)
    }

    /// What it tells of.
    ///
    /// ```
    /// use streamgauge_schema::{ServerFamily, ServerQuantity};
    /// let family: ServerFamily = "sglang:num_queue_reqs".parse()?;
    /// assert_eq!(family.quantity(), ServerQuantity::RequestsWaiting);
    /// # Ok::<(), streamgauge_schema::UnknownWord>(())
    /// ```
    #[must_use]
    pub fn quantity(self) -> ServerQuantity {
        match self {
            Self::SglangSpecAcceptLength => ServerQuantity::AcceptedLength,
            Self::LlamacppSpecAccepted | Self::VllmSpecAccepted => ServerQuantity::DraftAccepted,
            Self::LlamacppSpecDraft | Self::VllmSpecDraft => ServerQuantity::DraftTokens,
            Self::LlamacppKvCacheUsage
            | Self::SglangTokenUsage
            | Self::VllmGpuCacheUsage
            | Self::VllmKvCacheUsage => ServerQuantity::KvCacheUsage,
            Self::LlamacppTokensPredicted
            | Self::SglangGenerationTokens
            | Self::VllmGenerationTokens => ServerQuantity::OutputTokens,
            Self::SglangRetractedRequests | Self::VllmPreemptions => ServerQuantity::Preemptions,
            Self::LlamacppPromptTokens | Self::SglangPromptTokens | Self::VllmPromptTokens => {
                ServerQuantity::PromptTokens
            }
            Self::LlamacppRequestsProcessing
            | Self::SglangRunningRequests
            | Self::VllmRequestsRunning => ServerQuantity::RequestsRunning,
            Self::LlamacppRequestsDeferred
            | Self::SglangQueueRequests
            | Self::VllmRequestsWaiting => ServerQuantity::RequestsWaiting,
        }
    }
}
