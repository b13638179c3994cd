//! The flat keys of result files, and what each stands for. Import and export share them.

use streamgauge_schema::Direction::{HigherIsBetter, LowerIsBetter, Neutral};
use streamgauge_schema::Unit;

use crate::found::{QuantitySpec, TotalSpec};

/// The latencies of a result file, by the word in its keys.
pub(crate) const QUANTITIES: [QuantitySpec; 6] = [
    QuantitySpec {
        key: "ttft",
        id: "ttft",
        name: "TTFT",
        meaning: "the time from the start to the first event with a choice, also one with a role or \
                  an empty text",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "tpot",
        id: "tpot",
        name: "TPOT",
        meaning: "(latency - TTFT) / (output tokens - 1) of answers of two tokens or more, to the \
                  last event with a choice; tokens by the server's usage, else by the tool's \
                  tokenizer",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "itl",
        id: "itl",
        name: "ITL",
        meaning: "the times between consecutive events with a choice, all answers pooled; an event \
                  can hold several tokens",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "e2el",
        id: "e2el",
        name: "E2EL",
        meaning: "the time from the start to the last event with a choice",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "client_queue_time",
        id: "client_queue_time",
        name: "client queue time",
        meaning: "the time for which the limit of requests under way held a request back",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "e2el_including_client_queue",
        id: "e2el_including_client_queue",
        name: "E2EL with client queue",
        meaning: "client queue time and E2EL together",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
];

/// The figures of a run as a whole.
pub(crate) const TOTALS: [TotalSpec; 9] = [
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
        key: "request_goodput",
        id: "request_goodput_per_s",
        name: "request goodput",
        definition: "Successful requests that keep every goal, divided by the benchmark duration; an \
                     answer of one token keeps any goal for TPOT.",
        unit: Unit::RequestsPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "output_throughput",
        id: "output_throughput_tok_per_s",
        name: "output token throughput",
        definition: "Output tokens of successful requests divided by the benchmark duration; tokens \
                     by the server's usage, else by the tool's tokenizer.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "total_token_throughput",
        id: "total_token_throughput_tok_per_s",
        name: "total token throughput",
        definition: "Prompt and output tokens of successful requests divided by the benchmark \
                     duration; prompt tokens by the server's usage, else by the tool's tokenizer.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "total_input_tokens",
        id: "total_input_tokens_tok",
        name: "prompt tokens",
        definition: "Prompt tokens of successful requests together, by the server's usage, else by \
                     the tool's tokenizer.",
        unit: Unit::Tokens,
        direction: Neutral,
    },
    TotalSpec {
        key: "total_output_tokens",
        id: "total_output_tokens_tok",
        name: "output tokens",
        definition: "Output tokens of successful requests together, by the server's usage, else by \
                     the tool's tokenizer.",
        unit: Unit::Tokens,
        direction: Neutral,
    },
    TotalSpec {
        key: "max_output_tokens_per_s",
        id: "max_output_tokens_tok_per_s",
        name: "peak output token throughput",
        definition: "Most events with a choice in one second, seconds counted from the first start \
                     of successful requests: events, not tokens.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "max_concurrent_requests",
        id: "max_concurrent_requests_count",
        name: "peak concurrent requests",
        definition: "Most successful requests under way at once; older files count whole seconds.",
        unit: Unit::Count,
        direction: Neutral,
    },
];
