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
        assert!(compared.stderr.contains("against runs of the same tool"), "{}", compared.stderr);
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

/// `evalscope#1101` again: what vLLM's client would have said of the same run, from the same raw data.
#[test]
fn a_run_goes_out_under_vllms_keys_and_comes_back_as_the_same_figures() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (_sim, url) = server(quick());
    assert_eq!(measure(&url, &path("runs"), &[]).code, Some(0));
    let dir = only_run(&path("runs"));
    let file = path("result.json");
    let args = ["export", "--vllm", dir.to_str().unwrap(), "-o", file.to_str().unwrap()];
    let finished = run(args);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("null: max_output_tokens_per_s: "), "{}", finished.stderr);
    let finished_export = finished.stderr;
    assert_eq!(run(args).code, Some(2), "what exists is not written over");

    let read = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let record = read(&dir.join("record.json"));
    let exported = read(&file);
    assert_eq!((&exported["completed"], &exported["request_rate"]), (&8.into(), &"inf".into()));
    let finished = import("vllm", file.to_str().unwrap(), &path("back"), &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let back = read(&only(&path("back")).join("record.json"));
    let value = |record: &Value, id: &str| -> Value {
        let metrics = record["metrics"].as_array().unwrap();
        let found = metrics.iter().find(|metric| metric["id"] == id);
        found.unwrap_or_else(|| panic!("no {id}"))["value"].clone()
    };
    // On a busy machine the event with the role alone may come a millisecond before the first text.
    let is_ttft_written = exported["mean_ttft_ms"].is_number();
    assert_ne!(is_ttft_written, finished_export.contains("null: *_ttft_ms: in "));
    let latencies = [("ttft_mean_ms", "vllm_ttft_mean_ms"), ("ttft_p99_ms", "vllm_ttft_p99_ms")];
    let figures = [
        ("chunk_interval_p50_ms", "vllm_itl_p50_ms"),
        ("request_throughput_per_s", "vllm_request_throughput_per_s"),
        ("completion_throughput_tps", "vllm_output_throughput_tok_per_s"),
        ("batch_duration_seconds", "vllm_duration_s"),
    ];
    for (ours, theirs) in latencies.into_iter().filter(|_| is_ttft_written).chain(figures) {
        assert_eq!(value(&record, ours), value(&back, theirs), "{ours}");
    }
    // Out once more, under the same keys.
    let again = run(["export", "--vllm", only(&path("back")).to_str().unwrap()]);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    for key in ["mean_ttft_ms", "median_itl_ms", "std_ttft_ms", "duration", "completed"] {
        assert_eq!(again[key], exported[key], "{key}");
    }

    // A record alone does not tell where events without output were.
    let alone = run(["export", "--vllm", dir.join("record.json").to_str().unwrap()]);
    assert!(alone.stderr.contains("null: *_ttft_ms: "), "{}", alone.stderr);
    let alone: Value = serde_json::from_str(&alone.stdout).unwrap();
    assert_eq!((&alone["mean_ttft_ms"], &alone["completed"]), (&Value::Null, &8.into()));
}

#[test]
fn what_cannot_be_exported_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    assert_eq!(import("aiperf", &sample("aiperf.json"), out, &[]).code, Some(0));
    let aiperf = only(out).to_str().unwrap().to_owned();
    assert_eq!(import("sglang", &sample("sglang.jsonl"), out, &[]).code, Some(0));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../schema/tests/records/serving-performance-v1.json");
    let cases = [
        (aiperf.as_str(), "was imported from a tool whose figures are not vLLM's"),
        (out.to_str().unwrap(), "holds 3 runs; name one of them"),
        (golden.to_str().unwrap(), "is a record of version 1"),
    ];
    for (path, expected) in cases {
        let finished = run(["export", "--vllm", path]);
        assert_eq!(finished.code, Some(2), "{path}");
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    }
}

#[test]
fn runs_of_the_same_tool_are_judged_by_its_own_figures() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let sample: Value = serde_json::from_slice(&fs::read(sample("vllm.json")).unwrap()).unwrap();
    for (side, median_ms) in [("old", 250.0), ("new", 270.0)] {
        for run in 0..3 {
            let mut result = sample.clone();
            for (key, value) in [("completed", 200), ("failed", 0), ("num_prompts", 200)] {
                result[key] = value.into();
            }
            result["median_ttft_ms"] = (median_ms + f64::from(run)).into();
            let file = path(&format!("{side}{run}.json"));
            fs::write(&file, result.to_string()).unwrap();
            let finished = import("vllm", &file, Path::new(&path(side)), &[]);
            assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        }
    }
    let gates = "[[gate]]\nmetric = \"vllm_ttft_p50_ms\"\nlimit_percent = 5\nstatistic = \"p50\"\n";
    fs::write(path("gates.toml"), gates).unwrap();
    let (old, new, gates) = (path("old"), path("new"), path("gates.toml"));
    let args =
        ["compare", &old, &new, "--rule", "interval", "--pairing", "unpaired", "--gates", &gates];
    let refused = run(args);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("dataset of cell c2"), "{}", refused.stderr);
    let judged = run(args.iter().chain(&["--allow-differing", "dataset"]));
    assert_eq!(judged.code, Some(1), "{}", judged.stderr);
    assert!(judged.prose().contains("c2 vllm_ttft_p50_ms: FAIL"), "{}", judged.stdout);
}

/// `inference-benchmarker#29`: the throughput that is shown is not what the server shows. Tokens are
/// the server's own count, and no throughput is above the one that the server saw.
#[test]
fn what_goes_out_agrees_with_the_servers_own_counters() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let (sim, url) = server(quick());
    assert_eq!(measure(&url, &runs, &[]).code, Some(0));
    let finished = run(["export", "--vllm", only_run(&runs).to_str().unwrap()]);
    let exported: Value = serde_json::from_str(&finished.stdout).unwrap();
    // What came before were prompts to find out their lengths by.
    let mut account = sim.account();
    account.sort_by_key(|request| request.ordinal);
    let measured = account.split_off(account.len() - 8);
    let tokens: u64 = measured.iter().map(|request| request.completion_tokens).sum();
    assert_eq!(exported["total_output_tokens"].as_u64(), Some(tokens));
    let from_ns = measured.iter().map(|request| request.received_ns).min().unwrap();
    let to_ns = measured.iter().filter_map(|request| request.last_write_ns).max().unwrap();
    let seen_by_server = tokens as f64 / ((to_ns - from_ns) as f64 / 1e9);
    let shown = exported["output_throughput"].as_f64().unwrap();
    let duration_s = exported["duration"].as_f64().unwrap();
    assert!(shown <= seen_by_server, "{shown} tok/s, {seen_by_server} by the server");
    assert!((shown * duration_s - tokens as f64).abs() < 1e-6);
}
