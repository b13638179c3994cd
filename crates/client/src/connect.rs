//! From an address to a connection: TCP, TLS, and which connections carry the kernel's stamps.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use rustls::pki_types::ServerName;
use streamgauge_schema::{FailureClass, KernelStamps};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::access::Trust;
use crate::connection::{Connection, Io, Origin};
use crate::endpoint::Endpoint;
use crate::error::TransportError;
use crate::socket::StampedSocket;
use crate::tap::Tap;

/// Of a sample, the first connections that all carry stamps, and then every so manieth.
const SAMPLE: u64 = 8;

/// Makes connections to one server.
#[derive(Debug)]
pub(crate) struct Connector {
    endpoint: Endpoint,
    addresses: Vec<SocketAddr>,
    trust: Option<Trust>,
    timeout: Duration,
    kernel_stamps: KernelStamps,
    made: AtomicU64,
}

impl Connector {
    /// A connector to the given addresses of an endpoint. `trust` must be there for TLS.
    pub(crate) fn new(
        endpoint: Endpoint,
        addresses: Vec<SocketAddr>,
        trust: Option<Trust>,
        timeout: Duration,
        kernel_stamps: KernelStamps,
    ) -> Self {
        Self { endpoint, addresses, trust, timeout, kernel_stamps, made: AtomicU64::new(0) }
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
                        self.endpoint, self.timeout
                    ),
                })
            },
        )
    }

    async fn connect_without_limit(&self, begun: Instant) -> Result<Connection, TransportError> {
        let tcp = self.connect_tcp().await.map_err(|error| self.refused(&error))?;
        let tap = Tap::default();
        let socket = StampedSocket::new(tcp, tap.clone(), self.next_carries_stamps());
        let probe = Some(socket.probe());
        let kernel_stamps = socket.has_kernel_stamps();
        let io: Box<dyn Io> = if self.endpoint.is_tls() {
            Box::new(self.handshake(socket).await?)
        } else {
            Box::new(socket)
        };
        let origin = Origin { connect: begun.elapsed(), probe, kernel_stamps };
        Connection::over(io, tap, origin).await.map_err(|error| TransportError {
            class: FailureClass::Connect,
            message: format!("cannot speak HTTP with {}: {error}", self.endpoint),
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
        let message = format!("cannot connect to {}: {error}{advice}", self.endpoint);
        TransportError { class, message }
    }

    async fn connect_tcp(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::other("no address");
        for address in &self.addresses {
            match TcpStream::connect(address).await {
                Ok(tcp) => {
                    tcp.set_nodelay(true)?;
                    return Ok(tcp);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn handshake(
        &self,
        socket: StampedSocket,
    ) -> Result<tokio_rustls::client::TlsStream<StampedSocket>, TransportError> {
        let refuse = |reason: String| TransportError {
            class: FailureClass::Tls,
            message: format!("no TLS with {}: {reason}", self.endpoint),
        };
        let name = ServerName::try_from(self.endpoint.host().to_owned())
            .map_err(|error| refuse(error.to_string()))?;
        let trust = self.trust.as_ref().ok_or_else(|| refuse("no trust was set up".to_owned()))?;
        TlsConnector::from(trust.0.clone())
            .connect(name, socket)
            .await
            .map_err(|error| refuse(error.to_string()))
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
