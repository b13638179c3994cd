//! The files beside this crate are what it makes, whole and of the size that they are to have.
//! `UPDATE_DATASETS=1` writes them anew.

#![expect(clippy::unwrap_used, reason = "a test may end by a panic")]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use streamgauge_datasets::{Made, SETS, Set};
use streamgauge_schema::{Digest, Layout, file_bytes};
use streamgauge_workload::{Dataset, Prompt};

fn files(made: &Made) -> [(PathBuf, Vec<u8>); 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let jsonl = folder.join(made.manifest.file.as_str());
    let manifest = jsonl.with_extension("manifest.json");
    [(manifest, file_bytes(&made.manifest, Layout::AsGiven).unwrap()), (jsonl, made.jsonl.clone())]
}

#[test]
fn the_files_are_those_that_the_seed_gives() {
    for set in &SETS {
        for (path, bytes) in files(&set.make()) {
            if std::env::var_os("UPDATE_DATASETS").is_some() {
                std::fs::write(&path, &bytes).unwrap();
            }
            assert!(
                std::fs::read(&path).is_ok_and(|found| found == bytes),
                "{} is stale: run this test with UPDATE_DATASETS=1, and count up the set's version if it \
                 was released",
                path.display()
            );
        }
    }
}

#[test]
fn a_released_version_keeps_its_bytes() {
    let digests: Vec<String> = SETS
        .iter()
        .map(|set| format!("{}-v{} {}", set.name, set.version, Digest::of(&set.make().jsonl)))
        .collect();
    assert_eq!(digests, RELEASED);
}

const RELEASED: [&str; 5] = [
    "arithmetic-v1 4059fed613b7d47e63358ace48497ffd7ebfb7f8b8f307b35302d543cda9684d",
    "evidence-512-v1 e6f155d971b60c47b531b6e9b5eee77a151a0f3bcde2a118482d2e6601101a6f",
    "evidence-4k-v1 b7d66033b260fc0b2bfd2cecab1c25cd1351417556aef495f8302083069bbaf6",
    "evidence-16k-v1 cb9646b63c7884140e2f2c334242e3575184da5db6334c5d1e2b6a829150593a",
    "turnover-v1 22d47cdbc2f9444f4efcfcfd595092187fd8e44de59297d6aa03105c0e137759",
];

#[test]
fn every_line_can_be_sent_and_no_prompt_is_asked_twice() {
    let mut prompts = HashSet::new();
    for set in &SETS {
        let dataset = Dataset::parse(&set.make().jsonl, set.name).unwrap();
        assert_eq!(dataset.lines().len(), set.cases().len());
        for line in dataset.lines() {
            assert!(line.expect.is_some(), "{}", line.id);
            let Prompt::Text(text) = &line.prompt else { panic!("{} is no text", line.id) };
            assert!(prompts.insert(text.clone()), "{}: its prompt occurs twice", line.id);
        }
    }
}

/// Characters, as nothing here counts tokens: an invoice has 2.1 of them to a token, a report 3.6.
#[test]
fn documents_are_as_long_as_their_set_is_called() {
    for (name, tokens) in
        [("evidence-512", 512.0), ("evidence-4k", 4096.0), ("evidence-16k", 16384.0)]
    {
        let set = SETS.iter().find(|set| set.name == name).unwrap();
        for case in set.cases() {
            let chars_per_token = case.line.prompt.len() as f64 / tokens;
            assert!((2.05..3.75).contains(&chars_per_token), "{}: {chars_per_token}", case.line.id);
        }
    }
}

#[test]
fn all_files_together_stay_small() {
    let bytes: usize = SETS.iter().map(|set: &Set| set.make().jsonl.len()).sum();
    assert!(bytes < 500_000, "{bytes} bytes");
}
