//! `observe`: saved responses, by the rules of the stream fixtures.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{measure, only_run, quick, run, server};

/// Files that are too long to be fed byte by byte through a process in a test.
const LONG: u64 = 100_000;

fn fixtures() -> Vec<(PathBuf, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../observer/tests/streams");
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let extension = path.extension().unwrap_or_default();
            ["sse", "ndjson", "http"].iter().any(|known| extension == *known)
        })
        .map(|path| {
            let description = fs::read(path.with_extension("json")).unwrap();
            (path, serde_json::from_slice(&description).unwrap())
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(found.len() >= 200, "{} fixtures", found.len());
    found
}

fn arguments(path: &Path, description: &Value, cuts: Option<&str>) -> Vec<String> {
    let mut arguments = vec!["observe".to_owned(), path.to_str().unwrap().to_owned()];
    let mut flag = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    flag("--api", description["dialect"].as_str().unwrap().to_owned());
    for (limit, name) in
        [("max_line_bytes", "--max-line-bytes"), ("max_event_bytes", "--max-event-bytes")]
    {
        if let Some(bytes) = description["limits"][limit].as_u64() {
            flag(name, bytes.to_string());
        }
    }
    if let Some(cuts) = cuts {
        flag("--cuts", cuts.to_owned());
    }
    arguments.push("--extraction".to_owned());
    arguments
}

#[test]
fn every_fixture_gives_its_extraction() {
    for (path, description) in fixtures() {
        let own = match &description["split_plan"] {
            Value::String(word) if word == "each_byte" => Some("each-byte".to_owned()),
            Value::Array(offsets) => {
                let offsets: Vec<String> = offsets.iter().map(ToString::to_string).collect();
                (!offsets.is_empty()).then(|| offsets.join(","))
            }
            _ => None,
        };
        let long = fs::metadata(&path).unwrap().len() > LONG;
        let each_byte = (!long).then_some("each-byte");
        for cuts in [None, own.as_deref(), each_byte, Some("random:7")] {
            let finished = run(arguments(&path, &description, cuts));
            assert_eq!(finished.code, Some(0), "{path:?}: {}", finished.stderr);
            let extraction: Value = serde_json::from_str(&finished.stdout).unwrap();
            let expected = &description["expect"];
            if &extraction != expected {
                for (member, value) in expected.as_object().unwrap() {
                    assert_eq!(&extraction[member], value, "{path:?} cut {cuts:?}: {member}");
                }
                assert_eq!(&extraction, expected, "{path:?} cut {cuts:?}");
            }
        }
    }
}

#[test]
fn a_capture_gives_the_observation_of_its_run() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(measure(&url, folder.path(), &["--capture"]).code, Some(0));
    let dir = only_run(folder.path());
    let journal = fs::read_to_string(dir.join("observations.jsonl")).unwrap();
    let mut compared = 0;
    for line in journal.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(request) = line.get("request") else { continue };
        let name = format!("measured-{}.capture", request["index"]);
        let capture = dir.join("capture").join(name);
        let finished = run(["observe", capture.to_str().unwrap()]);
        let observation: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(observation, request["observation"]);
        compared += 1;
    }
    assert_eq!(compared, 8);
}

#[test]
fn cuts_and_files_that_make_no_sense_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let stream = folder.path().join("stream.sse");
    fs::write(&stream, "data: {}\n\n").unwrap();
    let stream = stream.to_str().unwrap();
    for (arguments, expected) in [
        (vec!["observe", stream, "--cuts", "3,2"], "\"3,2\" is none of each-byte"),
        (vec!["observe", stream, "--cuts", "0"], "\"0\" is none of each-byte"),
        (vec!["observe", stream, "--cuts", "10"], "offset 10 is not within the 10 bytes"),
        (vec!["observe", "nowhere.sse"], "cannot read nowhere.sse"),
    ] {
        let finished = run(arguments);
        assert_eq!(finished.code, Some(2));
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    }
}

#[test]
fn what_was_published_is_no_response() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/tests/records");
    for (name, what) in [
        ("serving-performance-v1.json", "this is the record of a run, and no saved response"),
        ("runtime-profile-comparison-v1.json", "this is a comparison, and no saved response"),
    ] {
        let refused = run(["observe", records.join(name).to_str().unwrap()]);
        assert_eq!(refused.code, Some(2), "{}", refused.stdout);
        assert!(refused.stderr.contains(what), "{}", refused.stderr);
    }
}
