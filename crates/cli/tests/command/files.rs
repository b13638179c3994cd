//! Files that have no end, or are none: every command refuses them before they fill the memory.

use std::fs::{self, File};
use std::process::Stdio;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::process::{measure, only_run, quick, run, server, streamgauge};

#[test]
fn what_has_no_end_is_refused_wherever_a_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [pipe, huge, out] = ["pipe", "huge", "out"].map(name);
    mkfifo(folder.path().join("pipe").as_path(), Mode::S_IRWXU).unwrap();
    File::create(&huge).unwrap().set_len(100 << 30).unwrap();
    let run_dir = name("run");
    fs::create_dir(&run_dir).unwrap();
    mkfifo(folder.path().join("run/plan.json").as_path(), Mode::S_IRWXU).unwrap();

    let simulated = ["run", "--simulate", "--dry-run", "--out", &out];
    let https = ["run", "--base-url", "https://127.0.0.1:1", "--dry-run"];
    for (file, said) in [
        ("/dev/zero", "it is a device, and only regular files are read"),
        (&pipe, "it is a pipe, and only regular files are read"),
        (&huge, "is longer than "),
    ] {
        for line in [
            [&simulated[..], &["--dataset", file]].concat(),
            [&simulated[..], &["--deployment", file]].concat(),
            [&https[..], &["--ca-file", file]].concat(),
            vec!["observe", file],
            vec!["verify", file],
            vec!["compare", file, file],
            vec!["compare", file, file, "--gates", file],
        ] {
            let finished = run(&line);
            assert_eq!(finished.code, Some(2), "{line:?}: {}", finished.stderr);
            let named = finished.stderr.contains(file) && finished.stderr.contains(said);
            assert!(named, "{line:?}: {}", finished.stderr);
        }
    }
    let finished = run(["record", &run_dir]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert!(finished.stderr.contains("it is a pipe"), "{}", finished.stderr);
}

#[test]
fn a_result_that_cannot_be_written_says_where_it_was_to_go() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = streamgauge().args(["schema", "plan"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("error: cannot write to standard output: "), "{said}");
}

/// With `… | head`, a verdict that nobody read is no success.
#[test]
fn a_reader_that_left_learns_no_verdict() {
    let golden =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/tests/records/serving-performance-v1.json");
    let mut child = streamgauge()
        .args(["verify", golden])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(141), &b""[..]));
}

#[test]
fn a_line_without_end_is_refused_and_a_long_array_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.jsonl");
    let filler = "x".repeat(66 << 20);
    let refused = format!("{{\"id\": \"a\", \"prompt\": \"b\"}}\n{{\"id\": \"{filler}\"}}\n");
    let array = format!(
        "[{{\"conversations\": [{{\"from\": \"human\", \"value\": \"Hi\"}}], \"x\": \"{filler}\"}}]"
    );
    let dry = |text: &str| {
        fs::write(&file, text).unwrap();
        let dry = ["run", "--simulate", "--dry-run", "--requests", "1", "--dataset"];
        run(dry.iter().copied().chain([file.to_str().unwrap()]))
    };
    let finished = dry(&refused);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    let said = "line 2 is longer than 67108864 bytes; a dataset has one JSON object a line";
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
    let finished = dry(&array);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[test]
fn a_journal_whose_line_has_no_end_is_refused() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(measure(&url, folder.path(), &["--no-length-probes"]).code, Some(0));
    let dir = only_run(folder.path());
    let journal = dir.join("observations.jsonl");
    let header = fs::read_to_string(&journal).unwrap().lines().next().unwrap().to_owned();
    fs::write(&journal, header + "\n").unwrap();
    File::options().append(true).open(&journal).unwrap().set_len(100 << 30).unwrap();
    let finished = run(["record", dir.to_str().unwrap()]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    let said = "line 2: the line is longer than any that is written";
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
}
