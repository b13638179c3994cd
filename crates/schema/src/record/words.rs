//! The words of run records.

use crate::vocabulary::{closed_vocabulary, open_vocabulary};

closed_vocabulary! {
    /// Whether a run came to its end.
    RunStatus {
        /// It was stopped.
        Aborted = "aborted",
        /// Every declared request has an outcome other than `not_run`.
        Completed = "completed",
    }
}

closed_vocabulary! {
    /// The unit of a metric.
    Unit {
        /// A plain number of things.
        Count = "count",
        /// Milliseconds.
        Milliseconds = "ms",
        /// A share, 0 to 1.
        Ratio = "ratio",
        /// Requests a second.
        RequestsPerSecond = "req/s",
        /// Seconds.
        Seconds = "s",
        /// Tokens.
        Tokens = "tok",
        /// Tokens a second.
        TokensPerSecond = "tok/s",
    }
}

impl Unit {
    /// The word with which the id of a metric in it ends, as in `ttft_p50_ms`.
    ///
    /// ```
    /// assert_eq!(streamgauge_schema::Unit::TokensPerSecond.id_suffix(), "tok_per_s");
    /// ```
    #[must_use]
    pub fn id_suffix(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Milliseconds => "ms",
            Self::Ratio => "ratio",
            Self::RequestsPerSecond => "per_s",
            Self::Seconds => "s",
            Self::Tokens => "tok",
            Self::TokensPerSecond => "tok_per_s",
        }
    }
}

closed_vocabulary! {
    /// Which way a metric gets better.
    Direction {
        /// More is better: rates.
        HigherIsBetter = "higher_is_better",
        /// Less is better: latencies.
        LowerIsBetter = "lower_is_better",
        /// Neither.
        Neutral = "neutral",
    }
}

closed_vocabulary! {
    /// The part of a run that a metric is taken over.
    WindowName {
        /// While the load was at its target.
        Steady = "steady",
        /// From the first start to the last end.
        Whole = "whole",
    }
}

closed_vocabulary! {
    /// Where a count of tokens comes from.
    TokenSource {
        /// The server's own usage.
        ServerUsage = "server_usage",
    }
}

closed_vocabulary! {
    /// Which clock reading an arrival is.
    TimeBasis {
        /// When the kernel had received the bytes, by its own stamps.
        Kernel = "kernel",
        /// The client's monotonic clock straight after the read returned.
        Read = "read",
    }
}

open_vocabulary! {
    /// What a run was for.
    Phase {
        /// Grading answers.
        Correctness = "correctness",
        /// Measuring speed.
        Performance = "performance",
        /// Replacing short requests under a constant load.
        Turnover = "turnover",
    }
}

open_vocabulary! {
    /// The part that the deployment plays.
    Role {
        /// It serves a model.
        Serving = "serving",
    }
}

open_vocabulary! {
    /// What one case spans.
    Boundary {
        /// One completion of one role.
        RoleCompletion = "role_completion",
    }
}

open_vocabulary! {
    /// What kind of evidence a record is.
    EvidenceMode {
        /// A real model answered.
        ActualInference = "actual_inference",
        /// Another program measured; what its file says was put into a record.
        Imported = "imported",
        /// Saved streams were read again.
        Replayed = "replayed",
        /// A simulated server answered.
        Simulated = "simulated",
    }
}

open_vocabulary! {
    /// State of the server's caches when the run began.
    CacheState {
        /// A freshly started engine.
        ColdEngine = "cold_engine",
        /// Not known.
        Unknown = "unknown",
        /// A used engine, prompts that share beginnings.
        WarmEngineSharedPrefixes = "warm_engine_shared_prefixes",
        /// A used engine, prompts that share no beginning.
        WarmEngineUniquePrefixes = "warm_engine_unique_prefixes",
    }
}

open_vocabulary! {
    /// What the stream intervals are taken between.
    IntervalBasis {
        /// Lines of newline-delimited JSON.
        NdjsonLines = "ndjson_lines",
        /// They were not taken.
        NotMeasured = "not_measured",
        /// Events of an event stream.
        SseChunks = "sse_chunks",
        /// Tokens, by the server's count in every event.
        TokenCounts = "token_counts",
    }
}

open_vocabulary! {
    /// How a server counts reasoning tokens.
    TokenAccounting {
        /// Completion tokens leave reasoning out.
        CompletionExcludesReasoning = "completion_excludes_reasoning",
        /// Completion tokens hold reasoning too.
        CompletionIncludesReasoning = "completion_includes_reasoning",
        /// Not known.
        Unknown = "unknown",
    }
}
