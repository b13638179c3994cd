//! What users of other tools reported of runs that a server spoiled, with the values they would have had.

use std::fs;
use std::path::Path;

use streamgauge_sim::{FaultRule, SimConfig};

use crate::process::{Finished, only_run, quick, run, server};

/// Runs against a server at whose every Nth request a fault strikes.
fn struck(every: u64, fault: &str, requests: &str, out: &Path, more: &[&str]) -> Finished {
    let faults = vec![FaultRule { every, kind: fault.parse().unwrap() }];
    let (_server, url) = server(SimConfig { faults, ..quick() });
    let args = ["run", "--base-url", &url, "--requests", requests, "--out", out.to_str().unwrap()];
    run(args.iter().chain(&["--output-tokens", "4", "--no-length-probes"]).chain(more))
}

fn record(out: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(only_run(out).join("record.json")).unwrap()).unwrap()
}

/// vllm-project/vllm#51030: one stalled stream held a run for hours, and no file was written.
#[test]
fn one_stalled_stream_ends_by_the_idle_limit_and_everything_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--concurrency", "3", "--idle-timeout", "0.5"];
    let finished = struck(3, "stall:1", "3", folder.path(), &more);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let record = record(folder.path());
    let load = &record["load"];
    assert_eq!((&load["offered"], &load["succeeded"]), (&3.into(), &2.into()));
    assert_eq!(load["timed_out"], 1);
    let metrics = record["metrics"].as_array().unwrap();
    let duration = metrics.iter().find(|metric| metric["id"] == "batch_duration_seconds").unwrap();
    assert!((0.5..2.0).contains(&duration["value"].as_f64().unwrap()), "{duration}");
    let said = "1 × idle_timeout, for example: no bytes for 500 ms, after 2 events, ";
    assert!(finished.prose().contains(said), "{}", finished.stdout);
}

/// vllm-project/guidellm#105: a run of which too much fails should stop early, and keep what it has.
#[test]
fn a_share_of_failures_above_the_limit_stops_a_run_and_keeps_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let finished = struck(4, "status:503", "400", folder.path(), &["--max-error-rate", "0.05"]);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let record = record(folder.path());
    assert_eq!(record["status"], "aborted");
    let load = &record["load"];
    let counts = |name: &str| load[name].as_u64().unwrap();
    assert_eq!(counts("offered"), 400);
    assert!((15..100).contains(&counts("succeeded")) && counts("failed") >= 5, "{load}");
    let said = [&finished.prose(), &finished.stderr].map(|text| text.contains("0.05"));
    assert!(said.contains(&true), "{}{}", finished.stdout, finished.stderr);
}

/// vllm-project/vllm#14795: every request failed with the same words, whatever the server had said.
#[test]
fn a_run_in_which_everything_fails_says_what_the_server_said() {
    for (fault, said) in [
        ("html:502", "status 502; the body begins: <!doctype html> <title>Sorry</title>"),
        ("redirect:308", "status 308: redirects to http://elsewhere.invalid/v1/chat/completions"),
        ("close:2", "premature_eof after 3 events, "),
        ("close:20b", "the connection ended after 20 bytes, before the head of an answer"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let finished = struck(1, fault, "3", folder.path(), &[]);
        assert_eq!(finished.code, Some(4), "{fault}: {}", finished.stderr);
        let prose = finished.prose();
        assert!(prose.contains("NOTHING SUCCEEDED of 3 requests"), "{prose}");
        assert!(prose.contains(&format!("for example: {said}")), "{fault}: {prose}");
    }
}
