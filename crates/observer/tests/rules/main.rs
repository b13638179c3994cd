//! What is measured of a stream: each test states one rule and the values that follow from it.

mod bodies;
mod counts;
mod dialects;
mod failures;
mod framing;
mod times;

use std::time::Duration;

use streamgauge_observer::{Observed, Observer, ObserverConfig, Progress};
use streamgauge_schema::{AnomalyKind, BodyKind, Dialect, End, Ending, FailureClass, Head};

const ROLE: &str = r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#;
const TEXT: &str = r#"{"choices":[{"index":0,"delta":{"content":"text"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const LENGTH: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
const DONE: &str = "[DONE]";

/// A chunk with one choice and this delta.
fn delta(members: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{{members}}}}}]}}"#)
}

fn config() -> ObserverConfig {
    ObserverConfig::new(Dialect::OpenaiChat)
}

/// Observes whole reads that arrive after so many milliseconds.
fn observe_reads(reads: &[(u64, &str)]) -> Observed {
    observe_with(config(), None, reads, End::Clean)
}

fn observe_with(
    config: ObserverConfig,
    head: Option<Head>,
    reads: &[(u64, &str)],
    end: End,
) -> Observed {
    let mut observer = Observer::new(config);
    if let Some(head) = head {
        observer.head(head);
    }
    for (at_ms, read) in reads {
        observer.feed(read.as_bytes(), Duration::from_millis(*at_ms));
    }
    observer.finish(end, Duration::from_millis(reads.last().map_or(0, |(at_ms, _)| *at_ms)))
}

/// Observes events, each in a read of its own that arrives after so many milliseconds.
fn observe_events(events: &[(u64, &str)]) -> Observed {
    let reads: Vec<(u64, String)> =
        events.iter().map(|(at_ms, data)| (*at_ms, format!("data: {data}\n\n"))).collect();
    let reads: Vec<(u64, &str)> = reads.iter().map(|(at, read)| (*at, read.as_str())).collect();
    observe_reads(&reads)
}

fn anomaly(observed: &Observed, kind: AnomalyKind) -> Option<(u64, u64)> {
    let anomalies = &observed.observation.anomalies;
    let found = anomalies.iter().find(|anomaly| anomaly.kind == kind)?;
    Some((found.count, found.first_offset))
}

fn content_type(content_type: &str) -> Option<Head> {
    Some(Head { content_type: Some(content_type.to_owned()), ..Head::default() })
}
