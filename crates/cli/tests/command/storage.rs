//! Disks that are full, folders that take nothing or are gone, and readers that left: a clear error,
//! and whatever was written is whole.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use streamgauge_sim::SimConfig;

use crate::process::{finish, measure, only_run, quick, run, server, streamgauge};

fn status_of(dir: &Path) -> String {
    let record = fs::read(dir.join("record.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    record["status"].as_str().unwrap().to_owned()
}

fn check_verifies(dir: &Path) {
    let verified = run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}

/// A limit on the length of files stands for a disk that is full.
#[test]
fn a_full_disk_ends_a_run_and_leaves_whole_lines() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    // 12 KiB by the unit that POSIX gives it.
    command.args(["-c", "ulimit -f 24; exec \"$0\" \"$@\""]);
    command.arg(streamgauge().get_program()).args(["run", "--base-url", &url, "--out"]);
    command.arg(folder.path()).args(["--requests", "60", "--output-tokens", "4"]);
    let finished = finish(command.arg("--no-length-probes"));
    assert_eq!(finished.code, Some(2), "{}{}", finished.stdout, finished.stderr);
    for said in ["the run was given up; ", "observations.jsonl: ", "streamgauge record "] {
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
    }
    let dir = only_run(folder.path());
    assert!(fs::read(dir.join("observations.jsonl")).unwrap().ends_with(b"\n"));
    let recorded = run(["record", dir.to_str().unwrap()]);
    assert_eq!((recorded.code, recorded.stderr.as_str()), (Some(0), ""));
    assert_eq!(status_of(&dir), "aborted");
    check_verifies(&dir);
}

/// Folders of the kernel take no files, whoever asks.
#[test]
fn a_folder_that_takes_nothing_is_named_before_anything_is_sent() {
    let (server, url) = server(quick());
    let finished = measure(&url, Path::new("/proc/runs"), &["--no-length-probes"]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert!(finished.stderr.starts_with("error: cannot make /proc/runs"), "{}", finished.stderr);
    assert!(!server.account().iter().any(|asked| asked.id.starts_with("measured")));
}

#[test]
fn a_directory_that_is_removed_ends_its_run() {
    let slow = SimConfig { ttft: Duration::from_millis(100), ..quick() };
    let (_server, url) = server(slow);
    let folder = tempfile::tempdir().unwrap();
    let mut command = streamgauge();
    command.args(["run", "--base-url", &url, "--out", folder.path().to_str().unwrap()]);
    command.args(["--requests", "3000", "--output-tokens", "4", "--no-length-probes"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let begun = Instant::now();
    let dir = loop {
        let found = fs::read_dir(folder.path()).unwrap().next().map(|dir| dir.unwrap().path());
        match found.filter(|dir| dir.join("observations.jsonl").exists()) {
            Some(dir) => break dir,
            None => assert!(begun.elapsed() < Duration::from_secs(60)),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    fs::remove_dir_all(&dir).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("the file was removed while it was written"), "{said}");
    assert!(said.contains("nothing is left of it"), "{said}");
    // Not the minutes that the run would have taken.
    assert!(begun.elapsed() < Duration::from_secs(120), "{said}");
}

#[test]
fn a_result_that_nobody_takes_is_on_disk() {
    let (_server, url) = server(quick());
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    for (stdout, code) in [(full(), 2), (Stdio::piped(), 141)] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = streamgauge();
        command.args(["run", "--base-url", &url, "--out", folder.path().to_str().unwrap()]);
        command.args(["--requests", "4", "--output-tokens", "4", "--no-length-probes"]);
        let mut child = command.stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let dir = only_run(folder.path());
        assert_eq!(status_of(&dir), "completed");
        check_verifies(&dir);
    }
}
