//! Few open files: loads that need more are refused before their first request, or warned of.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use streamgauge_schema::{SearchReport, read_typed};
use streamgauge_sim::SimConfig;

use crate::process::{Finished, quick, server, streamgauge};

/// Runs `run` with 64 open files.
fn limited(url: &str, out: &Path, more: &[&str]) -> Finished {
    let program = streamgauge();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]).arg(program.get_program());
    command.args(["run", "--base-url", url, "--out"]).arg(out);
    command.args(["--output-tokens", "2", "--no-length-probes"]).args(more);
    command.env_remove("OPENAI_API_KEY");
    let output = command.stdin(Stdio::null()).output().unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_load_that_needs_more_files_is_refused_before_anything_is_sent() {
    let (server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    for more in [
        // The first cell has room.
        &["--concurrency", "1,100"][..],
        &["--concurrency", "1..100:5s", "--requests", "200"],
        &["--request-rate", "200", "--requests", "400", "--max-concurrency", "100"],
    ] {
        let out = folder.path().join("none");
        let finished = limited(&url, &out, more);
        assert_eq!(finished.code, Some(2), "{more:?}: {}", finished.stderr);
        let said = "and the hard limit is 64: lower the concurrency";
        assert!(finished.stderr.contains(said), "{more:?}: {}", finished.stderr);
        assert!(!out.exists(), "{more:?}");
    }
    assert!(server.shutdown().is_empty());
}

#[test]
fn a_load_that_may_need_more_is_warned_of_with_the_number_there_is() {
    let slow = SimConfig { ttft: Duration::from_millis(400), ..quick() };
    let (_server, url) = server(slow);
    let folder = tempfile::tempdir().unwrap();
    let rate = |requests: &'static str| ["--request-rate", "300", "--requests", requests];
    let finished = limited(&url, &folder.path().join("few"), &rate("9"));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let finished = limited(&url, &folder.path().join("many"), &rate("200"));
    let stderr = &finished.stderr;
    let (_, number) = stderr.split_once("and there are open files for ").unwrap();
    let (number, _) = number.split_once(" connections").unwrap();
    assert!((1..64).contains(&number.parse::<u64>().unwrap()), "{stderr}");
    assert!(stderr.contains("--max-concurrency"), "{stderr}");
    assert_eq!(finished.code, Some(3), "{stderr}");
    let said = "runner_error, for example: cannot connect to";
    assert!(finished.prose().contains(said), "{}", finished.stdout);
    assert!(finished.prose().contains("(ulimit -n)"), "{}", finished.stdout);
}

#[test]
fn a_search_ends_where_files_run_out_and_says_what_it_knows() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let search = ["--search", "concurrency", "--goodput", "e2e:60000", "--search-from", "8"];
    let finished = limited(&url, folder.path(), &search);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert!(finished.stderr.contains("the search ends here: "), "{}", finished.stderr);
    let said = "The search did not come to its end. The goals held up to ";
    assert!(finished.prose().contains(said), "{}", finished.stdout);
    let paths = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let report = fs::read(paths.into_iter().find(|path| path.is_file()).unwrap()).unwrap();
    let report: SearchReport = read_typed(&report).unwrap();
    assert!(!report.complete && report.highest_held >= Some(8.0), "{report:?}");
}
