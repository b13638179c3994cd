//! Prompt tokens a second until the first output, one value a request.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! // 512 prompt tokens, first output at 250 ms.
//! assert_eq!(figure("prefill_rate_p50_tok_per_s", &[request(&[250], 1)]), Some(2_048.0));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::{Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;

pub(crate) const PREFILL_RATE: Family = Family {
    name: "Effective prefill rate",
    unit: Unit::TokensPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "prompt tokens / time to first output, one value a request, tokens as the server counts \
              them, those from its cache included; waiting is inside. Succeeded requests.",
    formula: "prompt_tokens / (first_output_us / 1,000,000)",
    absent_when: "The server reported no count of prompt tokens, or several that differ; there is no \
                  first output, or it came in the instant of the start; reasoning was billed but not \
                  streamed.",
    example: "512 prompt tokens, first output at 250 ms: 2,048 tok/s, whether the server computed all \
              of them, took some from a cache, or let the request wait for 200 ms.",
    source: Source::Requests {
        value: Sent::prefill_rate_tok_per_s,
        metrics: Metrics::Both("prefill_rate"),
    },
};
