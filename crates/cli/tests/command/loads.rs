//! `run` by rates, stages, traces and durations; searches; `calibrate`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use streamgauge_sim::{FaultKind, FaultRule, SimConfig};

use crate::process::{Finished, only_run, quick, run, server};

/// Runs `run` with answers of two tokens to prompts that are not counted.
fn load(url: &str, out: &Path, more: &[&str]) -> Finished {
    let out = out.to_str().unwrap();
    let args = ["run", "--base-url", url, "--out", out, "--output-tokens", "2"];
    run(args.iter().chain(&["--no-length-probes"]).chain(more))
}

fn record(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(only_run(folder).join("record.json")).unwrap()).unwrap()
}

#[test]
fn each_shape_of_load_is_carried_out_and_recorded() {
    for (more, cell, shape, offered, stages) in [
        (
            &["--request-rate", "100", "--arrival", "constant", "--requests", "20"][..],
            "r100",
            "open_loop",
            20,
            1,
        ),
        (
            &["--request-rate", "50:100ms,100..200:200ms", "--arrival", "constant"],
            "r50_100-200",
            "open_loop",
            35,
            2,
        ),
        (
            &["--request-rate", "200", "--duration", "0.2", "--arrival", "constant"],
            "r200",
            "open_loop",
            40,
            1,
        ),
        (&["--concurrency", "3", "--requests", "9"], "c3", "closed_loop", 9, 0),
    ] {
        let (_server, url) = server(quick());
        let folder = tempfile::tempdir().unwrap();
        let finished = load(&url, folder.path(), more);
        assert!(finished.stderr.is_empty(), "{}", finished.stderr);
        let record = record(folder.path());
        let report = &record["load"];
        assert_eq!(report["cell"], cell);
        assert_eq!(report["shape"], shape);
        assert_eq!((&report["offered"], &report["succeeded"]), (&offered.into(), &offered.into()));
        let found = report["stages"].as_array().unwrap();
        assert_eq!(found.len(), stages);
        let planned: u64 = found.iter().map(|stage| stage["planned"].as_u64().unwrap()).sum();
        assert_eq!(planned, if stages == 0 { 0 } else { offered });
        assert!(found.iter().all(|stage| stage["valid"] == true));
        let dir = only_run(folder.path());
        let verified = run(["verify", dir.to_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    }
}

#[test]
fn a_closed_loop_ends_with_its_duration() {
    let (server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let more = ["--concurrency", "2", "--duration", "0.3"];
    let finished = load(&url, folder.path(), &more);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let record = record(folder.path());
    let sent = server.shutdown().len() as u64;
    assert_eq!(record["load"]["offered"], sent);
    assert_eq!(record["load"]["not_sent"], 0);
    assert_eq!(record["status"], "completed");
}

#[test]
fn a_trace_sends_each_line_at_its_time() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jsonl");
    let lines = [
        r#"{"id": "a", "prompt": "Hello", "at_ms": 0}"#,
        r#"{"id": "b", "prompt": "Good day", "at_ms": 40}"#,
        r#"{"id": "c", "input_tokens": 64, "at_ms": 60}"#,
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    let runs = folder.path().join("runs");
    let (out, file) = (runs.to_str().unwrap(), file.to_str().unwrap());
    let finished = run([
        "run",
        "--base-url",
        &url,
        "--out",
        out,
        "--dataset",
        file,
        "--trace",
        "--requests",
        "3",
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let journal = fs::read_to_string(only_run(&runs).join("observations.jsonl")).unwrap();
    let due = |id: &str| {
        let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut found = lines.filter(|line| line["request"]["dataset_id"] == id);
        found.next().unwrap()["request"]["scheduled_us"].as_u64().unwrap()
    };
    assert_eq!((due("b") - due("a"), due("c") - due("a")), (40_000, 60_000));
    let refused = run(["run", "--base-url", &url, "--out", out, "--trace", "--requests", "3"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn too_many_failures_stop_a_cell() {
    let faults =
        vec![FaultRule { every: 1, kind: FaultKind::Status { code: 503, retry_after_s: None } }];
    let (server, url) = server(SimConfig { faults, ..quick() });
    let folder = tempfile::tempdir().unwrap();
    let more = ["--requests", "500", "--concurrency", "4", "--max-error-rate", "0.1"];
    let finished = load(&url, folder.path(), &more);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    let record = record(folder.path());
    assert_eq!(record["status"], "aborted");
    assert!(record["limitations"].to_string().contains("fail"), "{}", record["limitations"]);
    assert!(server.shutdown().len() < 100);
}

#[test]
fn prompts_of_two_runs_are_apart_unless_asked_for() {
    let digests = |more: &[&str]| -> BTreeSet<String> {
        let (_server, url) = server(quick());
        let folder = tempfile::tempdir().unwrap();
        load(&url, folder.path(), &[&["--requests", "4"], more].concat());
        let journal =
            fs::read_to_string(only_run(folder.path()).join("observations.jsonl")).unwrap();
        let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let digests =
            lines.filter_map(|line| line["request"]["prompt_sha256"].as_str().map(str::to_owned));
        digests.collect()
    };
    assert!(digests(&[]).is_disjoint(&digests(&[])));
    assert_eq!(digests(&["--nonce-seed", "5"]), digests(&["--nonce-seed", "5"]));
    assert_eq!(digests(&["--allow-cached-prompts"]), digests(&["--allow-cached-prompts"]));
}

/// sgl-project/sglang#13934: a warm-up that replays a prompt of the measurement leaves it in the cache.
#[test]
fn a_servers_cache_holds_nothing_of_what_is_measured_unless_asked_for() {
    let (_server, url) = server(SimConfig { prompt_cache: true, ..quick() });
    let cached = |more: &[&str]| -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        load(&url, folder.path(), &[&["--requests", "4", "--warmup", "2"], more].concat());
        let journal =
            fs::read_to_string(only_run(folder.path()).join("observations.jsonl")).unwrap();
        let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let measured = lines.filter(|line| line["request"]["stage"] == "measured");
        let tokens =
            |line: Value| line["request"]["observation"]["usage"]["cached_tokens"].as_u64();
        measured.map(|line| tokens(line).unwrap()).collect()
    };
    assert_eq!(cached(&[]), [0; 4]);
    assert_eq!(cached(&[]), [0; 4], "a second run meets what the first one left");
    cached(&["--allow-cached-prompts"]);
    let again = cached(&["--allow-cached-prompts"]);
    assert!(again.iter().all(|tokens| *tokens > 0), "{again:?}");
}

#[test]
fn prompts_get_the_length_that_the_server_counts() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let args = ["run", "--base-url", &url, "--out", out, "--requests", "4", "--output-tokens", "2"];
    let finished = run(args.iter().chain(&["--input-tokens", "200", "--prefix-tokens", "100"]));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let record = record(folder.path());
    let performance = &record["performance"];
    for bound in ["actual_input_tokens_min", "actual_input_tokens_max"] {
        assert!(performance[bound].as_u64().unwrap().abs_diff(200) <= 4, "{performance}");
    }
}

#[test]
fn a_search_finds_the_highest_load_and_keeps_its_probes() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    // Whatever the load, every request takes longer than the one goal and less than the other.
    for (goal, code, held) in [("e2e:60000", 0, Value::from(4.0)), ("e2e:1", 3, Value::Null)] {
        let out = folder.path().join(goal.replace(':', "-"));
        let more = ["--search", "concurrency", "--search-to", "4", "--requests", "8"];
        let finished = load(&url, &out, &[&more[..], &["--goodput", goal]].concat());
        assert_eq!(finished.code, Some(code), "{}", finished.stderr);
        let paths = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        let (files, runs): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_file());
        let report: Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
        assert_eq!(report["highest_held"], held);
        assert_eq!(report["probes"].as_array().unwrap().len(), runs.len());
        let plan = runs[0].join("plan.json");
        for (path, note) in [(&files[0], "note: a search report,"), (&plan, "note: a plan,")] {
            let verified = run(["verify", path.to_str().unwrap()]);
            assert_eq!(verified.code, Some(0), "{}", verified.stderr);
            assert!(verified.stdout.contains(note), "{}", verified.stdout);
        }
    }
}

#[test]
fn a_search_ends_where_nothing_succeeds_and_holds_nothing() {
    let faults =
        vec![FaultRule { every: 1, kind: FaultKind::Status { code: 401, retry_after_s: None } }];
    let (_server, url) = server(SimConfig { faults, ..quick() });
    let folder = tempfile::tempdir().unwrap();
    let more = ["--search", "rate", "--goodput", "e2e:1000", "--requests", "5"];
    let finished = load(&url, folder.path(), &more);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let file = files.into_iter().find(|path| path.is_file()).unwrap();
    let report: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!((&report["complete"], &report["highest_held"]), (&false.into(), &Value::Null));
    assert_eq!(report["probes"][0]["reason"], "nothing_succeeded");
}

#[test]
fn a_probe_that_was_not_offered_holds_nothing() {
    let slow = SimConfig { ttft: Duration::from_millis(300), ..quick() };
    let (_server, url) = server(slow);
    let folder = tempfile::tempdir().unwrap();
    let more = ["--search", "concurrency", "--search-to", "2", "--goodput", "e2e:60000"];
    let cut = ["--duration", "0.1", "--grace", "0.01"];
    let finished = load(&url, folder.path(), &[&more[..], &cut].concat());
    assert_ne!(finished.code, Some(0), "{}", finished.stdout);
}

#[test]
fn a_server_that_is_not_there_is_waited_for() {
    let more = ["--wait-ready", "0.2", "--requests", "1"];
    let folder = tempfile::tempdir().unwrap();
    let finished = load("http://127.0.0.1:1", folder.path(), &more);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    let (_server, url) = server(SimConfig { ttft: Duration::from_millis(1), ..quick() });
    let finished = load(&url, folder.path(), &more);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[test]
fn calibration_tells_errors_and_a_run_attaches_them() {
    let finished = run(["calibrate", "--streams", "2", "--format", "json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let rows: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(rows[0]["streams"], 2);
    assert_eq!(rows[0]["events"], 2 * 3 * 25);
    assert_eq!(rows.as_array().unwrap().len(), 2);

    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let more = ["--requests", "4", "--concurrency", "2", "--calibrate"];
    let finished = load(&url, folder.path(), &more);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(record(folder.path())["instrument"]["calibration"]["streams"], 2);
}
