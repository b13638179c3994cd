//! The simulated server as a child, and its account.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use streamgauge_sim::{Sim, SimConfig};

use crate::child::{self, CLIENT_CORE, Place, Running, SERVER_CORE};

/// How a server behaves.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ServerSpec {
    pub(crate) ttft_us: u64,
    pub(crate) interval_us: u64,
    pub(crate) events_per_write: u32,
    /// Whether the account keeps each request with the time of each event, or the totals alone.
    pub(crate) stamps: bool,
}

/// Serves until standard input ends.
pub(crate) fn play(spec: ServerSpec) -> anyhow::Result<()> {
    let config = SimConfig {
        account_limit: if spec.stamps { 1 << 20 } else { 0 },
        event_times: spec.stamps,
        events_per_write: spec.events_per_write,
        interval: Duration::from_micros(spec.interval_us),
        kernel_stamps: true,
        ttft: Duration::from_micros(spec.ttft_us),
        ..SimConfig::default()
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let server = Sim::start(config, ([127, 0, 0, 1], 0).into()).await?;
        child::tell(&server.addr())?;
        let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        end.await??;
        server.shutdown().await;
        Ok(())
    })
}

/// A server in another process.
#[derive(Debug)]
pub(crate) struct Server {
    child: Running,
    pub(crate) addr: SocketAddr,
    /// Where its clients are to run.
    pub(crate) clients: Place,
}

impl Server {
    /// On a core of its own; the clients have theirs.
    pub(crate) fn start(spec: &ServerSpec) -> anyhow::Result<Self> {
        Self::start_at(SERVER_CORE, CLIENT_CORE, spec)
    }

    /// On all cores, together with its clients.
    pub(crate) fn start_among_clients(spec: &ServerSpec) -> anyhow::Result<Self> {
        Self::start_at(Place::Anywhere, Place::Anywhere, spec)
    }

    fn start_at(place: Place, clients: Place, spec: &ServerSpec) -> anyhow::Result<Self> {
        let mut child = Running::start("server", place, spec)?;
        let addr = child.hear()?;
        Ok(Self { child, addr, clients })
    }

    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        self.child.cpu_time()
    }

    /// What it noted since the last time.
    pub(crate) fn take_account(&self) -> anyhow::Result<Account> {
        let account = Account::parse(&ask(self.addr, "GET", "/sim/stamps")?)?;
        ask(self.addr, "DELETE", "/sim/account")?;
        Ok(account)
    }

    pub(crate) fn end(self) -> anyhow::Result<()> {
        self.child.end()
    }
}

/// A server's account.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) requests: HashMap<String, Received>,
    pub(crate) totals: Totals,
}

/// What a server noted of one request, on `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// When the kernel had received it; `None` without a usable stamp.
    pub(crate) kernel_ns: Option<u64>,
    /// Immediately before each output event was written.
    pub(crate) written_ns: Vec<u64>,
}

/// What all requests came to.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Totals {
    pub(crate) complete: u64,
    pub(crate) events: u64,
}

/// Name, outcome, receipt by the server, receipt by its kernel, writes of output events.
type Columns = (String, String, u64, Option<u64>, Vec<u64>);

#[derive(Deserialize)]
struct Document {
    requests: Vec<Columns>,
    totals: Totals,
}

impl Account {
    fn parse(json: &[u8]) -> anyhow::Result<Self> {
        let document: Document = serde_json::from_slice(json).context("the server's account")?;
        let requests = document.requests.into_iter().map(|(id, _, _, kernel_ns, steps_ns)| {
            let written_ns = steps_ns.iter().scan(0, |at_ns, step_ns| {
                *at_ns += step_ns;
                Some(*at_ns)
            });
            (id, Received { kernel_ns, written_ns: written_ns.collect() })
        });
        Ok(Self { requests: requests.collect(), totals: document.totals })
    }
}

/// The body of an answer of the server.
fn ask(addr: SocketAddr, method: &str, path: &str) -> anyhow::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(addr)?;
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = memchr::memmem::find(&answer, b"\r\n\r\n").context("an answer without a head")?;
    Ok(answer.split_off(head + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read() {
        let json = br#"{"clock": "CLOCK_MONOTONIC", "columns": [], "requests": [
            ["measured-0", "complete", 7, 5, [10, 3, 4]], ["measured-1", "open", 8, null, []]],
            "totals": {"complete": 1, "disconnected": 0, "events": 7, "open": 1, "rejected": 0}}"#;
        let account = Account::parse(json).unwrap();
        let received = |kernel_ns, written_ns| Received { kernel_ns, written_ns };
        assert_eq!(account.requests["measured-0"], received(Some(5), vec![10, 13, 17]));
        assert_eq!(account.requests["measured-1"], received(None, vec![]));
        assert_eq!((account.totals.complete, account.totals.events), (1, 7));
    }
}
