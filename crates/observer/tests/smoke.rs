//! Any bytes, and fixtures with some bytes changed, into every dialect: nothing panics, and nothing
//! is kept beyond the limits. `PROPTEST_CASES` says how many.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read ends its test")]

mod generated;

use std::fs;
use std::path::Path;
use std::time::Duration;

use generated::{asked, head, rubbish, stream};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use streamgauge_observer::{
    Observer, ObserverConfig, SseDecoder, SseItem, SseLimits, read_server_metrics,
};
use streamgauge_schema::{Dialect, End, Head};

const MAX_TEXT_BYTES: usize = 500;
const MAX_EVENT_BYTES: usize = 2000;

/// Observes bytes in reads of one size.
fn check(
    dialect: Option<Dialect>,
    head: Option<Head>,
    bytes: &[u8],
    read_bytes: usize,
) -> Result<(), TestCaseError> {
    let mut observer = Observer::new(ObserverConfig {
        dialect,
        max_line_bytes: MAX_EVENT_BYTES,
        max_event_bytes: MAX_EVENT_BYTES,
        max_text_bytes: MAX_TEXT_BYTES,
        ..ObserverConfig::detecting()
    });
    if let Some(head) = head {
        observer.head(head);
    }
    for (number, read) in bytes.chunks(read_bytes).enumerate() {
        observer.feed(read, Duration::from_micros(number as u64));
    }
    let observed = observer.finish(End::Clean, Duration::from_secs(1));
    let extraction = observed.extraction;
    let choices = extraction.choices.unwrap_or_default();
    let texts = choices
        .iter()
        .flat_map(|choice| [&choice.content_text, &choice.reasoning_text])
        .chain([&extraction.refusal_text]);
    prop_assert!(texts.map(|text| text.0.len()).sum::<usize>() <= MAX_TEXT_BYTES);
    prop_assert!(extraction.content_text.0.len() <= MAX_TEXT_BYTES);
    prop_assert!(observed.observation.bytes <= bytes.len() as u64);
    prop_assert!(observed.observation.events <= bytes.len() as u64);
    prop_assert!(observed.observation.coalesced_reads <= observed.observation.reads);
    Ok(())
}

/// The raw files of the fixtures, the long ones apart.
fn fixtures() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension != "json"));
    paths.sort();
    let mut files: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    files.retain(|file| !file.is_empty() && file.len() < 20_000);
    files
}

/// A fixture's bytes with some of them replaced, left out, or put in twice.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let interesting = select(b"\n\r\"\\{}[],:0-. \x00\xff".to_vec());
    let byte = prop_oneof![any::<u8>(), interesting];
    let change = (any::<Index>(), any::<Index>(), byte, 0..4_u8);
    (select(fixtures()), vec(change, 0..8)).prop_map(|(mut body, changes)| {
        for (from, to, byte, kind) in changes {
            let [from, to] = [from, to].map(|place| place.index(body.len()));
            let range = from.min(to)..from.max(to) + 1;
            match kind {
                0 => body[from] = byte,
                1 if range.len() < body.len() => drop(body.drain(range)),
                2 => body.insert(from, byte),
                _ if range.len() < 500 => body.extend_from_within(range),
                _ => {}
            }
        }
        body
    })
}

proptest! {
    #[test]
    fn any_bytes_are_observed(
        bytes in prop_oneof![
            vec(any::<u8>(), 0..600),
            rubbish(),
            stream().prop_map(|(_, bytes)| bytes),
        ],
        dialect in asked(),
        head in head(),
        read_bytes in 1..700_usize,
    ) {
        check(dialect, head, &bytes, read_bytes)?;
    }

    #[test]
    fn damaged_fixtures_are_observed(
        bytes in mutated(), dialect in asked(), head in head(), read_bytes in 1..700_usize,
    ) {
        check(dialect, head, &bytes, read_bytes)?;
    }

    #[test]
    fn any_bytes_are_decoded(
        bytes in prop_oneof![vec(any::<u8>(), 0..600), rubbish(), mutated()],
        read_bytes in 1..700_usize,
    ) {
        let limits = SseLimits { max_line_bytes: 300, max_event_bytes: 200 };
        let mut decoder = SseDecoder::new(limits);
        for mut read in bytes.chunks(read_bytes) {
            while let Some(item) = decoder.next(&mut read) {
                if let SseItem::Event(event) = item {
                    prop_assert!(!event.data.is_empty() && event.data.len() <= 200);
                }
            }
        }
        prop_assert!(decoder.position() <= bytes.len() as u64);
        prop_assert!(decoder.unfinished_line().len() <= 300);
    }
}

/// Bytes as a server's metrics might be, whole and torn.
fn exposition() -> impl Strategy<Value = Vec<u8>> {
    let name = select(vec!["vllm:num_requests_running", "llamacpp:requests_processing", "other"]);
    let labels =
        select(vec!["", "{}", "{a=\"1\"}", "{a=\"\\\"}\",b=\"é\"}", "{a=", "{\"n\"}", "{a=\"\\"]);
    let value = prop_oneof![
        any::<f64>().prop_map(|value| value.to_string()),
        select(vec!["NaN", "+Inf", "1e400", "", "1 2", "1 # {a=\"b\"} 1"]).prop_map(str::to_owned),
    ];
    let line =
        (name, labels, value).prop_map(|(name, labels, value)| format!("{name}{labels} {value}\n"));
    let cut = any::<Index>();
    (vec(line, 0..8), cut, any::<bool>()).prop_map(|(lines, cut, torn)| {
        let mut bytes = lines.concat().into_bytes();
        if torn && !bytes.is_empty() {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_as_metrics(bytes in prop_oneof![vec(any::<u8>(), 0..200), exposition()]) {
        if let Ok(samples) = read_server_metrics(&bytes) {
            for sample in &samples {
                prop_assert!(sample.value.is_finite() && sample.value >= 0.0);
                prop_assert_eq!(sample.series.len(), 8);
            }
            prop_assert!(samples.len() <= bytes.len());
        }
    }
}
