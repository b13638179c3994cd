//! Gaps between stream events: the golden median over generated events, and chunk intervals.

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Source};
use crate::request::{chunk_intervals_ms, generated_intervals_ms};
use crate::statistic::Statistic::{Mean, P50, P95, P99};

pub(crate) const STREAM_CHUNK_INTERVAL: Family = Family {
    name: "Stream chunk interval",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::EveryResponse,
    token_source: None,
    meaning: "the gaps between consecutive events with reasoning or content",
    formula: "difference of the arrivals of consecutive generated events, in us / 1000; all \
              requests pooled",
    absent_when: "A response has fewer than two events with reasoning or content.",
    example: "Content at 10 and 20 ms, a tool call at 40 ms, content at 50 ms: 10 and 30.",
    source: Source::Requests {
        values: |line, out| out.extend(line.observation.iter().flat_map(generated_intervals_ms)),
        metrics: &[Entry::new("stream_chunk_interval_median_ms", P50).in_version_1(
            "Observed SSE intervals reported by the serving client. Speculative decoding can emit \
             several tokens per chunk; this is not per-token latency.",
        )],
    },
};

pub(crate) const CHUNK_INTERVAL: Family = Family {
    name: "Chunk interval",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    token_source: None,
    meaning: "the gaps between consecutive output events of a request, pooled over succeeded \
              requests. An event may hold several tokens: not per-token latency.",
    formula: "arrivals_us[1..] / 1000; all requests pooled",
    absent_when: "A response has fewer than two output events. A gap of 0 is a value: one read \
                  held two events.",
    example: "Ten events 100 ms apart that hold 40 tokens: nine gaps of 100, while TPOT is \
              900 / 39 = 23.1 ms.",
    source: Source::Requests {
        values: |line, out| out.extend(line.observation.iter().flat_map(chunk_intervals_ms)),
        metrics: &[
            Entry::new("chunk_interval_p50_ms", P50),
            Entry::new("chunk_interval_p95_ms", P95),
            Entry::new("chunk_interval_p99_ms", P99),
            Entry::new("chunk_interval_mean_ms", Mean),
        ],
    },
};
