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

/// Reads that end at the given offsets; read k arrives at k microseconds.
fn cut(bytes: &[u8], offsets: &[usize]) -> Vec<SavedRead> {
    let ends = offsets.iter().copied().chain([bytes.len()]);
    let mut from = 0;
    (0..)
        .zip(ends)
        .map(|(read, to)| {
            let bytes = bytes[from..to].to_vec();
            from = to;
            SavedRead { at: Duration::from_micros(read), bytes }
        })
        .collect()
}

/// The cuts under which every fixture must give the same: even ones, the fixture's own, and some
/// at seeded places.
fn cuts(length: usize, description: &Value) -> Vec<Vec<usize>> {
    let mut cuts: Vec<Vec<usize>> = [length, 1, 2, 3, 7, 64, 1000, 4096]
        .iter()
        .map(|&size| (size..length).step_by(size).collect())
        .collect();
    if let Some(own) = description["split_plan"].as_array() {
        let offset = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        cuts.push(own.iter().map(offset).collect());
    }
    let mut state = 0x9e37_79b9_usize;
    for _ in 0..20 {
        let mut offsets: Vec<usize> = (0..8)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % length
            })
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets.retain(|&offset| offset > 0);
        cuts.push(offsets);
    }
    cuts
}

#[tokio::test]
async fn saved_responses_give_their_extraction_whatever_the_cuts() {
    for (name, bytes, description) in fixtures() {
        for offsets in cuts(bytes.len(), &description) {
            let dialect = description["dialect"].as_str().unwrap().parse().unwrap();
            let reads = cut(&bytes, &offsets);
            let observed = replay_http(reads, ObserverConfig::new(dialect)).await.unwrap();
            let extraction = serde_json::to_value(&observed.extraction).unwrap();
            for (member, expected) in description["expect"].as_object().unwrap() {
                let found = extraction.get(member).unwrap_or(&Value::Null);
                assert_eq!(found, expected, "{name} cut at {offsets:?}: {member}");
            }
        }
    }
}
