//! What setting up connections took.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let mut line = request(&[100], 1);
//! line.connect_us = Some(500);
//! assert_eq!(figure("connect_p50_ms", &[line]), Some(0.5));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Family, Metrics, Population, Presence, Source};
use crate::sent::Sent;

pub(crate) const CONNECT: Family = Family {
    name: "Connect time",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: None,
    meaning: "the time to set up the connection of a request, before its start and in none of its \
              latencies: resolving, connecting and TLS. Requests on a connection of their own.",
    formula: "connect_us / 1000",
    absent_when: "The request went over a connection that had served another one before, or its \
                  connection was not made.",
    example: "64 requests over 4 connections, set up in 0.2 to 0.5 ms: 4 samples, 60 missing.",
    source: Source::Whole { value: Sent::connect_us, metrics: Metrics::Whole("connect") },
};
