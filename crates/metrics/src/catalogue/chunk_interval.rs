//! Gaps between stream events: the golden median over generated events, their extremes, and chunk
//! intervals.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! // Ten events 100 ms apart hold 40 tokens.
//! let outputs: Vec<u64> = (1..=10).map(|n| 100 * n).collect();
//! let lines = [request(&outputs, 40)];
//! assert_eq!(figure("chunk_interval_p50_ms", &lines), Some(100.0));
//! assert_eq!(figure("tpot_p50_ms", &lines), Some(900.0 / 39.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Metrics, Population, Presence, RunFigure, Source};
use crate::measured::{Extremes, Part};
use crate::request::millis;
use crate::sent::Sent;
use crate::statistic::Statistic::P50;

pub(crate) const STREAM_CHUNK_INTERVAL: Family = Family {
    name: "Stream chunk interval",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::EveryResponse,
    presence: Presence::Always,
    token_source: None,
    meaning: "the gaps between consecutive events with reasoning or content",
    formula: "difference of the arrivals of consecutive generated events, in us / 1000; all \
              requests pooled",
    absent_when: "A response has fewer than two events with reasoning or content, or single \
                  intervals were not kept.",
    example: "Content at 10 and 20 ms, a tool call at 40 ms, content at 50 ms: 10 and 30.",
    source: Source::Gaps {
        of: |gaps, sent| gaps.generated(sent.index(), sent.output_gaps()),
        sum_us: |_| None,
        metrics: Metrics::These(&[Entry::new("stream_chunk_interval_median_ms", P50).in_version_1(
            "Observed SSE intervals reported by the serving client. Speculative decoding can emit \
             several tokens per chunk; this is not per-token latency.",
        )]),
    },
};

pub(crate) const CHUNK_INTERVAL: Family = Family {
    name: "Chunk interval",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: None,
    meaning: "the gaps between consecutive output events of a request, pooled over succeeded \
              requests. An event may hold several tokens: not per-token latency.",
    formula: "arrivals_us[1..] / 1000; all requests pooled",
    absent_when: "A response has fewer than two output events. A gap of 0 is a value: one read \
                  held two events. Where single intervals were not kept, only the mean has a \
                  value: it is the time from first to last outputs over the number of gaps.",
    example: "Ten events 100 ms apart that hold 40 tokens: nine gaps of 100, while TPOT is \
              900 / 39 = 23.1 ms.",
    source: Source::Gaps {
        of: |_, sent| sent.output_gaps(),
        sum_us: Sent::gap_sum,
        metrics: Metrics::Both("chunk_interval"),
    },
};

pub(crate) const SHORTEST: Family = Family {
    name: "Shortest stream chunk interval",
    unit: Unit::Milliseconds,
    direction: Direction::Neutral,
    population: Population::EveryResponse,
    presence: Presence::Always,
    token_source: None,
    meaning: "The shortest gap between consecutive events with reasoning or content of any response, \
              failures included.",
    formula: "the least of those gaps, in us / 1000",
    absent_when: NO_GAPS,
    example: "Content at 10, 20 and 50 ms: 10. Two events that one read completed: 0.",
    source: Source::Run {
        metric: Entry::of_run("stream_chunk_interval_min_ms"),
        figure: |part| extreme(part, |extremes| extremes.least_us),
    },
};

pub(crate) const LONGEST: Family = Family {
    name: "Longest stream chunk interval",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::EveryResponse,
    presence: Presence::Always,
    token_source: None,
    meaning: "The longest gap between consecutive events with reasoning or content of any response, \
              failures included.",
    formula: "the greatest of those gaps, in us / 1000",
    absent_when: NO_GAPS,
    example: "Content at 10, 20 and 50 ms: 30. A stream that stood still for 9 s in the middle: \
              9,000.",
    source: Source::Run {
        metric: Entry::of_run("stream_chunk_interval_max_ms"),
        figure: |part| extreme(part, |extremes| extremes.greatest_us),
    },
};

const NO_GAPS: &str = "No response has two events with reasoning or content. It has a value where \
                       single intervals were not kept.";

fn extreme(part: Part<'_>, of: fn(Extremes) -> u64) -> RunFigure {
    let extremes = part.run.extremes;
    RunFigure {
        value: extremes.map(|extremes| millis(of(extremes))),
        samples: extremes.map_or(0, |extremes| extremes.gaps),
        missing: part.run.offered - extremes.map_or(0, |extremes| extremes.responses),
        remark: None,
    }
}
