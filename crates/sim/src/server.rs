//! The running server: its listener and its connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::account::{Account, AccountTotals, RequestAccount};
use crate::alarm::{Alarms, Ringer};
use crate::config::SimConfig;
use crate::crossing::Crossing;
use crate::error::SimError;
use crate::prompt_cache::PromptCache;
use crate::service::answer;
use crate::socket::{Socket, Tap};

/// Connections that may wait to be accepted: more than any burst of a load test, so that none waits
/// for a second SYN.
const BACKLOG: u32 = 4096;

/// A simulated inference server.
#[derive(Debug)]
pub struct Sim {
    pub(crate) account: Account,
    pub(crate) config: SimConfig,
    pub(crate) crossing: Crossing,
    pub(crate) prompt_cache: PromptCache,
}

impl Sim {
    /// Starts a server on the current tokio runtime, which needs its I/O and time drivers. Port 0
    /// takes a free one.
    ///
    /// # Errors
    /// [`SimError::Setting`] if the configuration holds a value outside its range,
    /// [`SimError::Listen`] if the address cannot be had.
    pub async fn start(config: SimConfig, addr: SocketAddr) -> Result<SimServer, SimError> {
        let sim = Arc::new(Self::new(config)?);
        let (listener, addr) = sim.listen(addr)?;
        let alarms = alarms()?;
        let (stop, stopped) = oneshot::channel();
        let account = sim.account.clone();
        let task = tokio::spawn(sim.serve(listener, alarms, stopped));
        Ok(SimServer { account, addr, stop, task })
    }

    pub(crate) fn new(config: SimConfig) -> Result<Self, SimError> {
        config.check()?;
        let account = Account::new(config.account_limit, config.event_times);
        Ok(Self {
            account,
            config,
            crossing: Crossing::default(),
            prompt_cache: PromptCache::default(),
        })
    }

    /// Needs the context of a runtime.
    pub(crate) fn listen(&self, addr: SocketAddr) -> Result<(TcpListener, SocketAddr), SimError> {
        let (listener, addr) = listen(addr)?;
        if self.config.kernel_stamps {
            // Connections inherit it. Asked for by each of them, it would come too late for a
            // request that is there when its connection is accepted.
            setsockopt(&listener, ReceiveTimestampns, &true)
                .map_err(|source| SimError::Listen { addr, source: source.into() })?;
        }
        Ok((listener, addr))
    }

    /// Serves until `stopped` resolves, then drops every connection.
    pub(crate) async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        (alarms, ringer): (Alarms, Ringer),
        mut stopped: oneshot::Receiver<()>,
    ) {
        let mut tasks = JoinSet::new();
        tasks.spawn(ringer.ring());
        loop {
            tokio::select! {
                _ = &mut stopped => break,
                Some(_) = tasks.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        tasks.spawn(Arc::clone(&self).converse(alarms.clone(), stream));
                    }
                    // No descriptor is free: one becomes free when a connection ends.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                },
            }
        }
        tasks.shutdown().await;
    }

    /// Answers the requests of one connection. Its errors are the client's departures and ordered
    /// faults, both of which stand in the account.
    async fn converse(self: Arc<Self>, alarms: Alarms, stream: TcpStream) {
        let tap = Arc::new(Tap::default());
        let kernel_stamps = self.config.kernel_stamps;
        let Ok(socket) = Socket::new(stream, Arc::clone(&tap), kernel_stamps) else { return };
        let responder = {
            let tap = Arc::clone(&tap);
            service_fn(move |request| {
                answer(Arc::clone(&self), alarms.clone(), Arc::clone(&tap), request)
            })
        };
        let connection = http1::Builder::new()
            .header_read_timeout(None)
            // One buffer is cheaper to hand over than an event between two pieces of framing.
            .writev(false)
            .serve_connection(TokioIo::new(socket), responder);
        tokio::pin!(connection);
        tokio::select! {
            biased;
            _ = connection.as_mut() => {}
            () = tap.last_stream_ended() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// Binds and listens. Needs the context of a runtime.
pub(crate) fn listen(addr: SocketAddr) -> Result<(TcpListener, SocketAddr), SimError> {
    let bound = || -> io::Result<(TcpListener, SocketAddr)> {
        let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        let listener = socket.listen(BACKLOG)?;
        let addr = listener.local_addr()?;
        Ok((listener, addr))
    };
    bound().map_err(|source| SimError::Listen { addr, source })
}

/// Needs the context of a runtime.
pub(crate) fn alarms() -> Result<(Alarms, Ringer), SimError> {
    Alarms::new().map_err(|source| SimError::Timer { source })
}

/// A handle on a running server. Dropping it stops the server.
#[derive(Debug)]
pub struct SimServer {
    account: Account,
    addr: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl SimServer {
    /// The accounts of the requests so far, in order of receipt.
    #[must_use]
    pub fn account(&self) -> Vec<RequestAccount> {
        self.account.requests()
    }

    /// What all requests so far came to.
    #[must_use]
    pub fn totals(&self) -> AccountTotals {
        self.account.totals()
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Drops every connection, stops listening and gives the final accounts.
    pub async fn shutdown(self) -> Vec<RequestAccount> {
        drop(self.stop);
        // A task that was cancelled with its runtime has stopped too.
        let _ = self.task.await;
        self.account.requests()
    }
}
