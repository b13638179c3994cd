//! The datasets that ship: held against their manifests, and asked of a server.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{Finished, only_run, quick, run, server};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets")
}

/// A folder with a copy of a set and its manifest, either changed.
fn copy(
    of: &str,
    dataset: fn(String) -> String,
    manifest: fn(String) -> String,
) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (ending, change) in [("jsonl", dataset), ("manifest.json", manifest)] {
        let name = format!("{of}.{ending}");
        let text = fs::read_to_string(shipped().join(&name)).unwrap();
        fs::write(folder.path().join(name), change(text)).unwrap();
    }
    folder
}

fn verify(path: &Path) -> Finished {
    run(["verify", path.to_str().unwrap()])
}

fn same(text: String) -> String {
    text
}

#[test]
fn all_that_ship_hold_one_by_one_and_as_a_folder() {
    let folder = verify(&shipped());
    assert_eq!(folder.code, Some(0), "{}", folder.stdout);
    assert_eq!(folder.stdout.matches(": holds (").count(), 5, "{}", folder.stdout);
    for path in ["turnover-v1.jsonl", "turnover-v1.manifest.json"] {
        let one = verify(&shipped().join(path));
        assert_eq!(one.code, Some(0), "{}", one.stdout);
        assert!(one.stdout.contains("turnover-v1.manifest.json: holds ("), "{}", one.stdout);
    }
}

#[test]
fn every_way_in_which_file_and_manifest_differ_is_named() {
    type Change = fn(String) -> String;
    let cases: [(Change, Change, &str); 10] = [
        (|it| it.replacen("anchor", "Anchor", 1), same, "sha256: the file has "),
        (|it| it + "\n", same, "bytes: the file has 35589, not 35588"),
        (|it| it.split_inclusive('\n').skip(1).collect(), same, "lines: the file has 127, not 128"),
        (|it| it.replacen("\"prompt\"", "\"promt\"", 1), same, "promt: unknown member"),
        (|it| it.replacen("\"controlled_output\"", "\"repeated\"", 1), same, "line 1"),
        (
            |it| {
                it.replacen(
                    "\"expect\":",
                    "\"max_tokens\":9}\n{\"id\":\"x\",\"prompt\":\"x\",\"expect\":",
                    1,
                )
            },
            same,
            "line 1: nothing is expected of its answer",
        ),
        (
            |it| {
                let first = it.lines().next().unwrap_or_default().replacen("-001", "-000", 1);
                format!("{first}\n{it}")
            },
            same,
            "line 2 asks what line 1 asks",
        ),
        (
            |it| {
                let first = it.lines().next().unwrap_or_default();
                let first = first.replacen("-001", "-000", 1).replacen("Begin", "Start", 1);
                format!("{first}\n{it}")
            },
            same,
            "holds another marker",
        ),
        (
            same,
            |it| it.replacen("controlled-output-v1", "canary-v1", 1),
            "graders: the file has controlled-output-v1, not canary-v1",
        ),
        (
            same,
            |it| it.replacen("\"version\": 1", "\"version\": 2", 1),
            "turnover-v1.jsonl is not called turnover-v2",
        ),
    ];
    for (dataset, manifest, expected) in cases {
        let folder = copy("turnover-v1", dataset, manifest);
        let finished = verify(&folder.path().join("turnover-v1.jsonl"));
        assert_eq!(finished.code, Some(1), "{expected}: {}", finished.stdout);
        assert!(finished.stdout.contains(expected), "{expected}: {}", finished.stdout);
    }
    let folder = copy("turnover-v1", same, |it| it.replacen("\"lines\"", "\"rows\"", 1));
    let finished = verify(folder.path());
    assert_eq!(finished.code, Some(1));
    assert!(finished.stdout.contains("unknown field `rows`"), "{}", finished.stdout);
    let folder = copy("turnover-v1", same, same);
    fs::remove_file(folder.path().join("turnover-v1.jsonl")).unwrap();
    let finished = verify(&folder.path().join("turnover-v1.manifest.json"));
    assert_eq!(finished.code, Some(2), "{}", finished.stdout);
    assert!(finished.stderr.contains("turnover-v1.jsonl"), "{}", finished.stderr);
}

#[test]
fn a_run_names_the_set_that_its_manifest_vouches_for() {
    let (_server, url) = server(quick());
    let out = tempfile::tempdir().unwrap();
    let measured = |dataset: &Path, more: &[&str]| {
        let fixed = [
            "run",
            "--base-url",
            &url,
            "--dataset",
            dataset.to_str().unwrap(),
            "--requests",
            "4",
            "--out",
            out.path().to_str().unwrap(),
        ];
        run(fixed.iter().chain(more))
    };
    let shipped = shipped().join("turnover-v1.jsonl");
    let finished = measured(&shipped, &["--output-tokens", "96"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let record = fs::read(only_run(out.path()).join("record.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["suite_version"], "turnover-v1");

    let short = measured(&shipped, &["--output-tokens", "95", "--dry-run"]);
    let warning = "warning: turnover-v1 needs up to 96 tokens for an answer without reasoning; answers \
                   that --output-tokens 95 cuts cannot pass";
    assert!(short.stderr.starts_with(warning), "{}", short.stderr);

    let changed = copy("turnover-v1", |it| it.replacen("gauge", "gouge", 2), same);
    let refused = measured(&changed.path().join("turnover-v1.jsonl"), &["--output-tokens", "96"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains(", and its manifest "), "{}", refused.stderr);
}
