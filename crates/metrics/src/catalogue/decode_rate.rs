//! Tokens a second after the first output, one value a request.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! // 99 tokens in the 0.99 s after the first output.
//! assert_eq!(figure("decode_rate_p50_tok_per_s", &[request(&[200, 1_190], 100)]), Some(100.0));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::tpot::NO_RATE;
use super::{Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;

pub(crate) const DECODE_RATE: Family = Family {
    name: "Decode rate",
    unit: Unit::TokensPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "(completion tokens - 1) / (end - first output), one value a request, tokens as the \
              server counts them; prefill is outside. Succeeded requests with usable usage.",
    formula: "(completion_tokens − 1) / ((elapsed_us − first_output_us) / 1,000,000)",
    absent_when: NO_RATE,
    example: "100 tokens, first output at 200 ms, end at 1,190 ms: 99 / 0.99 s = 100.0 tok/s. Over \
              the whole request it would be 84.0, which is no decode rate. More is better, so the \
              slow tail is below p50; p95 and p99 are the fast one.",
    source: Source::Requests {
        value: Sent::decode_rate_tok_per_s,
        metrics: Metrics::Both("decode_rate"),
    },
};
