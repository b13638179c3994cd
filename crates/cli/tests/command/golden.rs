//! The golden documents under `verify`.

use std::io::Write as _;

use serde_json::Value;

use crate::process::run;

const RECORD: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/tests/records/serving-performance-v1.json");
const COMPARISON: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../schema/tests/records/runtime-profile-comparison-v1.json"
);

fn changed(path: &str, from: &str, to: &str) -> tempfile::NamedTempFile {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.replacen(from, to, 1).as_bytes()).unwrap();
    file
}

#[test]
fn golden_documents_hold() {
    let finished = run(["verify", RECORD, COMPARISON]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    assert_eq!(finished.stdout.matches(": holds (").count(), 2);
}

#[test]
fn a_change_is_named_with_its_place() {
    let file = changed(RECORD, "\"duration_ms\": 6931.26", "\"duration_ms\": 6931.27");
    let finished = run(["verify", file.path().to_str().unwrap()]);
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stdout.contains("cases[1].duration_ms (line 15 column 22)"),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.contains("metrics[4].value"), "{}", finished.stdout);
}

#[test]
fn a_broken_member_is_a_broken_rule_and_foreign_json_is_bad_input() {
    for (file, code, expected) in [
        (changed(RECORD, "\"pass\"", "\"passed\""), 1, "cases[0].outcome"),
        (changed(RECORD, "\"schema_version\": 1", "\"schema_version\": 3"), 2, "not a document"),
        (changed(COMPARISON, "comparison/v1", "comparison/v9"), 2, "not a document"),
        (changed(COMPARISON, "{", "["), 2, "not JSON"),
    ] {
        let finished = run(["verify", file.path().to_str().unwrap()]);
        assert_eq!(finished.code, Some(code));
        let said = finished.stdout + &finished.stderr;
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn explain_lists_what_no_rule_covers() {
    let finished = run(["verify", "--explain", "--format", "json", COMPARISON]);
    let reports: Value = serde_json::from_str(&finished.stdout).unwrap();
    let unproven = reports[0]["unproven"].as_array().unwrap();
    let has = |path: &str| unproven.iter().any(|member| member == path);
    assert!(has("cells.capacity-4k.baseline_requests"));
    assert!(has("human_decision"));
    assert!(!has("cells.capacity-4k.metrics.ttft_p50_ms.delta_percent"));
    assert!(!has("baseline_turnover.failed"));
}

#[test]
fn other_bytes_of_the_same_document_are_noticed() {
    let file = changed(RECORD, "  \"boundary\"", "   \"boundary\"");
    let finished = run(["verify", file.path().to_str().unwrap()]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stdout.contains("bytes-are-canonical: line 2"), "{}", finished.stdout);
}
