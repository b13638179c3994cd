//! How many requests failed.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! assert_eq!(figure("error_ratio", &[request(&[100], 1)]), Some(0.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Presence, Source};

pub(crate) const ERRORS: Family = Family {
    name: "Error rate",
    unit: Unit::Ratio,
    direction: Direction::LowerIsBetter,
    population: Population::Ended,
    presence: Presence::Always,
    token_source: None,
    meaning: "Share of requests that failed or timed out; requests that the end of the run cut, or \
              that were never sent, do not count.",
    formula: "(failed + timed_out) / (succeeded + failed + timed_out)",
    absent_when: "No request ended by itself.",
    example: "100 sent: 85 succeeded, 8 failed, 2 timed out, 5 cut by the run's time limit: \
              10 / 95 = 0.105.",
    source: Source::Share {
        metric: Entry::of_run("error_ratio"),
        of: |sent| Some(!sent.succeeded()),
    },
};
