//! Signals: what has finished is on disk, and nothing that does not answer keeps the command.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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

/// A server of which every so many answers stall, so that no run ends by itself.
fn stalling(every: u64) -> SimConfig {
    let kind = "stall:1".parse().unwrap();
    SimConfig { faults: vec![FaultRule { every, kind }], ..quick() }
}

/// A run of a hundred requests by two clients.
fn measuring(url: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = streamgauge();
    command
        .args(["run", "--base-url", url, "--out", out.to_str().unwrap()])
        .args(["--requests", "100", "--concurrency", "2", "--output-tokens", "4"])
        .arg("--no-length-probes")
        .args(more);
    quiet(&mut command);
    command
}

fn quiet(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
}

/// Lines of the journal of the first run in a folder.
fn lines_in(folder: &Path) -> usize {
    let dirs = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = dirs.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let journal = paths.first().map(|dir| dir.join("observations.jsonl"));
    let text = journal.and_then(|journal| std::fs::read_to_string(journal).ok());
    text.map_or(0, |text| text.lines().count())
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

/// Whether the command listens to Ctrl-C by now.
fn listens(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
    caught >> (Signal::SIGINT as u32 - 1) & 1 == 1
}

fn record_of(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join("record.json")).unwrap()).unwrap()
}

/// An aborted run of which at least some requests are kept.
fn check_saved(dir: &Path, least: u64) {
    let record = record_of(dir);
    assert_eq!(record["status"], "aborted");
    let load = &record["load"];
    assert!(load["succeeded"].as_u64().unwrap() >= least, "{load}");
    assert_eq!(load["performance_eligible"], false);
    let verified = run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}

#[test]
fn an_interrupted_run_saves_what_has_finished() {
    for which in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        let (_server, url) = server(stalling(4));
        let folder = tempfile::tempdir().unwrap();
        let asked = measuring(&url, folder.path(), &[]);
        // Whoever runs the tests may have started them under `nohup`.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(asked.get_program()).args(asked.get_args());
        quiet(&mut command);
        let mut child = command.spawn().unwrap();
        wait_until("finished requests", || lines_in(folder.path()) > 4);
        signal(&child, which);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{which}");
        let dir = only_run(folder.path());
        check_saved(&dir, 4);
        let load = &record_of(&dir)["load"];
        assert!(load["cancelled"].as_u64().unwrap() >= 1, "{load}");
        assert_eq!(load["offered"], 100);
    }
}

/// Under `nohup` the terminal may go.
#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let asked = measuring(&url, folder.path(), &[]);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(asked.get_program());
    command.args(asked.get_args());
    quiet(&mut command);
    let mut child = command.spawn().unwrap();
    wait_until("finished requests", || lines_in(folder.path()) > 4);
    signal(&child, Signal::SIGHUP);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(record_of(&only_run(folder.path()))["load"]["succeeded"], 100);
}

#[test]
fn a_warm_up_that_never_ends_is_interrupted() {
    let (server, url) = server(stalling(1));
    let folder = tempfile::tempdir().unwrap();
    let mut child = measuring(&url, folder.path(), &["--warmup", "2"]).spawn().unwrap();
    wait_until("warm-up", || server.account().iter().any(|it| it.id.starts_with("warmup")));
    signal(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let dir = only_run(folder.path());
    check_saved(&dir, 0);
    assert_eq!(record_of(&dir)["load"]["not_sent"], 100);
}

/// A server that takes connections and says nothing, and one that does not even take them.
#[test]
fn a_server_that_does_not_answer_keeps_nobody() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let full = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        socket.listen(1).unwrap()
    });
    let address = full.local_addr().unwrap();
    // Whoever comes after these waits for a place in the queue.
    let waiting: Vec<_> = (0..4)
        .map(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100)))
        .collect();
    assert!(waiting.iter().any(Result::is_err), "the queue has an end");
    for address in [silent.local_addr().unwrap(), address] {
        for more in [&["--model", "m"][..], &[]] {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("http://{address}");
            let mut child = measuring(&url, folder.path(), more).spawn().unwrap();
            wait_until("signals", || listens(&child));
            std::thread::sleep(Duration::from_millis(100));
            signal(&child, Signal::SIGINT);
            let begun = Instant::now();
            assert_eq!(child.wait().unwrap().code(), Some(130), "{address} {more:?}");
            // Far below any time limit that a run has by itself.
            assert!(begun.elapsed() < Duration::from_secs(8), "{address} {more:?}");
        }
    }
}

#[test]
fn searches_and_turnovers_are_interrupted_alike() {
    for command in [
        ["run", "--search", "concurrency", "--goodput", "e2e:5000", "--no-length-probes"]
            .as_slice(),
        &["turnover", "--count", "6", "--concurrency", "2"],
    ] {
        let (_server, url) = server(stalling(7));
        let folder = tempfile::tempdir().unwrap();
        let mut child = streamgauge();
        child.args(command).args(["--base-url", &url, "--out", folder.path().to_str().unwrap()]);
        quiet(&mut child);
        let mut child = child.spawn().unwrap();
        wait_until("finished requests", || lines_in(folder.path()) > 4);
        signal(&child, Signal::SIGTERM);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{command:?}");
        let dirs = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let last = dirs.filter(|path| path.is_dir()).max().unwrap();
        check_saved(&last, 0);
    }
}

/// Whatever the command waits for, here a reader of its results, the second signal ends it.
#[test]
fn a_second_signal_ends_at_once() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let mut command = measuring(&url, folder.path(), &["--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the record", || {
        let dirs = std::fs::read_dir(folder.path()).into_iter().flatten();
        dirs.into_iter().any(|dir| dir.unwrap().path().join("record.json").exists())
    });
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    signal(&child, Signal::SIGINT);
    assert!(said.any(|line| line.unwrap().starts_with("stopping")));
    signal(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    check_whole(&only_run(folder.path()));
}

fn check_whole(dir: &Path) {
    assert_eq!(record_of(dir)["status"], "completed");
    assert_eq!(run(["verify", dir.to_str().unwrap()]).code, Some(0));
}

#[test]
fn a_directory_whose_run_goes_on_is_not_read() {
    let (_server, url) = server(stalling(4));
    let folder = tempfile::tempdir().unwrap();
    let mut child = measuring(&url, folder.path(), &["--keep-answers"]).spawn().unwrap();
    wait_until("finished requests", || lines_in(folder.path()) > 4);
    let dir = only_run(folder.path());
    let path = dir.to_str().unwrap();
    for command in [&["record"][..], &["verify"], &["grade", "--dataset", "/dev/null"]] {
        let finished = run(command[..1].iter().chain(&[path]).chain(&command[1..]));
        assert_eq!(finished.code, Some(2), "{command:?}: {}", finished.stderr);
        if command[0] != "grade" {
            let said = "another process holds this run directory, as its run is still going";
            assert!(finished.stderr.contains(said), "{command:?}: {}", finished.stderr);
        }
    }
    assert!(!dir.join("record.json").exists());
    signal(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    check_saved(&dir, 4);
}

#[test]
fn an_interrupted_turnover_says_which_requests_were_never_sent() {
    let (_server, url) = server(stalling(4));
    let folder = tempfile::tempdir().unwrap();
    let mut command = streamgauge();
    command.args(["turnover", "--base-url", &url, "--concurrency", "2", "--waves", "49"]);
    command.args(["--count", "2", "--out", folder.path().to_str().unwrap()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("finished requests", || lines_in(folder.path()) > 4);
    signal(&child, Signal::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let record = record_of(&only_run(folder.path()));
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
    signal(&child, Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
