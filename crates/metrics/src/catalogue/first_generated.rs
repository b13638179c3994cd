//! First generated output, reasoning or content: the golden median, and all statistics of the requests
//! that succeeded.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! assert_eq!(figure("first_generated_p50_ms", &[request(&[214], 1)]), Some(214.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;
use crate::statistic::Statistic::P50;

pub(crate) const FIRST_GENERATED: Family = Family {
    name: "First generated output",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::EveryResponse,
    presence: Presence::Always,
    token_source: None,
    meaning: "the time from the request's start to its first reasoning or content",
    formula: "first_generated_us / 1000",
    absent_when: "No reasoning and no content arrived. A response of tool calls or a refusal alone \
                  has none, while it has a TTFT.",
    example: "Role-only event at 5 ms, text at 214 ms: 214. Of a request that then failed, 214 \
              too.",
    source: Source::Whole {
        value: Sent::first_generated_us,
        metrics: Metrics::These(&[Entry::new("first_generated_median_ms", P50).in_version_1(
            "First nonempty reasoning or content delta; this may precede any visible answer. \
             Includes every response with that timing; missing timings are not zero.",
        )]),
    },
};

pub(crate) const TIME_TO_FIRST_GENERATED: Family = Family {
    name: "Time to first generated output",
    population: Population::Succeeded,
    meaning: "the time from the request's start to its first nonempty reasoning or content. Succeeded \
              requests; those of tool calls or a refusal alone have none.",
    absent_when: "As for the first generated output above.",
    example: "A tool call at 150 ms, content at 400 ms: 400, beside a TTFT of 150. Without tool calls \
              and refusals it equals TTFT.",
    source: Source::Whole {
        value: Sent::first_generated_us,
        metrics: Metrics::Both("first_generated"),
    },
    ..FIRST_GENERATED
};
