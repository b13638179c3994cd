//! How long the prompts were, by the server's own count.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! assert_eq!(figure("prompt_tokens_p50_tok", &[request(&[100], 1)]), Some(512.0));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::{Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;

pub(crate) const PROMPT_TOKENS: Family = Family {
    name: "Prompt tokens",
    unit: Unit::Tokens,
    direction: Direction::Neutral,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "the prompt tokens of a request, as the server counts them, those from its cache \
              included. Succeeded requests with usable usage.",
    formula: "usage.prompt_tokens",
    absent_when: "The server reported no count of prompt tokens, or choices of one response report \
                  different usage.",
    example: "512 tokens asked for, 530 counted by the server because its template adds some: 530.",
    source: Source::Whole { value: Sent::prompt_tokens, metrics: Metrics::Whole("prompt_tokens") },
};
