//! First output: the golden first generated output, and TTFT.

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Presence, Source};
use crate::sent::Sent;
use crate::statistic::Statistic::{Mean, P50, P95, P99};

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
    source: Source::Requests {
        value: Sent::first_generated_ms,
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
    presence: Presence::Always,
    token_source: None,
    meaning: "the time from the request's start to its first nonempty output on any channel: \
              reasoning, content, refusal or tool-call arguments. Succeeded requests.",
    formula: "first_output_us / 1000",
    absent_when: "Nothing but empty deltas arrived; such a request did not succeed either. Events \
                  with a role, an empty text or usage alone are no output.",
    example: "Role-only event at 5 ms, text at 214 ms: 214. Reasoning at 100 ms, content at \
              4,100 ms: 100. A tool call alone at 150 ms: 150.",
    source: Source::Requests {
        value: Sent::ttft_ms,
        metrics: &[
            Entry::new("ttft_p50_ms", P50).and_steady("ttft_steady_p50_ms"),
            Entry::new("ttft_p95_ms", P95).and_steady("ttft_steady_p95_ms"),
            Entry::new("ttft_p99_ms", P99).and_steady("ttft_steady_p99_ms"),
            Entry::new("ttft_mean_ms", Mean).and_steady("ttft_steady_mean_ms"),
        ],
    },
};

pub(crate) const TTFT_FROM_SCHEDULE: Family = Family {
    name: "TTFT from the schedule",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    presence: Presence::Schedule,
    token_source: None,
    meaning: "the time from a request's due time to its first nonempty output on any channel, what it had to \
              wait before it started included. Succeeded requests.",
    formula: "(started_us − scheduled_us + first_output_us) / 1000",
    absent_when: "As TTFT. The metric stands only in records of loads with due times.",
    example: "Due at 100 ms, started at 150 ms, first output 214 ms later: 264, beside a TTFT of 214.",
    source: Source::Requests {
        value: Sent::ttft_from_schedule_ms,
        metrics: &[
            Entry::new("ttft_from_schedule_p50_ms", P50)
                .and_steady("ttft_from_schedule_steady_p50_ms"),
            Entry::new("ttft_from_schedule_p95_ms", P95)
                .and_steady("ttft_from_schedule_steady_p95_ms"),
            Entry::new("ttft_from_schedule_p99_ms", P99)
                .and_steady("ttft_from_schedule_steady_p99_ms"),
            Entry::new("ttft_from_schedule_mean_ms", Mean)
                .and_steady("ttft_from_schedule_steady_mean_ms"),
        ],
    },
};
