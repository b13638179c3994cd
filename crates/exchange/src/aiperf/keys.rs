//! The metrics of AIPerf that are read, by their tags, and what each stands for.

use streamgauge_schema::Direction::{HigherIsBetter, LowerIsBetter, Neutral};
use streamgauge_schema::Unit;

use crate::found::{QuantitySpec, TotalSpec};

/// The tag of the duration of a request.
pub(super) const REQUEST_LATENCY: &str = "request_latency";
/// The tag of the time to the first output.
pub(super) const TIME_TO_FIRST_TOKEN: &str = "time_to_first_token";
/// The tag of the gaps between chunks, a list for each request.
pub(super) const INTER_CHUNK_LATENCY: &str = "inter_chunk_latency";
/// The tag of the tokens of a prompt.
pub(super) const INPUT_SEQUENCE_LENGTH: &str = "input_sequence_length";
/// The tag of the tokens of an answer, reasoning included.
pub(super) const OUTPUT_SEQUENCE_LENGTH: &str = "output_sequence_length";

/// Metrics that each request has.
pub(super) const QUANTITIES: [QuantitySpec; 8] = [
    QuantitySpec {
        key: TIME_TO_FIRST_TOKEN,
        id: "ttft",
        name: "TTFT",
        meaning: "the time from the start to the first response that is not empty, reasoning included",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "time_to_first_output_token",
        id: "ttfo",
        name: "time to first output token",
        meaning: "the time from the start to the first token that is no reasoning",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: REQUEST_LATENCY,
        id: "request_latency",
        name: "request latency",
        meaning: "the time from the start to the last response",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: INTER_CHUNK_LATENCY,
        id: "inter_chunk_latency",
        name: "inter-chunk latency",
        meaning: "the times between consecutive responses that are not empty, as the tool pools them; \
                  one can hold several tokens",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "inter_token_latency",
        id: "inter_token_latency",
        name: "inter-token latency",
        meaning: "(request latency - TTFT) / (output sequence length - 1), one value a request; a \
                  TPOT, with tokens as the tool counts them",
        unit: Unit::Milliseconds,
        direction: LowerIsBetter,
    },
    QuantitySpec {
        key: "output_token_throughput_per_user",
        id: "output_token_throughput_per_user",
        name: "output throughput per user",
        meaning: "1 / inter-token latency, one value a request, with tokens as the tool counts them",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    QuantitySpec {
        key: INPUT_SEQUENCE_LENGTH,
        id: "input_sequence_length",
        name: "input sequence length",
        meaning: "the prompt's tokens, by the tool's tokenizer unless it was told to take the server's \
                  count",
        unit: Unit::Tokens,
        direction: Neutral,
    },
    QuantitySpec {
        key: OUTPUT_SEQUENCE_LENGTH,
        id: "output_sequence_length",
        name: "output sequence length",
        meaning: "the tokens of reasoning and answer, by the tool's tokenizer unless it was told to \
                  take the server's count",
        unit: Unit::Tokens,
        direction: Neutral,
    },
];

/// Metrics of the run as a whole.
pub(super) const TOTALS: [TotalSpec; 4] = [
    TotalSpec {
        key: "benchmark_duration",
        id: "benchmark_duration_s",
        name: "benchmark duration",
        definition: "From the first start to the last response of the profiled requests.",
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
        key: "output_token_throughput",
        id: "output_token_throughput_tok_per_s",
        name: "output token throughput",
        definition: "Output sequence lengths of successful requests divided by the benchmark duration, \
                     tokens as the tool counts them.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
    TotalSpec {
        key: "total_token_throughput",
        id: "total_token_throughput_tok_per_s",
        name: "total token throughput",
        definition: "Input and output sequence lengths of successful requests divided by the benchmark \
                     duration, tokens as the tool counts them.",
        unit: Unit::TokensPerSecond,
        direction: HigherIsBetter,
    },
];
