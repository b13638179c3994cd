//! From an address to a connection: a socket, a tunnel, TLS, and which connections carry the kernel's
//! stamps.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use rustls::pki_types::ServerName;
use streamgauge_schema::{FailureClass, KernelStamps};
use tokio_rustls::TlsConnector;

use crate::connection::{Connection, Io, Origin};
use crate::error::TransportError;
use crate::socket::StampedSocket;
use crate::tap::Tap;
use crate::trust::explained;
use crate::tunnel;
use crate::way::Way;

/// Of a sample, the first connections that all carry stamps, and then every so manieth.
const SAMPLE: u64 = 8;

/// Makes connections to one server.
#[derive(Debug)]
pub(crate) struct Connector {
    way: Way,
    timeout: Duration,
    kernel_stamps: KernelStamps,
    made: AtomicU64,
}

impl Connector {
    /// A connector that goes a way. The way must hold a trust for TLS.
    pub(crate) fn new(way: Way, timeout: Duration, kernel_stamps: KernelStamps) -> Self {
        Self { way, timeout, kernel_stamps, made: AtomicU64::new(0) }
    }

    /// Makes one connection within the time limit.
    pub(crate) async fn connect(&self) -> Result<Connection, TransportError> {
        let begun = Instant::now();
        tokio::time::timeout(self.timeout, self.connect_without_limit(begun)).await.unwrap_or_else(
            |_| {
                Err(TransportError {
                    class: FailureClass::ConnectTimeout,
                    message: format!(
                        "no connection to {} within {:?}",
                        self.way.endpoint, self.timeout
                    ),
                })
            },
        )
    }

    async fn connect_without_limit(&self, begun: Instant) -> Result<Connection, TransportError> {
        let endpoint = &self.way.endpoint;
        let stream = self.way.open().await.map_err(|error| self.refused(&error))?;
        let tap = Tap::default();
        let socket = StampedSocket::new(stream, tap.clone(), self.next_carries_stamps());
        let probe = Some(socket.probe());
        let kernel_stamps = socket.has_kernel_stamps();
        let io: Box<dyn Io> = if endpoint.is_tls() {
            Box::new(self.handshake(self.through_proxy(socket).await?).await?)
        } else {
            Box::new(socket)
        };
        let origin = Origin { connect: begun.elapsed(), probe, kernel_stamps };
        Connection::over(io, tap, origin).await.map_err(|error| TransportError {
            class: FailureClass::Connect,
            message: format!("cannot speak HTTP with {endpoint}: {error}"),
        })
    }

    /// The socket as one of the server's: a proxy passes on what is sent after it was asked to.
    async fn through_proxy(&self, socket: StampedSocket) -> Result<StampedSocket, TransportError> {
        let Some(proxy) = &self.way.proxy else { return Ok(socket) };
        let endpoint = &self.way.endpoint;
        tunnel::open(socket, proxy, endpoint).await.map_err(|reason| TransportError {
            class: FailureClass::Connect,
            message: format!("no way to {endpoint} through the proxy {proxy}: {reason}"),
        })
    }

    fn refused(&self, error: &io::Error) -> TransportError {
        let own_limit =
            [Errno::EMFILE as i32, Errno::ENFILE as i32].map(Some).contains(&error.raw_os_error());
        let (class, advice) = if own_limit {
            let advice = "; this client has no more: raise its limit of open files (ulimit -n), or \
                          limit the requests under way";
            (FailureClass::RunnerError, advice)
        } else {
            (FailureClass::Connect, "")
        };
        let message = format!("cannot connect to {}: {error}{advice}", self.way.first());
        TransportError { class, message }
    }

    async fn handshake(
        &self,
        socket: StampedSocket,
    ) -> Result<tokio_rustls::client::TlsStream<StampedSocket>, TransportError> {
        let Way { endpoint, trust, .. } = &self.way;
        let refuse = |reason: String| TransportError {
            class: FailureClass::Tls,
            message: format!("no TLS with {endpoint}: {reason}"),
        };
        let name = ServerName::try_from(endpoint.host().to_owned())
            .map_err(|error| refuse(error.to_string()))?;
        let trust = trust.as_ref().ok_or_else(|| refuse("no trust was set up".to_owned()))?;
        let connected = TlsConnector::from(trust.config()).connect(name, socket).await;
        connected.map_err(|error| refuse(reason(&error)))
    }

    fn next_carries_stamps(&self) -> bool {
        let ordinal = self.made.fetch_add(1, Ordering::Relaxed);
        match self.kernel_stamps {
            KernelStamps::All => true,
            KernelStamps::Off => false,
            KernelStamps::Sampled => ordinal < SAMPLE || ordinal.is_multiple_of(SAMPLE),
        }
    }
}

/// Why there is no TLS.
fn reason(error: &io::Error) -> String {
    match tls_error(error) {
        Some(error) => explained(error),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection was closed in the midst of it; perhaps there is no TLS at this port"
                .to_owned()
        }
        None => error.to_string(),
    }
}

/// The error of TLS within one of a socket.
pub(crate) fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}
