//! What `compare` tells to people and to CI: formats, the JUnit report, the summary of a step.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::process::{Finished, finish, measure, quick, server, streamgauge};

/// Two runs of one simulated build.
struct Runs {
    folder: tempfile::TempDir,
}

static RUNS: LazyLock<Runs> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(quick());
    for side in ["old", "new"] {
        let finished = measure(&url, &folder.path().join(side), &["--no-length-probes"]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    }
    Runs { folder }
});

impl Runs {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `compare` of the two by intervals, which one run a side never decides.
    fn compare(&self, more: &[&str], summary: Option<&str>) -> Finished {
        let mut command = streamgauge();
        command.arg("compare").args([self.path("old"), self.path("new")]);
        command.args(["--rule", "interval"]).args(more);
        finish(command.envs(summary.map(|path| ("GITHUB_STEP_SUMMARY", path))))
    }
}

#[test]
fn a_report_for_ci_is_written_anew_each_time_and_over_nothing_else() {
    let path = RUNS.path("junit.xml");
    let path = path.to_str().unwrap();
    for _ in 0..2 {
        let finished = RUNS.compare(&["--junit", path], None);
        assert_eq!(finished.code, Some(3), "{}", finished.stderr);
        let report = fs::read_to_string(path).unwrap();
        assert!(report.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "));
        assert!(report.contains("tests=\"3\" failures=\"0\" errors=\"3\""), "{report}");
    }
    let evidence = RUNS.path("evidence.json");
    fs::write(&evidence, "{}").unwrap();
    let finished = RUNS.compare(&["--junit", evidence.to_str().unwrap()], None);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("evidence.json: the file is there and is no report"));
    assert_eq!(fs::read(&evidence).unwrap(), b"{}");
    assert_eq!(finished.stdout, "");
    let both = RUNS.path("both.xml");
    let both = both.to_str().unwrap();
    let finished = RUNS.compare(&["--junit", both, "--out", both], None);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert!(fs::read_to_string(both).unwrap().starts_with("{\n  \"schema\""));
    for nowhere in [RUNS.path("no-such-folder/junit.xml"), RUNS.path("old")] {
        let finished = RUNS.compare(&["--junit", nowhere.to_str().unwrap()], None);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains("unit"), "{}", finished.stderr);
    }
}

#[test]
fn a_step_gets_its_summary_and_no_verdict_hangs_on_it() {
    let path = RUNS.path("summary.md");
    fs::write(&path, "before\n").unwrap();
    let finished = RUNS.compare(&["--format", "json"], path.to_str());
    assert_eq!((finished.code, finished.stderr.contains("warning")), (Some(3), false));
    serde_json::from_str::<serde_json::Value>(&finished.stdout).unwrap();
    let summary = fs::read_to_string(&path).unwrap();
    assert!(summary.starts_with("before\n### ⚠️ "), "{summary}");
    assert!(summary.contains("| verdict | cell | metric |"), "{summary}");

    let finished = RUNS.compare(&[], RUNS.path("old").to_str());
    assert_eq!(finished.code, Some(3));
    assert!(
        finished.stderr.contains("warning: the step summary (GITHUB_STEP_SUMMARY) lacks this"),
        "{}",
        finished.stderr
    );
}

#[test]
fn markdown_begins_with_the_verdict_and_ends_with_the_path() {
    let out = RUNS.path("comparison.json");
    let out = out.to_str().unwrap();
    let finished = RUNS.compare(&["--format", "markdown", "--out", out], None);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert!(finished.stdout.starts_with("### ⚠️ "), "{}", finished.stdout);
    assert!(finished.stdout.ends_with(&format!("\n{out}\n")), "{}", finished.stdout);
}
