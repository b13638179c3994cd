//! How many requests were sent again by policy.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure_where, request};
//! use streamgauge_schema::{FailureClass, Plan, Retries, RetriedAttempt};
//!
//! let mut again = request(&[400], 1);
//! again.attempts = 2;
//! again.last_attempt_started_us = again.started_us + 300_000;
//! again.retried = vec![RetriedAttempt {
//!     class: FailureClass::Connect,
//!     http_status: None,
//!     started_us: again.started_us,
//!     elapsed_us: 50_000,
//!     paused_us: 250_000,
//! }];
//! let policy = |plan: &mut Plan| plan.retries = Some(Retries { most: 3, longest_pause_ms: 30_000 });
//! let lines = [again, request(&[100], 1)];
//! assert_eq!(figure_where("retried_ratio", &lines, policy), Some(0.5));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Presence, Source};

pub(crate) const RETRIED: Family = Family {
    name: "Requests sent again by policy",
    unit: Unit::Ratio,
    direction: Direction::LowerIsBetter,
    population: Population::Sent,
    presence: Presence::Retries,
    token_source: None,
    meaning: "Share of requests of which an attempt failed and another one was made by the policy of \
              --retries, whatever became of it.",
    formula: "requests with an attempt that was made again / requests that were sent",
    absent_when: "No request was sent.",
    example: "200 requests, 8 of which found no connection at first: 8 / 200 = 0.04.",
    source: Source::Share {
        metric: Entry::of_run("retried_ratio"),
        of: |sent| Some(sent.is_retried),
    },
};
