//! Full duration of a request: the golden completion metrics, and E2E.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let lines = [request(&[100, 150], 2), request(&[100, 250], 2)];
//! assert_eq!(figure("e2e_mean_ms", &lines), Some(200.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;
use crate::statistic::Statistic::{P50, P95};

pub(crate) const COMPLETION: Family = Family {
    name: "Request completion",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::EveryResponse,
    presence: Presence::Always,
    token_source: None,
    meaning: "the full duration of a request, failures included",
    formula: "elapsed_us / 1000",
    absent_when: "The request was never sent.",
    example: "Durations of 3,801.035 and 4,387.226 ms: median 4,094.1305. A refused connection of \
              3 ms is in it; see E2E for succeeded requests alone.",
    source: Source::Whole {
        value: Sent::e2e_us,
        metrics: Metrics::These(&[
            Entry::new("completion_median_ms", P50).in_version_1(
                "Full request duration, including reasoning; includes failures with recorded \
                 duration. Includes every response with that timing; missing timings are not zero.",
            ),
            Entry::new("completion_p95_ms", P95).in_version_1(
                "Linear-interpolated p95 over all recorded request durations, including failures. \
                 Small samples give an unstable tail estimate.",
            ),
        ]),
    },
};

pub(crate) const E2E: Family = Family {
    name: "End-to-end latency (E2E)",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: None,
    meaning: "the time from the request's start to its end mark, or to the end of the body where \
              there is none. Succeeded requests.",
    formula: "elapsed_us / 1000",
    absent_when: "Never, for a request that succeeded.",
    example: "End mark at 1,000 ms, socket open for another 30 s: 1,000.",
    source: Source::Whole { value: Sent::e2e_us, metrics: Metrics::Both("e2e") },
};

pub(crate) const E2E_FROM_SCHEDULE: Family = Family {
    name: "E2E from the schedule",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    presence: Presence::Schedule,
    token_source: None,
    meaning: "the time from a request's due time to its end, what it had to wait before it started \
              included. Succeeded requests.",
    formula: "(started_us − scheduled_us + elapsed_us) / 1000",
    absent_when: "Never, for a request that succeeded. The metric stands only in records of loads with due \
                  times.",
    example: "One request at a time, 150 ms each, due every 100 ms: 150, 200, 250, 300, 350, while E2E \
              stays at 150.",
    source: Source::Whole {
        value: Sent::e2e_from_schedule_us,
        metrics: Metrics::Both("e2e_from_schedule"),
    },
};
