//! How much of the prompts the server took from a cache.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let mut line = request(&[100], 1);
//! let seen = line.observation.as_mut().unwrap();
//! seen.usage.as_mut().unwrap().cached_tokens = Some(256);
//! assert_eq!(figure("cached_tokens_ratio", &[line]), Some(0.5));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::{Entry, Family, Population, Presence, RunFigure, Source};

pub(crate) const CACHED_TOKENS: Family = Family {
    name: "Cached share of prompt tokens",
    unit: Unit::Ratio,
    direction: Direction::Neutral,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "Prompt tokens that the server says it took from a cache, of the prompt tokens of the \
              responses that report both.",
    formula: "Σ min(cached_tokens, prompt_tokens) / Σ prompt_tokens",
    absent_when: "No response reports both counts; most servers report none when they have no cache.",
    example: "64 prompts of 512 tokens, 256 of each from a cache: 0.5.",
    source: Source::Run {
        metric: Entry::of_run("cached_tokens_ratio"),
        figure: |part| {
            let cached = part.run.cached;
            let value = cached.ratio();
            let samples = value.map_or(0, |_| cached.responses);
            let missing = part.run.sent.len() as u64 - samples;
            RunFigure { value, samples, missing, remark: None }
        },
    },
};
