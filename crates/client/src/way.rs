//! The way to a server: which sockets lead there, through which proxy, and whom to trust at its end.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::net::{TcpStream, UnixStream, lookup_host};

use crate::access::Access;
use crate::endpoint::Endpoint;
use crate::proxy::Proxy;
use crate::stream::Stream;
use crate::trust::Trust;

/// The way to one server.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) endpoint: Endpoint,
    /// Needed for TLS.
    pub(crate) trust: Option<Trust>,
    pub(crate) proxy: Option<Proxy>,
    first: First,
}

/// Where sockets lead to: the server, or the proxy before it.
#[derive(Clone, Debug)]
enum First {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

/// A host name without an address.
#[derive(Clone, Debug)]
pub(crate) struct Unresolved {
    pub(crate) host: String,
    pub(crate) reason: String,
}

impl Way {
    /// Resolves what has a name: the proxy's host where there is a proxy, which then resolves the
    /// server's.
    ///
    /// # Errors
    /// When the name cannot be resolved.
    pub(crate) async fn find(endpoint: &Endpoint, access: &Access) -> Result<Self, Unresolved> {
        let first = match (endpoint.socket(), &access.proxy) {
            (Some(path), _) => First::Unix(path.to_owned()),
            (None, Some(proxy)) => First::Tcp(resolve(proxy.host(), proxy.port()).await?),
            (None, None) => First::Tcp(resolve(endpoint.host(), endpoint.port()).await?),
        };
        let (trust, proxy) = (access.trust.clone(), access.proxy.clone());
        Ok(Self { endpoint: endpoint.clone(), trust, proxy, first })
    }

    /// A way that leads nowhere.
    pub(crate) fn nowhere(endpoint: &Endpoint) -> Self {
        let first = First::Tcp(Vec::new());
        Self { endpoint: endpoint.clone(), trust: None, proxy: None, first }
    }

    /// Opens a socket to its first station.
    pub(crate) async fn open(&self) -> io::Result<Stream> {
        let addresses = match &self.first {
            First::Tcp(addresses) => addresses,
            First::Unix(path) => return Ok(Stream::Unix(UnixStream::connect(path).await?)),
        };
        let mut last = io::Error::other("no address");
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(tcp) => {
                    tcp.set_nodelay(true)?;
                    return Ok(Stream::Tcp(tcp));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// What its first station is called.
    pub(crate) fn first(&self) -> String {
        match &self.proxy {
            Some(proxy) => format!("the proxy {proxy}"),
            None => self.endpoint.to_string(),
        }
    }
}

/// The addresses behind a host, in the resolver's order; at least one.
async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Unresolved> {
    let unresolved = |reason: String| Unresolved { host: host.to_owned(), reason };
    let found = lookup_host((host, port)).await.map_err(|error| unresolved(error.to_string()))?;
    let addresses: Vec<_> = found.collect();
    if addresses.is_empty() {
        return Err(unresolved("the name has no address".to_owned()));
    }
    Ok(addresses)
}
