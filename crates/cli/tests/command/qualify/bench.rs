//! A folder with a plan, and a script that switches simulated servers on one port.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Finished, streamgauge};

/// Everything that a qualification needs.
pub(super) struct Bench {
    folder: TempDir,
    pub(super) url: String,
}

/// Kills what serves, and starts a simulated server with the given arguments in its place.
const SWITCH: &str = r#"#!/bin/sh
if [ -f pid ]; then
    old=$(cat pid)
    kill -9 "$old" 2>/dev/null
    # Its port is free once it is gone, or only waits to be buried.
    while grep -q '^State:.[^Z]' "/proc/$old/status" 2>/dev/null; do sleep 0.01; done
fi
rm -f started
setsid "$SIM" sim --listen "$ADDRESS" "$@" >started 2>&1 </dev/null &
echo $! >pid
while ! [ -s started ] && kill -0 "$!" 2>/dev/null; do sleep 0.01; done
echo switched "$@" >>switches
"#;

impl Bench {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = Self { folder, url: format!("http://{}:8000", own_address()) };
        bench.script("switch", SWITCH);
        bench
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program of the folder.
    pub(super) fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes the plan.
    pub(super) fn plan(&self, text: &str) {
        fs::write(self.path("plan.toml"), format!("version = 1\nname = \"change\"\n{text}"))
            .unwrap();
    }

    /// The command, on the plan.
    pub(super) fn command(&self, more: &[&str]) -> Command {
        let mut command = self.bare(&["qualify", "plan.toml", "--out", "qualifications"]);
        command.args(more);
        command
    }

    /// The command with arguments of its own.
    pub(super) fn bare(&self, args: &[&str]) -> Command {
        let mut command = streamgauge();
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("SIM", env!("CARGO_BIN_EXE_streamgauge"))
            .env("ADDRESS", self.url.trim_start_matches("http://"))
            .stdin(Stdio::null());
        command
    }

    pub(super) fn qualify(&self, more: &[&str]) -> Finished {
        finished(&mut self.command(more))
    }

    pub(super) fn resume(&self, dir: &Path) -> Finished {
        finished(&mut self.bare(&["qualify", "--resume", dir.to_str().unwrap()]))
    }

    /// The only qualification.
    pub(super) fn only_dir(&self) -> PathBuf {
        crate::process::only_run(&self.path("qualifications"))
    }

    /// What the log says of one kind of step.
    pub(super) fn steps(&self, dir: &Path, kind: &str) -> Vec<Value> {
        let log = fs::read_to_string(dir.join("log.jsonl")).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| line["step"].get(kind).cloned()).collect()
    }

    /// How often the script ran.
    pub(super) fn switches(&self) -> usize {
        fs::read_to_string(self.path("switches")).map_or(0, |text| text.lines().count())
    }
}

/// An address of this machine that no other test has: a port that is free now may be taken by
/// another test's connection before a server listens at it.
fn own_address() -> Ipv4Addr {
    static BENCHES: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, high | 128, low, BENCHES.fetch_add(1, Ordering::Relaxed))
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Ok(pid) = fs::read_to_string(self.path("pid")) {
            let _ = Command::new("kill").args(["-9", pid.trim()]).stderr(Stdio::null()).status();
        }
    }
}

/// Whether a slower candidate failed. A machine that bends the client's figures leaves no verdict
/// instead, and says so; nothing else may happen, a pass least of all.
pub(super) fn failed(finished: &Finished) -> bool {
    let said = format!("{}{}", finished.stdout, finished.stderr);
    // Prose is wrapped, wherever that is.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let bent = finished.code == Some(3) && said.contains("the client may have bent it");
    assert!(bent || finished.code == Some(1), "{said}");
    !bent
}

pub(super) fn finished(command: &mut Command) -> Finished {
    let output = command.output().unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// One cell of short answers, gated by its decode rate; the arms differ in the time from token to
/// token, in milliseconds.
pub(super) fn quick_plan(bench: &Bench, baseline: &str, candidate: &str) -> String {
    let url = &bench.url;
    format!(
        r#"
[[gate]]
metric = "decode_rate_p50_tok_per_s"
limit_percent = 5
[run]
requests = 24
concurrency = 12
output-tokens = 9
input-tokens = 64
no-length-probes = true
[baseline]
base-url = "{url}"
activate = ["./switch", "--ttft-ms", "5", "--interval-ms", "{baseline}"]
[candidate]
base-url = "{url}"
activate = ["./switch", "--ttft-ms", "5", "--interval-ms", "{candidate}"]
"#
    )
}
