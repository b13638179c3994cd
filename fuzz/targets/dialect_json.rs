//! Any bytes through the observer, in the dialect that the first byte says or in none: as a body,
//! whole and cut at the place that the second byte says, and as the data of one event.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use streamgauge_observer::{Observed, Observer, ObserverConfig};
use streamgauge_schema::{Dialect, End};

fn observe(dialect: Option<Dialect>, reads: &[&[u8]]) -> Observed {
    let mut observer = Observer::new(ObserverConfig {
        dialect,
        max_line_bytes: 1000,
        max_event_bytes: 1000,
        max_text_bytes: 300,
        max_output_events: 8,
        ..ObserverConfig::detecting()
    });
    for read in reads {
        observer.feed(read, Duration::ZERO);
    }
    observer.finish(End::Clean, Duration::ZERO)
}

fuzz_target!(|input: &[u8]| {
    let &[dialect, cut, ref bytes @ ..] = input else { return };
    let dialect = Dialect::ALL.get(usize::from(dialect)).copied();
    let (head, tail) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let whole = observe(dialect, &[bytes]);
    let torn = observe(dialect, &[head, tail]);
    assert_eq!(torn.extraction, whole.extraction);
    assert_eq!(torn.observation.error, whole.observation.error);
    observe(dialect, &[b"data: ", bytes, b"\n\n"]);
});
