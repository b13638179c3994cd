//! How long after their due times requests started.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure_where, one_at_once, request};
//! // Due every 100 ms, 500 ms each, at most one under way.
//! let lines: Vec<_> = (0..8_u64)
//!     .map(|n| {
//!         let mut line = request(&[500], 1);
//!         (line.started_us, line.last_attempt_started_us) = (n * 500_000, n * 500_000);
//!         (line.scheduled_us, line.queued_us) = (Some(n * 100_000), Some(n * 400_000));
//!         line
//!     })
//!     .collect();
//! assert_eq!(figure_where("queue_delay_max_ms", &lines, one_at_once), Some(2_800.0));
//! assert_eq!(figure_where("queue_delay_mean_ms", &lines, one_at_once), Some(1_400.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;

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
    source: Source::Whole { value: Sent::delay_us, metrics: Metrics::Both("queue_delay") },
};
