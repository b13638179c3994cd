//! First output on any channel: TTFT, from the start and from the schedule.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let mut line = request(&[214], 1);
//! // An event with a role alone at 5 ms is no output.
//! line.observation.as_mut().unwrap().first_event_us = Some(5_000);
//! assert_eq!(figure("ttft_p50_ms", &[line]), Some(214.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;

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
    source: Source::Whole { value: Sent::ttft_us, metrics: Metrics::Both("ttft") },
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
    source: Source::Whole {
        value: Sent::ttft_from_schedule_us,
        metrics: Metrics::Both("ttft_from_schedule"),
    },
};
