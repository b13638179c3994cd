//! The metrics of GuideLLM, and what each stands for.

use streamgauge_schema::Direction::{HigherIsBetter, LowerIsBetter, Neutral};
use streamgauge_schema::Unit;

use crate::found::{QuantitySpec, TotalSpec};
use crate::stat::Stat;

/// A percentile by the tool's own estimator.
pub(super) fn estimator(word: &str) -> Stat {
    Stat::Type1(word.trim_start_matches('p').to_owned())
}

/// Metrics that each request has.
pub(super) const QUANTITIES: [QuantitySpec; 7] = [
    QuantitySpec {
        key: "time_to_first_token_ms",
        id: "ttft",
        name: "TTFT",
        meaning: "the time from the start to the first token, reasoning included",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "time_to_first_output_token_ms",
        id: "ttfo",
        name: "time to first output token",
        meaning: "the time from the start to the first token that is no reasoning",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "request_latency",
        id: "request_latency",
        name: "request latency",
        meaning: "the time from the start to the end of the request, by the tool's clock",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "inter_token_latency_ms",
        id: "inter_token_latency",
        name: "inter-token latency",
        meaning: "(last token - first token) / (output tokens - 1), one value a request; a TPOT, tokens \
                  by the server's usage, else the number of iterations",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "time_per_output_token_ms",
        id: "time_per_output_token",
        name: "time per output token",
        meaning: "(last token - start) / output tokens, the first one's time included; tokens by the \
                  server's usage, else the number of iterations",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "prompt_token_count",
        id: "prompt_token_count",
        name: "prompt tokens",
        meaning: "the prompt's tokens, by the server's usage, else by the tool",
        unit: Unit::Tokens,
        direction: Neutral,
    },
    QuantitySpec {
        key: "output_token_count",
        id: "output_token_count",
        name: "output tokens",
        meaning: "the answer's tokens, by the server's usage, else the number of iterations",
        unit: Unit::Tokens,
        direction: Neutral,
    },
];

/// Figures of a benchmark as a whole.
pub(super) const TOTALS: [TotalSpec; 4] = [
    TotalSpec {
        key: "duration",
        id: "duration_s",
        name: "benchmark duration",
        definition: "From the end of the warm-up to the beginning of the cool-down, where there are any.",
        unit: Unit::Seconds,
        direction: Neutral,
    },
    TotalSpec {
        key: "requests_per_second",
        id: "requests_per_second_mean_per_s",
        name: "request throughput",
        definition: "Mean over the benchmark's time of the rate at which successful requests end.",
        unit: Unit::RequestsPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "output_tokens_per_second",
        id: "output_tokens_per_second_mean_tok_per_s",
        name: "output token throughput",
        definition: "Mean over the benchmark's time of the rate of output tokens of successful requests; \
                     between first and last token they are taken to come evenly.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "request_concurrency",
        id: "request_concurrency_mean_count",
        name: "mean concurrency",
        definition: "Mean over the benchmark's time of the number of successful requests under way.",
        unit: Unit::Count,
        direction: Neutral,
    },
];
