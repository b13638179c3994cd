//! How long the answers were, by the server's own count.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! // 512 tokens allowed, and usage says 37.
//! assert_eq!(figure("output_tokens_p50_tok", &[request(&[100, 1_000], 37)]), Some(37.0));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::{Family, Metrics, Population, Presence, Source};

pub(crate) const OUTPUT_TOKENS: Family = Family {
    name: "Output length",
    unit: Unit::Tokens,
    direction: Direction::Neutral,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "the completion tokens of a request, as the server counts them. Succeeded requests with \
              usable usage.",
    formula: "usage.completion_tokens",
    absent_when: "The server reported no count of completion tokens, 0 although there was output, or \
                  several that differ.",
    example: "512 tokens allowed, and usage says 37: 37.",
    source: Source::Whole {
        value: |sent| sent.output_tokens().counted(),
        metrics: Metrics::Both("output_tokens"),
    },
};
