//! Running the command, and servers for it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use streamgauge_sim::{SimConfig, ThreadedSim, spawn_thread};

/// What a finished command left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The command, with nothing of the tester's environment that it would read.
pub(crate) fn streamgauge() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamgauge"));
    for variable in ["OPENAI_BASE_URL", "OPENAI_API_KEY", "GITHUB_STEP_SUMMARY"] {
        command.env_remove(variable);
    }
    // What an engine says of the tester is nothing that is said of the command.
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if ["JOB_", "OMPI_", "PMI_", "SLURM_"].iter().any(|engine| name.starts_with(engine)) {
            command.env_remove(variable);
        }
    }
    command.env("COLUMNS", "100");
    command
}

impl Finished {
    /// What was printed, as it was before prose was wrapped.
    pub(crate) fn prose(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Runs the command to its end.
pub(crate) fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Finished {
    finish(streamgauge().args(args))
}

/// Runs a prepared command to its end.
pub(crate) fn finish(command: &mut Command) -> Finished {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `run` against a server, into a folder.
pub(crate) fn measure(url: &str, out: &Path, more: &[&str]) -> Finished {
    let out = out.to_str().unwrap();
    let args = ["run", "--base-url", url, "--out", out, "--requests", "8", "--concurrency", "4"];
    run(args.iter().chain(&["--output-tokens", "4"]).chain(more))
}

/// A quick simulated server on a thread of its own.
pub(crate) fn server(config: SimConfig) -> (ThreadedSim, String) {
    let server = spawn_thread(config, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let url = format!("http://{}", server.addr());
    (server, url)
}

/// Timing that does not make tests long.
pub(crate) fn quick() -> SimConfig {
    SimConfig {
        ttft: Duration::from_millis(4),
        interval: Duration::from_millis(1),
        ..SimConfig::default()
    }
}

/// The only run directory in a folder.
pub(crate) fn only_run(folder: &Path) -> PathBuf {
    let found: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [only] = &found[..] else { panic!("{found:?}") };
    only.clone()
}

/// A started command whose first line of output was awaited.
pub(crate) fn start(args: &[&str]) -> (Child, String) {
    let mut child =
        streamgauge().args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().to_owned())
}
