//! Observes a stream that came over any transport, for whoever has a client already.
//!
//! A proxy, a browser or a replayed capture hands over the bytes of each read and when they came;
//! there is no socket and no clock here. How the bytes were cut into reads never matters.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::time::Duration;

use streamgauge_observer::{Observer, ObserverConfig, Progress};
use streamgauge_schema::{Dialect, End, Head};

/// Milliseconds since the request was sent, and what was read then: events torn and joined.
const READS: [(u64, &str); 5] = [
    (
        180,
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    ),
    (200, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Rain\"}}]}\n\ndata: {\"choi"),
    (210, "ces\":[{\"index\":0,\"delta\":{\"content\":\" falls\"}}]}\n\n"),
    (
        230,
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\".\"}}]}\n\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    ),
    (
        231,
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n\
         data: [DONE]\n\n",
    ),
];

fn main() {
    let mut observer = Observer::new(ObserverConfig::new(Dialect::OpenaiChat));
    let content_type = Some("text/event-stream".to_owned());
    observer.head(Head { content_type, ..Head::default() });
    let mut at = Duration::ZERO;
    for (ms, read) in READS {
        at = Duration::from_millis(ms);
        if observer.feed(read.as_bytes(), at) == Progress::Over {
            break;
        }
    }
    let observed = observer.finish(End::Clean, at);

    let observation = &observed.observation;
    println!("text       {}", observed.extraction.content_text.0);
    println!("succeeded  {}", observation.succeeded());
    println!("first      {}", shown(observation.first_output_us));
    println!("last       {}", shown(observation.last_output_us));
    println!("finished   {}", shown(Some(observation.elapsed_us)));
    println!("intervals  {:?} µs", &observation.arrivals_us[1..]);

    // The role alone is no output: the first token came with the second read.
    assert_eq!(observation.first_output_us, Some(200_000));
    assert_eq!(observation.arrivals_us, [200_000, 10_000, 20_000]);
    assert_eq!(observation.usage.as_ref().and_then(|usage| usage.completion_tokens), Some(3));
    assert!(observation.succeeded());
}

fn shown(stamp_us: Option<u64>) -> String {
    stamp_us.map_or_else(|| "never".to_owned(), |us| format!("{} ms", us as f64 / 1000.0))
}
