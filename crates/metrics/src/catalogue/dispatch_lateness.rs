//! How late requests started for reasons of the client alone.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure_where, one_at_once, request};
//! let mut line = request(&[100], 1);
//! // Due at 100 ms, held back for 400 ms, started at 500.2 ms.
//! (line.scheduled_us, line.queued_us) = (Some(100_000), Some(400_000));
//! (line.started_us, line.last_attempt_started_us) = (500_200, 500_200);
//! let lines = [line];
//! assert_eq!(figure_where("dispatch_lateness_p50_ms", &lines, one_at_once), Some(0.2));
//! assert_eq!(figure_where("queue_delay_p50_ms", &lines, one_at_once), Some(400.2));
//! ```

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
