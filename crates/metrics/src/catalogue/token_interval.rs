//! Intervals between tokens, where the server counts the tokens of every event.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let mut line = request(&[10, 40, 70], 10);
//! line.observation.as_mut().unwrap().token_counts = Some(vec![1, 3, 6]);
//! // Three intervals of 10 ms and six of 5 ms.
//! assert_eq!(figure("token_interval_p50_ms", &[line.clone()]), Some(5.0));
//! assert_eq!(figure("token_interval_max_ms", &[line]), Some(10.0));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::{Family, Metrics, Population, Presence, Source};

pub(crate) const TOKEN_INTERVAL: Family = Family {
    name: "Inter-token latency (ITL)",
    unit: Unit::Milliseconds,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "the gap before an event over the tokens that the server counts in it, once for each of \
              these tokens; the first event is left out. Pooled over succeeded requests.",
    formula: "arrivals_us[n] / 1000 / token_counts[n], token_counts[n] times, for n from 1",
    absent_when: "The server did not count the tokens of every event (continuous usage), or a response \
                  has fewer than two output events. Nothing is inferred from events without counts.",
    example: "Three events 30 ms apart with 1, 3 and 6 tokens: three intervals of 10 ms and six of \
              5 ms; the mean is 60 / 9 = 6.67 ms, where the chunk interval is 30 ms.",
    source: Source::Tokens { metrics: Metrics::Both("token_interval") },
};
