//! The flat keys of SGLang's result lines, and what each stands for.

use streamgauge_schema::Direction::{HigherIsBetter, LowerIsBetter, Neutral};
use streamgauge_schema::Unit;

use crate::found::{QuantitySpec, TotalSpec};

/// The latencies of a result line, by the word in its keys.
pub(super) const QUANTITIES: [QuantitySpec; 4] = [
    QuantitySpec {
        key: "ttft",
        id: "ttft",
        name: "TTFT",
        meaning: "the time from the start to the first event with content; reasoning may not count",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "tpot",
        id: "tpot",
        name: "TPOT",
        meaning: "(latency - TTFT) / (output tokens - 1) of answers of two tokens or more; tokens by the \
                  server, else the number asked for",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "itl",
        id: "itl",
        name: "ITL",
        meaning: "the times between consecutive events with content, all answers pooled; of the native \
                  backend divided by an event's tokens",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "e2e_latency",
        id: "e2e_latency",
        name: "E2E latency",
        meaning: "the time from the start to the last line of the stream",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
];

/// The figures of a run as a whole.
pub(super) const TOTALS: [TotalSpec; 9] = [
    TotalSpec {
        key: "duration",
        id: "duration_s",
        name: "benchmark duration",
        definition: "From before the first request is made until the last has ended, by the tool's \
                     clock.",
        unit: Unit::Seconds,
        direction: Neutral,
    },
    TotalSpec {
        key: "request_throughput",
        id: "request_throughput_per_s",
        name: "request throughput",
        definition: "Successful requests divided by the benchmark duration.",
        unit: Unit::RequestsPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "input_throughput",
        id: "input_throughput_tok_per_s",
        name: "input token throughput",
        definition: "Prompt tokens of successful requests, by the tool's tokenizer, divided by the \
                     benchmark duration.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "output_throughput",
        id: "output_throughput_tok_per_s",
        name: "output token throughput",
        definition: "Output tokens of successful requests divided by the benchmark duration; tokens by \
                     the server, else the number asked for.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "total_throughput",
        id: "total_throughput_tok_per_s",
        name: "total token throughput",
        definition: "Prompt and output tokens of successful requests divided by the benchmark duration.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "total_input_tokens",
        id: "total_input_tokens_tok",
        name: "prompt tokens",
        definition: "Prompt tokens of successful requests together, by the tool's tokenizer.",
        unit: Unit::Tokens,
        direction: Neutral,
    },
    TotalSpec {
        key: "total_output_tokens",
        id: "total_output_tokens_tok",
        name: "output tokens",
        definition: "Output tokens of successful requests together, by the server, else the number \
                     asked for.",
        unit: Unit::Tokens,
        direction: Neutral,
    },
    TotalSpec {
        key: "concurrency",
        id: "concurrency_count",
        name: "mean concurrency",
        definition: "Latencies of successful requests together, divided by the benchmark duration.",
        unit: Unit::Count,
        direction: Neutral,
    },
    TotalSpec {
        key: "max_concurrent_requests",
        id: "max_concurrent_requests_count",
        name: "peak concurrent requests",
        definition: "Most successful requests under way in one second, seconds counted from the first \
                     start.",
        unit: Unit::Count,
        direction: Neutral,
    },
];
