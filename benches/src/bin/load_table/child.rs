//! This program as its own child: a role, a core, what to do on standard input and the outcome on
//! standard output, both as one line of JSON.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{clients, process, server};

/// The first argument of a child; the role and the place follow.
pub(crate) const FLAG: &str = "--child";

/// Where a child may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On every core.
    Anywhere,
    /// On this one.
    Core(usize),
}

/// The core of the server, and that of the clients.
pub(crate) const SERVER_CORE: Place = Place::Core(0);
pub(crate) const CLIENT_CORE: Place = Place::Core(1);

/// How the place is named among the arguments.
const ANYWHERE: &str = "anywhere";

/// Plays one role to its end.
pub(crate) fn play(role: &str, place: &str) -> anyhow::Result<()> {
    if place != ANYWHERE {
        process::pin(place.parse()?)?;
    }
    let mut order = String::new();
    std::io::stdin().read_line(&mut order)?;
    match role {
        "bare" => tell(&clients::play_bare(&serde_json::from_str(&order)?)?),
        "hyper" => tell(&clients::play_hyper(&serde_json::from_str(&order)?)?),
        "ours" => tell(&clients::play_ours(&serde_json::from_str(&order)?)?),
        "server" => server::play(serde_json::from_str(&order)?),
        _ => bail!("no child plays {role:?}"),
    }
}

/// Writes one line for the parent.
pub(crate) fn tell(outcome: &impl Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(outcome)?;
    line.push(b'\n');
    let mut stdout = std::io::stdout();
    stdout.write_all(&line)?;
    Ok(stdout.flush()?)
}

/// A child that has got its order. It lives until its standard input is closed or its work is done.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a child in a role.
    pub(crate) fn start(role: &str, place: Place, order: &impl Serialize) -> anyhow::Result<Self> {
        let place = match place {
            Place::Anywhere => ANYWHERE.to_owned(),
            Place::Core(core) => core.to_string(),
        };
        let mut child = Command::new(std::env::current_exe()?)
            .args([FLAG, role, &place])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the child {role:?}"))?;
        let stdout = BufReader::new(child.stdout.take().context("the child has no output")?);
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        child.stdin.as_mut().context("the child has no input")?.write_all(&line)?;
        Ok(Self { child, stdout })
    }

    /// Waits for the next line that the child tells.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        if line.is_empty() {
            bail!("the child ended without an outcome ({})", self.child.wait()?);
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// CPU time of the child so far.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<std::time::Duration> {
        process::cpu_time_of(self.child.id())
    }

    /// Closes the child's input and waits for its end.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        ensure!(status.success(), "the child ended with {status}");
        Ok(())
    }
}

/// Lets a child do its work and gives the outcome.
pub(crate) fn work<T: DeserializeOwned>(
    role: &str,
    place: Place,
    order: &impl Serialize,
) -> anyhow::Result<T> {
    let mut child = Running::start(role, place, order)?;
    let outcome = child.hear()?;
    child.end()?;
    Ok(outcome)
}
