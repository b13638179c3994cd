//! First final content: the golden median, and TTFC.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let mut line = request(&[100, 4_100], 2);
//! let seen = line.observation.as_mut().unwrap();
//! (seen.first_reasoning_us, seen.first_content_us) = (Some(100_000), Some(4_100_000));
//! assert_eq!(figure("ttfc_p50_ms", &[line.clone()]), Some(4_100.0));
//! assert_eq!(figure("ttft_p50_ms", &[line]), Some(100.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;
use crate::statistic::Statistic::P50;

pub(crate) const FIRST_FINAL_CONTENT: Family = Family {
    name: "First final content",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::EveryResponse,
    presence: Presence::Always,
    token_source: None,
    meaning: "the time from the request's start to its first final content",
    formula: "first_content_us / 1000",
    absent_when: "No content arrived, or a think tag stands within the first 256 characters of \
                  the content: then the channel does not hold the final answer alone.",
    example: "Reasoning at 100 ms, content at 4,100 ms: 4,100. Cut by length while reasoning: \
              none. `<think>` at the start of the content: none.",
    source: Source::Whole {
        value: Sent::ttfc_us,
        metrics: Metrics::These(&[Entry::new("first_final_content_median_ms", P50).in_version_1(
            "First nonempty final-content delta; arrival does not establish correctness or \
             usefulness. Includes every response with that timing; missing timings are not zero.",
        )]),
    },
};

pub(crate) const TTFC: Family = Family {
    name: "Time to first final content (TTFC)",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: None,
    meaning: "the time from the request's start to its first nonempty final content. Succeeded \
              requests; those with a think tag in their content or without content have none.",
    formula: "first_content_us / 1000",
    absent_when: "As for the first final content above.",
    example: "Reasoning at 100 ms, content at 4,100 ms: 4,100, beside a TTFT of 100. Without \
              reasoning and tool calls it equals TTFT.",
    source: Source::Whole { value: Sent::ttfc_us, metrics: Metrics::Both("ttfc") },
};
