//! The running server: its listener and its connections.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::account::{Account, AccountTotals, RequestAccount};
use crate::alarm::{Alarms, Ringer};
use crate::config::SimConfig;
use crate::crossing::Crossing;
use crate::error::SimError;
use crate::faults::ConnectionFault;
use crate::faults::connection::by_rule;
use crate::prompt_cache::PromptCache;
use crate::restart::Restart;
use crate::script::{RawStep, play};
use crate::service::answer;
use crate::socket::{Socket, Tap};

/// Connections that may wait to be accepted: more than any burst of a load test, so that none waits
/// for a second SYN.
const BACKLOG: u32 = 4096;
/// How long to wait for a descriptor, or for an address.
const RETRY: Duration = Duration::from_millis(10);

/// A simulated inference server.
#[derive(Debug)]
pub struct Sim {
    pub(crate) account: Account,
    pub(crate) config: SimConfig,
    pub(crate) crossing: Crossing,
    pub(crate) prompt_cache: PromptCache,
    pub(crate) restart: Restart,
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
            restart: Restart::default(),
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
        let mut ringing = JoinSet::new();
        ringing.spawn(ringer.ring());
        let addr = listener.local_addr();
        let mut accepted = 0;
        let mut listening = Some(listener);
        while let (Some(listener), Ok(addr)) = (listening.take(), &addr) {
            let mut connections = JoinSet::new();
            let restart = tokio::select! {
                _ = &mut stopped => None,
                pause = self.restart.ordered() => Some(pause),
                never = self.accept(&listener, &alarms, &mut accepted, &mut connections) => match never {},
            };
            drop(listener);
            connections.shutdown().await;
            if let Some(pause) = restart {
                tokio::select! {
                    _ = &mut stopped => {}
                    again = self.listen_after(pause, *addr) => listening = Some(again),
                }
            }
        }
    }

    /// Accepts connections for ever; each is a task of its own.
    async fn accept(
        self: &Arc<Self>,
        listener: &TcpListener,
        alarms: &Alarms,
        accepted: &mut u64,
        connections: &mut JoinSet<()>,
    ) -> Infallible {
        loop {
            tokio::select! {
                Some(_) = connections.join_next() => {}
                stream = listener.accept() => match stream {
                    Ok((stream, _)) => {
                        *accepted += 1;
                        let fault = by_rule(&self.config.connection_faults, *accepted);
                        match fault {
                            None => {
                                connections.spawn(Arc::clone(self).converse(alarms.clone(), stream))
                            }
                            Some(fault) => connections.spawn(struck(stream, fault)),
                        };
                    }
                    // No descriptor is free: one becomes free when a connection ends.
                    Err(_) => tokio::time::sleep(RETRY).await,
                },
            }
        }
    }

    /// Listens again at an address, as soon after a pause as it can be had.
    async fn listen_after(&self, pause: Duration, addr: SocketAddr) -> TcpListener {
        tokio::time::sleep(pause).await;
        loop {
            match self.listen(addr) {
                Ok((listener, _)) => return listener,
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
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
        let mut connection = http1::Builder::new()
            .header_read_timeout(None)
            // One buffer is cheaper to hand over than an event between two pieces of framing.
            .writev(false)
            .serve_connection(TokioIo::new(socket), responder);
        tokio::select! {
            biased;
            _ = &mut connection => {}
            script = tap.script() => {
                let mut socket = connection.into_parts().io.into_inner();
                let _ = play(socket.stream_mut(), script).await;
            }
            () = tap.last_stream_ended() => {
                Pin::new(&mut connection).graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// A connection that no request is answered on.
async fn struck(mut stream: TcpStream, fault: ConnectionFault) {
    // A client that had not heard yet that its connection stands could not tell what was struck.
    let _ = stream.read(&mut [0; 16 * 1024]).await;
    let step = match fault {
        ConnectionFault::Close => RawStep::Close,
        ConnectionFault::Reset => RawStep::Reset,
        ConnectionFault::Silent => RawStep::Hold,
    };
    // Nobody is to be told when the client leaves first.
    let _ = play(&mut stream, vec![step]).await;
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
