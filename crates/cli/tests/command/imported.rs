//! Result files of other tools.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{Finished, measure, only_run, quick, run, server};

fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/samples");
    folder.join(name).to_str().unwrap().to_owned()
}

fn import(tool: &str, file: &str, out: &Path, more: &[&str]) -> Finished {
    let args = ["import", tool, file, "--out", out.to_str().unwrap()];
    run(args.iter().chain(more))
}

/// The only directory in a folder.
fn only(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap();
    let only = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    only
}

#[test]
fn a_file_becomes_a_directory_that_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let finished = import("vllm", &sample("vllm-detailed.json"), folder.path(), &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let dir = only(folder.path());
    let last = finished.stdout.lines().last().unwrap();
    assert_eq!(last, dir.join("record.json").to_str().unwrap());
    let shown = finished.stdout.replace(dir.to_str().unwrap(), "RUN");
    insta::assert_snapshot!(shown);
    assert_eq!(run(["verify", dir.to_str().unwrap()]).code, Some(0));
    // The same file again is the same run.
    let again = import("vllm", &sample("vllm-detailed.json"), folder.path(), &[]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("the same run was imported before"), "{}", again.stderr);

    let requests = dir.join("requests.jsonl");
    let lines = fs::read_to_string(&requests).unwrap();
    assert_eq!(lines.lines().count(), 4);
    fs::write(&requests, lines.replace("200000", "100000")).unwrap();
    let verified = run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains("requests-are-the-evidence"), "{}", verified.stdout);
}

#[test]
fn a_file_can_hold_several_runs() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--format", "json", "--model", "small"];
    let finished = import("guidellm", &sample("guidellm.json"), folder.path(), &more);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let records: Value = serde_json::from_str(&finished.stdout).unwrap();
    let cells: Vec<&str> = records
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["load"]["cell"].as_str().unwrap())
        .collect();
    assert_eq!(cells, ["r4", "c8"]);
    assert_eq!(records[0]["deployment"]["model"], "small");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// `evalscope#1101`: two tools give different numbers for the same server. They do not measure the
/// same, so that their figures are never held against each other.
#[test]
fn figures_of_another_tool_never_meet_ours() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    let (_sim, url) = server(quick());
    assert_eq!(measure(&url, &ours, &[]).code, Some(0));
    let finished = import("vllm", &sample("vllm.json"), &theirs, &["--cell", "c4"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let [ours, theirs] =
        [only_run(&ours), only(&theirs)].map(|dir| dir.to_str().unwrap().to_owned());
    for rule in ["point", "interval"] {
        let compared = run(["compare", &ours, &theirs, "--rule", rule]);
        assert_eq!(compared.code, Some(2), "{}", compared.stdout);
        assert!(compared.stderr.contains("has no ttft_p50_ms"), "{}", compared.stderr);
    }
}

#[test]
fn what_cannot_be_imported_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let cases = [
        ("vllm", sample("README.md"), "it is no result of vLLM bench serve"),
        ("aiperf", sample("vllm.json"), "missing field `request_latency`"),
        ("guidellm", sample("missing.json"), "missing.json"),
        ("jmeter", sample("vllm.json"), "\"jmeter\" is none of aiperf, guidellm, sglang, vllm"),
    ];
    for (tool, file, expected) in cases {
        let finished = import(tool, &file, &out, &[]);
        assert_eq!(finished.code, Some(2), "{tool}");
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
        assert!(!out.exists());
    }
}
