//! Ctrl-C: what has finished is on disk.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use streamgauge_sim::SimConfig;

use crate::process::{only_run, quick, run, server, start, streamgauge};

/// Waits until `ready`, or fails after a time that no machine needs.
fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interrupted_run_saves_what_has_finished() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // Every fourth answer stalls, so that the run never ends by itself.
        let faults = vec!["4=stall:1".split_once('=').unwrap()];
        let faults = faults
            .into_iter()
            .map(|(every, kind)| streamgauge_sim::FaultRule {
                every: every.parse().unwrap(),
                kind: kind.parse().unwrap(),
            })
            .collect();
        let (_server, url) = server(SimConfig { faults, ..quick() });
        let folder = tempfile::tempdir().unwrap();
        let mut child = streamgauge()
            .args(["run", "--base-url", &url, "--out", folder.path().to_str().unwrap()])
            .args(["--requests", "100", "--concurrency", "2", "--output-tokens", "4"])
            .arg("--no-length-probes")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let lines = || {
            let dir = std::fs::read_dir(folder.path()).ok()?.next()?.ok()?.path();
            Some(std::fs::read_to_string(dir.join("observations.jsonl")).ok()?.lines().count())
        };
        wait_until("finished requests", || lines().is_some_and(|lines| lines > 4));
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130));

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
fn a_simulator_in_another_process_serves_until_it_is_stopped() {
    let (mut child, url) = start(&["sim", "--listen", "127.0.0.1:0", "--ttft-ms", "4"]);
    let folder = tempfile::tempdir().unwrap();
    let finished = crate::process::measure(&url, folder.path(), &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
