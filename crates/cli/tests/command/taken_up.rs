//! `run --resume`: what is refused, and what is kept of the beginning.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use streamgauge_sim::{FaultKind, FaultRule, RequestOutcome, SimConfig};

use crate::process::{Finished, finish, only_run, quick, run, server, streamgauge};

fn interrupted(url: &str, out: &Path, more: &[&str]) -> PathBuf {
    interrupted_after("run", url, out, more)
}

/// Starts a command, and stops it by a signal once some of its requests have ended.
fn interrupted_after(command: &str, url: &str, out: &Path, more: &[&str]) -> PathBuf {
    let mut started = streamgauge();
    let command = started.args([command, "--base-url", url, "--out", out.to_str().unwrap()]);
    command.args(more);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let lines = || {
        let dir = fs::read_dir(out).ok()?.next()?.ok()?.path();
        Some(fs::read_to_string(dir.join("observations.jsonl")).ok()?.lines().count())
    };
    while lines().is_none_or(|lines| lines <= 4) {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for requests");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    only_run(out)
}

const CLOSED: &[&str] =
    &["--requests", "40", "--concurrency", "2", "--output-tokens", "4", "--no-length-probes"];

/// Slow enough to be stopped half-way.
fn slow() -> SimConfig {
    SimConfig { ttft: Duration::from_millis(30), ..quick() }
}

fn resume(dir: &Path, more: &[&str]) -> Finished {
    run(["run", "--resume", dir.to_str().unwrap()].iter().chain(more))
}

fn record_of(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("record.json")).unwrap()).unwrap()
}

fn check_whole(dir: &Path, requests: u64) {
    let record = record_of(dir);
    assert_eq!(record["status"], "completed");
    assert_eq!(record["load"]["offered"], requests);
    assert_eq!(record["load"]["succeeded"], requests);
    let verified = run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}

#[test]
fn a_run_that_was_stopped_asks_again_what_was_cancelled() {
    let (server, url) = server(slow());
    let folder = tempfile::tempdir().unwrap();
    let dir = interrupted(&url, folder.path(), CLOSED);
    let first = record_of(&dir);
    let cancelled = first["load"]["cancelled"].as_u64().unwrap();
    assert_eq!(first["status"], "aborted");
    let before = server.account().len();
    let finished = resume(&dir, &[]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    check_whole(&dir, 40);
    let asked = server.account().len() - before;
    assert_eq!(asked as u64, 40 - first["load"]["succeeded"].as_u64().unwrap());
    let journal = fs::read_to_string(dir.join("observations.jsonl")).unwrap();
    let resumed = journal.lines().find(|line| line.starts_with("{\"resumed\"")).unwrap();
    let resumed: Value = serde_json::from_str(resumed).unwrap();
    assert_eq!(resumed["resumed"]["dropped"], cancelled);
    // What was made of the beginning is as it was.
    let kept: Value =
        serde_json::from_slice(&fs::read(dir.join("record-1.json")).unwrap()).unwrap();
    assert_eq!(kept, first);
    // The time between is in no rate: it was longer than all requests together.
    let seconds = |record: &Value| {
        let window = &record["windows"]["whole"];
        window["to_ms"].as_f64().unwrap() - window["from_ms"].as_f64().unwrap()
    };
    assert!(seconds(&record_of(&dir)) > seconds(&first));

    let again = resume(&dir, &[]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("the run has finished, and nothing is missing"));
    assert_eq!(fs::read_to_string(dir.join("observations.jsonl")).unwrap(), journal);
}

#[test]
fn every_load_goes_on_where_it_broke_off() {
    for (load, requests) in [
        (&["--request-rate", "50", "--arrival", "constant", "--requests", "60"][..], Some(60)),
        (&["--concurrency", "2", "--duration", "2", "--grace", "1", "--requests", "500"], None),
        (&["--request-rate", "20:1s,60:1s", "--arrival-seed", "3"], None),
    ] {
        let (_server, url) = server(slow());
        let folder = tempfile::tempdir().unwrap();
        let more = [load, &["--output-tokens", "4", "--no-length-probes"]].concat();
        let dir = interrupted(&url, folder.path(), &more);
        let finished = resume(&dir, &[]);
        assert_eq!(finished.code, Some(0), "{load:?}: {}{}", finished.stdout, finished.stderr);
        let offered = record_of(&dir)["load"]["offered"].as_u64().unwrap();
        check_whole(&dir, requests.unwrap_or(offered));
    }
}

#[test]
fn what_is_sent_again_by_policy_is_so_before_and_after() {
    let kind = FaultKind::Status { code: 503, retry_after_s: Some(0) };
    let faults = vec![FaultRule { every: 5, kind }];
    let (server, url) = server(SimConfig { faults, ..slow() });
    let folder = tempfile::tempdir().unwrap();
    let dir = interrupted(&url, folder.path(), &[CLOSED, &["--retries", "2"]].concat());
    let finished = resume(&dir, &[]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    check_whole(&dir, 40);
    let journal = fs::read_to_string(dir.join("observations.jsonl")).unwrap();
    let (before, after) = journal.split_once("{\"resumed\"").unwrap();
    for part in [before, after] {
        assert!(part.contains("\"retried\":[{\"class\":\"http_status\""), "{part}");
    }
    let retried = journal.matches("\"retried\":[").count();
    let rejected =
        server.account().iter().filter(|it| it.outcome == RequestOutcome::Rejected).count();
    assert!(retried <= rejected, "{retried} lines for {rejected} refusals");
}

#[test]
fn another_server_or_plan_is_refused_and_nothing_changes() {
    let (_server, url) = server(slow());
    let folder = tempfile::tempdir().unwrap();
    let more = [CLOSED, &["--header", "x-trace: 1"]].concat();
    let dir = interrupted(&url, folder.path(), &more);
    let journal = fs::read(dir.join("observations.jsonl")).unwrap();
    for (more, said) in [
        (&["--requests", "9"][..], "leave --requests out"),
        (&["--base-url", "http://127.0.0.1:1"], "http://127.0.0.1:1"),
        (&[], "the run sent the headers x-trace, and now there are none"),
        (
            &["--header", "x-other: 1"],
            "the run sent the headers x-trace, and now there are x-other",
        ),
        (&["--header", "x-trace: 2", "--ca-file", "/dev/null"], "--ca-file needs"),
        (
            &["--header", "x-trace: 2", "--endpoint-path", "/x"],
            "--endpoint-path is /x, and when the run began",
        ),
    ] {
        let refused = resume(&dir, more);
        assert_eq!(refused.code, Some(2), "{more:?}: {}", refused.stderr);
        let prose = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(prose.contains(said), "{more:?}: {prose}");
    }
    let plan = dir.join("plan.json");
    let text = fs::read_to_string(&plan).unwrap();
    fs::remove_file(&plan).unwrap();
    fs::write(&plan, text.replace("\"max_tokens\": 4", "\"max_tokens\": 5")).unwrap();
    let refused = resume(&dir, &["--header", "x-trace: 2"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("written for another plan"), "{}", refused.stderr);
    fs::write(&plan, text).unwrap();
    assert_eq!(fs::read(dir.join("observations.jsonl")).unwrap(), journal);
    assert!(!dir.join("record-1.json").exists());

    // The address of another server in the environment is not meant.
    let mut command = streamgauge();
    command.args(["run", "--resume", dir.to_str().unwrap(), "--header", "x-trace: 2"]);
    let finished = finish(command.env("OPENAI_BASE_URL", "http://127.0.0.1:1"));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    check_whole(&dir, 40);
    let nowhere = resume(folder.path(), &[]);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.stderr.contains("is no run directory"), "{}", nowhere.stderr);
}

#[test]
fn a_turnover_goes_on() {
    let (_server, url) = server(slow());
    let folder = tempfile::tempdir().unwrap();
    let load = ["--concurrency", "2", "--count", "2", "--waves", "19"];
    let dir = interrupted_after("turnover", &url, folder.path(), &load);
    assert_eq!(record_of(&dir)["status"], "aborted");
    let finished = resume(&dir, &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.prose().contains("40 of 40 answers exact"), "{}", finished.stdout);
    check_whole(&dir, 40);
}

#[test]
fn captures_go_on_too() {
    let (_server, url) = server(slow());
    let folder = tempfile::tempdir().unwrap();
    let dir = interrupted(&url, folder.path(), &[CLOSED, &["--capture"]].concat());
    let finished = resume(&dir, &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    check_whole(&dir, 40);
    assert_eq!(fs::read_dir(dir.join("capture")).unwrap().count(), 40);
    for index in [0, 39] {
        let capture = dir.join(format!("capture/measured-{index}.capture"));
        assert_eq!(run(["observe", capture.to_str().unwrap()]).code, Some(0));
    }
}

#[test]
fn a_comparison_says_which_runs_were_taken_up() {
    let (_server, url) = server(slow());
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let dirs = folders.each_ref().map(|folder| interrupted(&url, folder.path(), CLOSED));
    for dir in &dirs {
        assert_eq!(resume(dir, &[]).code, Some(0));
    }
    let [old, new] = dirs.each_ref().map(|dir| dir.to_str().unwrap());
    let compared = run(["compare", "--rule", "interval", old, new]);
    assert!(matches!(compared.code, Some(1 | 3)), "{}", compared.stderr);
    let prose = compared.prose();
    assert!(prose.contains("broke off and were taken up again: 1 of 1"), "{prose}");
    let compared = run(["compare", old, new]);
    let prose = compared.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(prose.contains("broke off and was taken up again"), "{prose}");
}

/// Two processes never add to one journal.
#[test]
fn a_run_that_is_taken_up_is_held() {
    let kind = "stall:1".parse().unwrap();
    let (_server, url) =
        server(SimConfig { faults: vec![FaultRule { every: 7, kind }], ..quick() });
    let folder = tempfile::tempdir().unwrap();
    let dir = interrupted(&url, folder.path(), CLOSED);
    let path = dir.to_str().unwrap();
    let mut command = streamgauge();
    command.args(["run", "--resume", path]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let journal = dir.join("observations.jsonl");
    while !fs::read_to_string(&journal).unwrap().contains("{\"resumed\"") {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let refused = resume(&dir, &[]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("another process holds this run directory"));
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let verified = run(["verify", path]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}
