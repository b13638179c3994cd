//! Time per output token after the first, one value a request.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! // 100 tokens, first output to last 0.99 s.
//! assert_eq!(figure("tpot_p50_ms", &[request(&[200, 1_190], 100)]), Some(10.0));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::{Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;

/// When a request has neither TPOT nor decode rate.
pub(super) const NO_RATE: &str = "Usage is absent or ambiguous or says 0 tokens, fewer than two \
                                  tokens were generated, more than one choice was streamed, \
                                  reasoning was billed but not streamed, or all output arrived in \
                                  one instant.";

pub(crate) const TPOT: Family = Family {
    name: "Time per output token (TPOT)",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "(last output - first output) / (completion tokens - 1), one value a request, tokens \
              as the server counts them. Succeeded requests with usable usage.",
    formula: "(last_output_us − first_output_us) / 1000 / (completion_tokens − 1)",
    absent_when: NO_RATE,
    example: "512 tokens allowed, 100 generated, first output to last 0.99 s: 10.0 ms, whatever \
              was allowed.",
    source: Source::Requests { value: Sent::tpot_ms, metrics: Metrics::Both("tpot") },
};
