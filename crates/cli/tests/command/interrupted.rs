//! Ctrl-C: what has finished is on disk.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use streamgauge_sim::{FaultRule, SimConfig};

use crate::process::{only_run, quick, run, server, start, streamgauge};

/// Waits until `ready`, or fails after a time that no machine needs.
fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server of which every fourth answer stalls, so that no run ends by itself.
fn stalling() -> SimConfig {
    let kind = "stall:1".parse().unwrap();
    SimConfig { faults: vec![FaultRule { every: 4, kind }], ..quick() }
}

/// Sends a signal to a command when a few of its requests have finished, and waits for its end.
fn interrupt(command: &mut Command, folder: &Path, signal: Signal) -> Output {
    let child =
        command.arg("--out").arg(folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    let lines = || {
        let dir = std::fs::read_dir(folder).ok()?.next()?.ok()?.path();
        Some(std::fs::read_to_string(dir.join("observations.jsonl")).ok()?.lines().count())
    };
    wait_until("finished requests", || lines().is_some_and(|lines| lines > 4));
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    output
}

#[test]
fn an_interrupted_run_saves_what_has_finished() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (_server, url) = server(stalling());
        let folder = tempfile::tempdir().unwrap();
        let mut command = streamgauge();
        command.args(["run", "--base-url", &url, "--requests", "100", "--concurrency", "2"]);
        command.args(["--output-tokens", "4", "--no-length-probes"]);
        interrupt(&mut command, folder.path(), signal);

        let dir = only_run(folder.path());
        let record: Value =
            serde_json::from_slice(&std::fs::read(dir.join("record.json")).unwrap()).unwrap();
        assert_eq!(record["status"], "aborted");
        let load = &record["load"];
        assert!(load["succeeded"].as_u64().unwrap() >= 4, "{load}");
        assert!(load["cancelled"].as_u64().unwrap() >= 1, "{load}");
        assert_eq!(load["offered"], 100);
        assert_eq!(load["performance_eligible"], false);
        let verified = run(["verify", dir.to_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    }
}

#[test]
fn an_interrupted_turnover_says_which_requests_were_never_sent() {
    let (_server, url) = server(stalling());
    let folder = tempfile::tempdir().unwrap();
    let mut command = streamgauge();
    command.args(["turnover", "--base-url", &url, "--concurrency", "2", "--waves", "49"]);
    let output = interrupt(command.args(["--count", "2"]), folder.path(), Signal::SIGINT);
    let dir = only_run(folder.path());
    let record: Value =
        serde_json::from_slice(&std::fs::read(dir.join("record.json")).unwrap()).unwrap();
    let count = |name: &str| record["load"][name].as_u64().unwrap();
    let (unsent, cancelled) = (count("not_sent"), count("cancelled"));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(&format!("{} of 100 answers exact, {unsent} never", count("succeeded"))));
    let row = |name: &str| {
        let row = said.lines().find(|line| line.split("  ").any(|cell| cell.trim() == name));
        row.unwrap().split_whitespace().find_map(|word| word.parse::<u64>().ok()).unwrap()
    };
    assert_eq!((row("never sent"), row("request_error")), (unsent, cancelled), "{said}");
    // Of those that were sent each failure has a row, of the others none.
    assert!(!said.contains("more in the record"), "{said}");
}

#[test]
fn a_simulator_in_another_process_serves_until_it_is_stopped() {
    let (mut child, url) = start(&["sim", "--listen", "127.0.0.1:0", "--ttft-ms", "4"]);
    let folder = tempfile::tempdir().unwrap();
    let finished = crate::process::measure(&url, folder.path(), &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
