//! The best second of a run: rates of equal tiles of its time.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! // 30 tokens in the first of two seconds, 10 in the second.
//! let lines = [request(&[100, 200, 300, 2_000], 40)];
//! assert_eq!(figure("completion_throughput_peak_tok_per_s", &lines), Some(30.0));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::throughput::OUTPUT_UNKNOWN;
use super::{Entry, Family, Population, Presence, RunFigure, Source};
use crate::tiles;

pub(crate) const PEAK_TOKENS: Family = Family {
    name: "Peak completion throughput",
    unit: Unit::TokensPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "The highest completion throughput of the equal tiles, of a second or little more, that \
              the batch is cut into; a response's tokens lie evenly on its output events where the \
              server did not count them.",
    formula: "max of Σ tokens of a tile / length of a tile; max(1, ⌊batch_duration_seconds⌋) tiles; \
              tokens of output event k of E: token_counts[k], else ⌊(k + 1)·T/E⌋ − ⌊k·T/E⌋ of T",
    absent_when: OUTPUT_UNKNOWN,
    example: "2.5 s are two tiles of 1.25 s; 40 tokens in the first and 60 in the second: 48 tok/s, \
              where the mean is 40. It is never below the mean.",
    source: Source::Run {
        metric: Entry::of_run("completion_throughput_peak_tok_per_s"),
        figure: |part| {
            RunFigure::of(tiles::peak_tokens_per_s(part.run), part.run.sent.len() as u64)
        },
    },
};

pub(crate) const PEAK_REQUESTS: Family = Family {
    name: "Peak request throughput",
    unit: Unit::RequestsPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: None,
    meaning: "The most ends of succeeded requests a second in any of the equal tiles, of a second or \
              little more, that the batch is cut into.",
    formula: "max of succeeded requests that end in a tile / length of a tile; \
              max(1, ⌊batch_duration_seconds⌋) tiles",
    absent_when: "Nothing was sent, or the batch has no duration.",
    example: "2.5 s are two tiles of 1.25 s; 5 requests end in the first and 10 in the second: \
              8 req/s, where the mean is 6.",
    source: Source::Run {
        metric: Entry::of_run("request_throughput_peak_per_s"),
        figure: |part| {
            RunFigure::of(tiles::peak_requests_per_s(part.run), part.run.sent.len() as u64)
        },
    },
};
