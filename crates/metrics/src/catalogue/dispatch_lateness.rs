//! How late requests started for reasons of the client alone.

use streamgauge_schema::{Direction, Unit};

use super::{Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;

pub(crate) const DISPATCH_LATENESS: Family = Family {
    name: "Dispatch lateness",
    unit: Unit::Milliseconds,
    direction: Direction::Neutral,
    population: Population::Sent,
    presence: Presence::Schedule,
    token_source: None,
    meaning: "the time from a request's due time to its start, without what a limit of requests under \
              way held it back: what the client itself was late. Every request that was sent.",
    formula: "(started_us − scheduled_us − queued_us) / 1000",
    absent_when: "Never, for a request that was sent. The metric stands only in records of loads with \
                  due times. It measures the client, so that nothing is gated by it.",
    example: "Due at 100 ms, held back for 400 ms, started at 500.2 ms: 0.2, beside a queue delay of \
              400.2.",
    source: Source::Whole {
        value: Sent::lateness_us,
        metrics: Metrics::Whole("dispatch_lateness"),
    },
};
