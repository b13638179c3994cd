//! What users of other tools reported of runs that a server spoiled, with the values they would have had.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use streamgauge_sim::{FaultRule, SimConfig};

use crate::process::{Finished, measure, only_run, quick, run, server};

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

/// vllm-project/guidellm#1152: a load at which the server stalls left no report of those before it.
#[test]
fn loads_that_have_ended_are_on_disk_whatever_comes_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--concurrency", "1,2", "--idle-timeout", "0.5"];
    let finished = struck(7, "stall:1", "4", folder.path(), &more);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let cell = |dir: &Path| {
        let record = fs::read(dir.join("record.json")).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        let load = &record["load"];
        let count = |name: &str| load[name].as_u64().unwrap();
        (load["cell"].as_str().unwrap().to_owned(), count("succeeded"), count("timed_out"))
    };
    let dirs = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut cells: Vec<_> = dirs.map(|dir| cell(&dir)).collect();
    cells.sort();
    assert_eq!(cells, [("c1".to_owned(), 4, 0), ("c2".to_owned(), 3, 1)]);
}

/// The same, where the time of a load is over: what is under way gets its grace, and is then given up.
#[test]
fn what_is_still_under_way_after_the_grace_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(SimConfig {
        faults: vec![FaultRule { every: 3, kind: "stall:1".parse().unwrap() }],
        ..quick()
    });
    let out = folder.path().to_str().unwrap();
    let finished = run([
        ["run", "--base-url", &url, "--out", out, "--no-length-probes"].as_slice(),
        &["--concurrency", "2", "--duration", "0.5", "--grace", "0.2", "--output-tokens", "4"],
    ]
    .concat());
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let load = record(folder.path())["load"].clone();
    assert_eq!(load["cancelled"], 2, "{load}");
    assert!(load["succeeded"].as_u64().unwrap() >= 2, "{load}");
}

/// kubernetes-sigs/inference-perf#609: a run hung for ever at its start, without a word.
#[test]
fn a_server_that_never_answers_ends_a_run_by_the_limits_and_is_named() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let finished = run([
        ["run", "--base-url", &url, "--model", "m", "--out", out, "--requests", "2"].as_slice(),
        &["--no-length-probes", "--idle-timeout", "0.3", "--connect-timeout", "0.3"],
    ]
    .concat());
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    let said = format!("{url}: GET /v1/models: no answer in ");
    assert!(finished.stderr.contains(&said), "{}", finished.stderr);
}

/// vllm-project/guidellm#434: a writer of reports crashed after the run, and there was nothing.
#[test]
fn a_report_that_cannot_be_written_costs_nothing_and_is_made_later() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(quick());
    assert_eq!(measure(&url, folder.path(), &["--no-length-probes"]).code, Some(0));
    let dir = only_run(folder.path());
    let (path, page) = (dir.to_str().unwrap(), dir.join("report.html"));
    fs::create_dir(&page).unwrap();
    let refused = run(["report", "--html", path]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("report.html"), "{}", refused.stderr);
    assert_eq!(run(["verify", path]).code, Some(0));
    fs::remove_dir(&page).unwrap();
    assert_eq!(run(["report", "--html", path]).code, Some(0));
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
}

/// huggingface/inference-benchmarker#26: a wrong name of a model gave only "no valid response".
#[test]
fn a_wrong_model_is_told_with_the_status_and_the_words_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(quick());
    let finished = measure(&url, folder.path(), &["--model", "wrong"]);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    for said in ["status 404: The model `wrong` does not exist", "it lists sim-model"] {
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
    }
}

/// vllm-project/vllm#50271: a run asked a host that nobody had named. What was contacted stands in the plan.
#[test]
fn the_plan_names_all_that_was_contacted() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(quick());
    assert_eq!(measure(&url, folder.path(), &[]).code, Some(0));
    let plan = fs::read_to_string(only_run(folder.path()).join("plan.json")).unwrap();
    let addresses: Vec<&str> = plan.split('"').filter(|text| text.contains("://")).collect();
    assert_eq!(addresses, [&url]);
}
