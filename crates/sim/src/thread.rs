//! A server on a thread of its own, so that it and a client in the same process share no executor.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::account::{Account, AccountTotals, RequestAccount};
use crate::alarm::{Alarms, Ringer};
use crate::config::SimConfig;
use crate::error::SimError;
use crate::server::{Sim, alarms};

/// Starts a server on a new thread with a single-threaded runtime. Port 0 takes a free one.
///
/// # Errors
/// As [`Sim::start`], and [`SimError::Thread`] if the thread or its runtime cannot be made.
///
/// ```
/// use streamgauge_sim::{SimConfig, spawn_thread};
///
/// let sim = spawn_thread(SimConfig::default(), ([127, 0, 0, 1], 0).into())?;
/// assert_ne!(sim.addr().port(), 0);
/// assert!(sim.shutdown().is_empty());
/// # Ok::<(), streamgauge_sim::SimError>(())
/// ```
pub fn spawn_thread(config: SimConfig, addr: SocketAddr) -> Result<ThreadedSim, SimError> {
    let sim = Arc::new(Sim::new(config)?);
    let account = sim.account.clone();
    let (stop, stopped) = oneshot::channel();
    let (ready, started) = mpsc::channel();
    let serve = move || match prepare(&sim, addr) {
        Ok(Prepared { runtime, listener, addr, alarms }) => {
            // The receiver waits for this one message.
            let _ = ready.send(Ok(addr));
            runtime.block_on(sim.serve(listener, alarms, stopped));
        }
        Err(error) => drop(ready.send(Err(error))),
    };
    let thread = thread::Builder::new().name("streamgauge-sim".to_owned()).spawn(serve);
    let thread = thread.map_err(|source| SimError::Thread { source })?;
    let addr = started
        .recv()
        .map_err(|source| SimError::Thread { source: io::Error::other(source) })??;
    Ok(ThreadedSim { account, addr, running: Some(Running { stop, thread }) })
}

/// What a server runs on.
struct Prepared {
    addr: SocketAddr,
    alarms: (Alarms, Ringer),
    listener: TcpListener,
    runtime: Runtime,
}

/// Made on the server's thread, because a runtime must not be dropped on a thread that runs another
/// one.
fn prepare(sim: &Sim, addr: SocketAddr) -> Result<Prepared, SimError> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|source| SimError::Thread { source })?;
    let (listener, addr, alarms) = {
        let _context = runtime.enter();
        let (listener, addr) = sim.listen(addr)?;
        (listener, addr, alarms()?)
    };
    Ok(Prepared { addr, alarms, listener, runtime })
}

/// A handle on a server that runs on its own thread. Dropping it stops the server and waits for the
/// thread.
#[derive(Debug)]
pub struct ThreadedSim {
    account: Account,
    addr: SocketAddr,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl ThreadedSim {
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

    /// Drops every connection, stops the thread and gives the final accounts.
    #[must_use = "the final accounts; dropping the handle stops the server too"]
    pub fn shutdown(mut self) -> Vec<RequestAccount> {
        self.stop();
        self.account.requests()
    }

    fn stop(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            drop(stop);
            // A panic of the thread was printed by it, and there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

impl Drop for ThreadedSim {
    fn drop(&mut self) {
        self.stop();
    }
}
