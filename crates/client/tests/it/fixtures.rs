//! Saved HTTP responses are read by hyper as live ones are, whatever the cuts.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use streamgauge_client::{SavedRead, replay_http};
use streamgauge_observer::ObserverConfig;

fn fixtures() -> Vec<(String, Vec<u8>, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../observer/tests/streams");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "http"))
        .map(|path| {
            let description = std::fs::read(path.with_extension("json")).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let expectation = serde_json::from_slice(&description).unwrap();
            (name, std::fs::read(path).unwrap(), expectation)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(found.len() >= 15, "{} saved responses", found.len());
    found
}

fn cut(bytes: &[u8], size: usize) -> Vec<SavedRead> {
    (0..)
        .zip(bytes.chunks(size))
        .map(|(read, bytes)| SavedRead { at: Duration::from_micros(read), bytes: bytes.to_vec() })
        .collect()
}

#[tokio::test]
async fn saved_responses_give_their_extraction_whatever_the_cuts() {
    for (name, bytes, description) in fixtures() {
        for size in [bytes.len(), 1, 2, 3, 7, 64, 1000, 4096] {
            let dialect = description["dialect"].as_str().unwrap().parse().unwrap();
            let observed =
                replay_http(cut(&bytes, size), ObserverConfig::new(dialect)).await.unwrap();
            let extraction = serde_json::to_value(&observed.extraction).unwrap();
            for (member, expected) in description["expect"].as_object().unwrap() {
                let found = extraction.get(member).unwrap_or(&Value::Null);
                assert_eq!(found, expected, "{name} in reads of {size}: {member}");
            }
        }
    }
}
