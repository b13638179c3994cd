//! How long bytes lay unread: the client's own part of what it measures.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let mut line = request(&[100], 1);
//! line.observer_lag_us = Some(vec![20, 30, 2_500]);
//! assert_eq!(figure("observer_lag_p50_ms", &[line.clone()]), Some(0.03));
//! assert_eq!(figure("observer_lag_max_ms", &[line]), Some(2.5));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Family, Metrics, Population, Presence, Source};

pub(crate) const OBSERVER_LAG: Family = Family {
    name: "Observer lag",
    unit: Unit::Milliseconds,
    direction: Direction::Neutral,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: None,
    meaning: "the time from the kernel's receipt of bytes to the client's read of them, one value a \
              read with a usable stamp; a lower bound, as bytes that lie together have one stamp.",
    formula: "realtime after the read − kernel receive stamp, in us / 1000; all reads pooled",
    absent_when: "No read of the response had a usable stamp: by default a sample of the connections \
                  asks for them. It measures the client, so that nothing is gated by it.",
    example: "Reads 0.02, 0.03 and 2.5 ms after the kernel had the bytes: a median of 0.03, a maximum \
              of 2.5.",
    source: Source::Lags { metrics: Metrics::Whole("observer_lag") },
};
