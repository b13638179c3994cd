//! Bringing an arm up: a program without a shell, within a time limit, or a person who is asked.

use std::fs::OpenOptions;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};

use crate::console;
use crate::signals::stopped;

/// Time between the request to end and the end by force.
const GRACE: Duration = Duration::from_secs(5);

/// How an attempt to bring an arm up ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Brought {
    /// It is up, as far as the program or the person says.
    Up {
        /// The program's exit code; `None` where somebody was asked.
        exit_code: Option<i32>,
    },
    /// It is not.
    Failed {
        /// The program's exit code, where it ended by itself.
        exit_code: Option<i32>,
        /// What happened.
        problem: String,
    },
    /// A signal stopped the attempt.
    Interrupted,
}

/// Runs a program in its own process group, without the variables in `hidden`, and waits for it. What it
/// prints goes to a private file.
/// When the time is over, or at a signal, it is ended with everything that it started.
pub(super) async fn run_program(
    command: &[String],
    hidden: &[&str],
    timeout: Duration,
    folder: &Path,
    output: &Path,
    title: &str,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<Brought> {
    let (program, arguments) = command.split_first().context("a program has a name")?;
    let shown = || format!("cannot write {}", output.display());
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(output)
        .with_context(shown)?;
    writeln!(file, "== {title}").with_context(shown)?;
    let mut child = Command::new(program);
    hidden.iter().for_each(|variable| {
        child.env_remove(variable);
    });
    let started = child
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(file.try_clone().with_context(shown)?)
        .stderr(file)
        .process_group(0)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            let problem = format!("{program} cannot be started: {error}");
            return Ok(Brought::Failed { exit_code: None, problem });
        }
    };
    let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    tokio::select! {
        status = child.wait() => Ok(ended(program, status?)),
        () = tokio::time::sleep(timeout) => {
            end(&mut child, group).await?;
            let problem = format!("{program} did not end within {timeout:?} and was killed");
            Ok(Brought::Failed { exit_code: None, problem })
        }
        () = stopped(stop.clone()) => {
            end(&mut child, group).await?;
            Ok(Brought::Interrupted)
        }
    }
}

fn ended(program: &str, status: ExitStatus) -> Brought {
    match status.code() {
        Some(0) => Brought::Up { exit_code: Some(0) },
        exit_code => Brought::Failed { exit_code, problem: format!("{program} ended: {status}") },
    }
}

/// Ends a process group: it is asked to, then made to.
async fn end(child: &mut Child, group: Option<Pid>) -> anyhow::Result<()> {
    let Some(group) = group else { return Ok(()) };
    // A group that has ended meanwhile is what was wanted.
    let _ = killpg(group, Signal::SIGTERM);
    let _ = tokio::time::timeout(GRACE, child.wait()).await;
    // The leader may have gone and left others behind.
    let _ = killpg(group, Signal::SIGKILL);
    child.wait().await?;
    Ok(())
}

/// Whether there is somebody to ask.
pub(crate) fn somebody_is_there() -> bool {
    io::stdin().is_terminal()
}

/// Says what to do, and waits for Enter.
pub(super) async fn ask(what: &str, stop: &watch::Receiver<bool>) -> anyhow::Result<Brought> {
    console::remark(&format!("{what}, then press Enter"));
    let (answered, answer) = oneshot::channel();
    // A thread that waits for a terminal cannot be ended; it must not hold this program up.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = answered.send(io::stdin().lock().read_line(&mut line));
    });
    tokio::select! {
        answer = answer => Ok(match answer {
            Ok(Ok(bytes)) if bytes > 0 => Brought::Up { exit_code: None },
            _ => Brought::Failed {
                exit_code: None,
                problem: "standard input was closed instead of an answer".to_owned(),
            },
        }),
        () = stopped(stop.clone()) => Ok(Brought::Interrupted),
    }
}
