//! How long after their due times requests started.

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Presence, Source};
use crate::request::millis;
use crate::statistic::Statistic::{Mean, P50, P95, P99};

pub(crate) const QUEUE_DELAY: Family = Family {
    name: "Queue delay",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Sent,
    presence: Presence::Schedule,
    token_source: None,
    meaning: "the time from a request's due time to its start: what it waited for a place below the \
              limit of requests under way, and what the client itself was late. Every request that \
              was sent.",
    formula: "(started_us − scheduled_us) / 1000",
    absent_when: "Never, for a request that was sent. The metric stands only in records of loads \
                  with due times.",
    example: "10 requests a second of 500 ms each, at most one under way, 8 requests: 0, 400, 800 … \
              2,800, in the mean 1,400.",
    source: Source::Requests {
        value: |sent| sent.delay_us().map(millis),
        metrics: &[
            Entry::new("queue_delay_p50_ms", P50),
            Entry::new("queue_delay_p95_ms", P95),
            Entry::new("queue_delay_p99_ms", P99),
            Entry::new("queue_delay_mean_ms", Mean),
        ],
    },
};
