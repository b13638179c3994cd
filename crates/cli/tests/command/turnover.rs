//! `turnover`: a right server is never accused, and each way of being wrong is caught by its class.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use streamgauge_sim::{FaultKind, FaultPoint, FaultRule, SimConfig};

use crate::process::{Finished, measure, only_run, quick, run, server};

/// Words that each answer has to hold.
const COUNT: u64 = 6;

/// Runs `turnover` of eight requests in flight into a folder.
fn turn_over(url: &str, out: &Path, more: &[&str]) -> Finished {
    let args = ["turnover", "--base-url", url, "--out", out.to_str().unwrap(), "--count", "6"];
    run(args.iter().chain(more))
}

fn record_of(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("record.json")).unwrap()).unwrap()
}

fn verify(path: &Path) {
    let verified = run(["verify", path.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}

fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn a_right_server_passes() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let finished = turn_over(&url, folder.path(), &["--repeats", "2", "--warmup", "3"]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    assert!(
        finished.stdout.contains("40 of 40 answers exact, strict: pass"),
        "{}",
        finished.stdout
    );
    let dirs = runs_in(folder.path());
    let records: Vec<Value> = dirs.iter().map(|dir| record_of(dir)).collect();
    let [one, again] = &records[..] else { panic!("{dirs:?}") };
    assert_ne!(one["suite_sha256"], again["suite_sha256"], "each has markers of its own");
    assert_eq!(one["phase"], "turnover");
    assert_eq!(one["counts"]["primary_passes"], 40);
    let part = &one["turnover"];
    assert_eq!((&part["policy"], &part["waves"]), (&"strict".into(), &4.into()));
    let outcome = serde_json::json!({
        "requests": 40, "exact_output_passed": 40, "failed": 0, "responses_received": 40,
        "performance_eligible": true, "failures": [],
    });
    assert_eq!(part["outcome"], outcome);
    for dir in dirs {
        verify(&dir);
        assert!(!record_of(&dir).to_string().contains("apple"), "what is asked is private");
    }
}

/// What an answer to a faulty request must be called.
struct Expected {
    class: &'static str,
    words: Option<u64>,
    finish: &'static [&'static str],
    canary: Option<bool>,
}

#[test]
fn each_way_of_being_wrong_has_its_class() {
    let output = "controlled_output_failed";
    let canary = "request_canary_failed";
    let stream = "stream_validation_failed";
    let transport = "request_error";
    let all = Some(COUNT);
    let own = |class, words, finish| Expected { class, words, finish, canary: Some(true) };
    let no_answer = |class, finish| Expected { class, words: None, finish, canary: None };
    let stop: &[&str] = &["stop"];
    let cases = [
        (
            FaultKind::Cross,
            Expected { class: canary, words: all, finish: stop, canary: Some(false) },
        ),
        (FaultKind::DropWords { count: 2 }, own(output, Some(COUNT - 2), stop)),
        (FaultKind::LengthLimited { after_words: 3 }, own(output, Some(2), &["length"])),
        (FaultKind::OtherModel, own(stream, all, stop)),
        (
            FaultKind::ThinkTags,
            Expected { class: canary, words: all, finish: stop, canary: Some(false) },
        ),
        (FaultKind::EndEarly { after_outputs: 3 }, no_answer(stream, &[])),
        (FaultKind::Reset(FaultPoint::AfterOutputs(2)), no_answer(transport, &[])),
        (FaultKind::Status { code: 503, retry_after_s: None }, no_answer(transport, &[])),
    ];
    for (kind, expected) in cases {
        // Long enough that a request that is to cross meets another one.
        let ttft = Duration::from_millis(30);
        let faults = vec![FaultRule { every: 7, kind }];
        let (_server, url) = server(SimConfig { ttft, faults, ..quick() });
        let folder = tempfile::tempdir().unwrap();
        let finished = turn_over(&url, folder.path(), &[]);
        let said = format!("{kind}: {}{}", finished.stdout, finished.stderr);
        assert_eq!(finished.code, Some(1), "{said}");
        assert!(finished.stdout.contains("strict: FAIL"), "{said}");
        assert!(finished.stdout.contains(expected.class), "{said}");
        let dir = only_run(folder.path());
        let record = record_of(&dir);
        let outcome = &record["turnover"]["outcome"];
        let failures = outcome["failures"].as_array().unwrap();
        let wrong = if kind == FaultKind::Cross { 2..=10 } else { 5..=5 };
        assert!(wrong.contains(&failures.len()), "{said}");
        assert_eq!(outcome["exact_output_passed"], 40 - failures.len(), "{said}");
        assert_eq!(outcome["performance_eligible"], false, "{said}");
        for failure in failures {
            assert_eq!(failure["failure_class"], expected.class, "{said}");
            assert_eq!(failure["words"], serde_json::json!(expected.words), "{said}");
            assert_eq!(failure["finish_reasons"], serde_json::json!(expected.finish), "{said}");
            assert_eq!(failure["canary_passed"], serde_json::json!(expected.canary), "{said}");
        }
        verify(&dir);
    }
}

#[test]
fn an_observed_run_reports_and_fails_nothing() {
    let kind = FaultKind::DropWords { count: 1 };
    let (_server, url) =
        server(SimConfig { faults: vec![FaultRule { every: 4, kind }], ..quick() });
    let folder = tempfile::tempdir().unwrap();
    let finished = turn_over(&url, folder.path(), &["--policy", "observe", "--format", "json"]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    let printed: Value = serde_json::from_str(&finished.stdout).unwrap();
    let dir = only_run(folder.path());
    assert_eq!(printed, record_of(&dir));
    let class = finished.stderr.lines().find(|line| line.contains("controlled_output_failed"));
    assert!(class.is_some_and(|line| line.contains("10")), "{}", finished.stderr);
    assert_eq!(printed["turnover"]["policy"], "observe");
    assert_eq!(printed["turnover"]["outcome"]["failed"], 10);
    assert_eq!(printed["load"]["performance_eligible"], true);
    verify(&dir);
}

#[test]
fn a_server_that_answers_nothing_is_no_failed_turnover() {
    let kind = FaultKind::Status { code: 500, retry_after_s: None };
    let (_server, url) =
        server(SimConfig { faults: vec![FaultRule { every: 1, kind }], ..quick() });
    let folder = tempfile::tempdir().unwrap();
    let finished = turn_over(&url, folder.path(), &[]);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("40 × http_status, for example: status 500"),
        "{}",
        finished.stdout
    );
    verify(&only_run(folder.path()));
}

/// A right server is never accused.
#[test]
fn ten_thousand_answers_of_a_right_server_are_exact() {
    let config = SimConfig {
        // Answers cross the wire in two events, which is what most of the time goes into.
        tokens_per_event: 4,
        ttft: Duration::from_millis(20),
        ..quick()
    };
    let (_server, url) = server(config);
    let folder = tempfile::tempdir().unwrap();
    let load = ["--concurrency", "256", "--waves", "39", "--format", "json"];
    let finished = turn_over(&url, folder.path(), &load);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let record: Value = serde_json::from_str(&finished.stdout).unwrap();
    let outcome = &record["turnover"]["outcome"];
    assert_eq!((&outcome["requests"], &outcome["failed"]), (&10_240.into(), &0.into()));
    assert_eq!(record["performance"]["client_concurrency_limit"], 256);
    assert_eq!(record["cases"], Value::Null);
    verify(&only_run(folder.path()));
}

#[test]
fn a_comparison_takes_turnovers_by_what_they_are() {
    let kind = FaultKind::LengthLimited { after_words: 4 };
    let wrong = SimConfig { faults: vec![FaultRule { every: 9, kind }], ..quick() };
    let folder = tempfile::tempdir().unwrap();
    for (side, config, repeats) in [("old", quick(), "1"), ("new", wrong, "2")] {
        let (_server, url) = server(config);
        let out = folder.path().join(side);
        let speed = SimConfig { faults: Vec::new(), ..quick() };
        let (_fast, speed_url) = server(speed);
        measure(&speed_url, &out, &["--no-length-probes", "--allow-cached-prompts"]);
        turn_over(&url, &out, &["--repeats", repeats]);
    }
    let [old, new] = ["old", "new"].map(|side| folder.path().join(side).display().to_string());
    let written = folder.path().join("comparison.json");
    let out = ["--out", written.to_str().unwrap()];
    let finished = run(["compare", &old, &new].iter().chain(&out));
    assert_eq!(finished.code, Some(1), "{}{}", finished.stdout, finished.stderr);
    assert!(
        finished.stdout.contains("turnover: FAIL: 72 of 80 requests of 2 runs"),
        "{}",
        finished.stdout
    );
    let comparison: Value = serde_json::from_slice(&fs::read(&written).unwrap()).unwrap();
    assert_eq!(comparison["strict_turnover_gate_passed"], false);
    assert_eq!(comparison["baseline_turnover"]["exact_output_passed"], 40);
    for key in ["candidate_turnover", "candidate_turnover_repeat"] {
        assert_eq!(comparison[key]["failed"], 4, "{key}");
    }
    verify(&written);

    let finished = run(["compare", "--rule", "interval", &old, &new]);
    assert_eq!(finished.code, Some(1), "{}{}", finished.stdout, finished.stderr);
    let reason = "turnover: FAIL: 2 of 2 strict runs failed; 72 of 80 answers";
    assert!(finished.stdout.contains(reason), "{}", finished.stdout);
}

#[test]
fn what_cannot_be_turned_over_is_refused() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    for (more, said) in [
        (&["--waves", "3"][..], "--waves"),
        (&["--concurrency", "60000"], "more than 100000 requests"),
        (&["--word", "two words"], "--word"),
        (&["--repeats", "0"], "--repeats"),
        (&["--policy", "lenient"], "--policy"),
        (&["--requests", "7"], "--requests"),
    ] {
        let finished = turn_over(&url, folder.path(), more);
        assert_eq!(finished.code, Some(2), "{more:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{more:?}: {}", finished.stderr);
    }
    assert!(runs_in(folder.path()).is_empty());
    let finished = turn_over(&url, folder.path(), &["--dry-run", "--nonce-seed", "5"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("the word apple 6 times"), "{}", finished.stderr);
    let plan: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(plan["workload"]["source"]["turnover"]["seed"], 5);
    assert_eq!(plan["request"]["max_tokens"], 8 * COUNT + 64);
}
