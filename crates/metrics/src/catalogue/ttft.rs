//! First output: the golden first generated output, and TTFT.

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Source};
use crate::request::{first_generated_ms, ttft_ms};
use crate::statistic::Statistic::{Mean, P50, P95, P99};

pub(crate) const FIRST_GENERATED: Family = Family {
    name: "First generated output",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::EveryResponse,
    token_source: None,
    meaning: "the time from the request's start to its first reasoning or content",
    formula: "first_generated_us / 1000",
    absent_when: "No reasoning and no content arrived. A response of tool calls or a refusal alone \
                  has none, while it has a TTFT.",
    example: "Role-only event at 5 ms, text at 214 ms: 214. Of a request that then failed, 214 \
              too.",
    source: Source::Requests {
        values: |line, out| out.extend(first_generated_ms(line)),
        metrics: &[Entry::new("first_generated_median_ms", P50).in_version_1(
            "First nonempty reasoning or content delta; this may precede any visible answer. \
             Includes every response with that timing; missing timings are not zero.",
        )],
    },
};

pub(crate) const TTFT: Family = Family {
    name: "Time to first output (TTFT)",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    token_source: None,
    meaning: "the time from the request's start to its first nonempty output on any channel: \
              reasoning, content, refusal or tool-call arguments. Succeeded requests.",
    formula: "first_output_us / 1000",
    absent_when: "Nothing but empty deltas arrived; such a request did not succeed either. Events \
                  with a role, an empty text or usage alone are no output.",
    example: "Role-only event at 5 ms, text at 214 ms: 214. Reasoning at 100 ms, content at \
              4,100 ms: 100. A tool call alone at 150 ms: 150.",
    source: Source::Requests {
        values: |line, out| out.extend(ttft_ms(line)),
        metrics: &[
            Entry::new("ttft_p50_ms", P50),
            Entry::new("ttft_p95_ms", P95),
            Entry::new("ttft_p99_ms", P99),
            Entry::new("ttft_mean_ms", Mean),
        ],
    },
};
