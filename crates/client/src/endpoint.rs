//! Where requests go: a base address, taken apart and checked.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use hyper::Uri;
use hyper::http::uri::Scheme;

use crate::error::EndpointError;
use crate::query::is_path;

/// How an address begins that is a Unix-domain socket.
const UNIX: &str = "unix://";
/// What stands between the path of a socket and the prefix of a URL.
const AFTER_SOCKET: &str = ":/";
/// The name of whoever listens at a Unix-domain socket.
const LOCALHOST: &str = "localhost";

/// A server's base address: scheme, host, port and path prefix, or a Unix-domain socket and a path
/// prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    tls: bool,
    host: String,
    port: u16,
    prefix: String,
    socket: Option<PathBuf>,
}

impl Endpoint {
    /// Takes a base address apart, such as `http://127.0.0.1:8000` or `https://host/v1`.
    ///
    /// ```
    /// use streamgauge_client::Endpoint;
    /// let endpoint = Endpoint::parse("https://example.org/v1/")?;
    /// assert_eq!(endpoint.to_string(), "https://example.org:443/v1");
    /// assert_eq!(endpoint.path("/v1/models"), "/v1/models");
    /// assert_eq!(Endpoint::parse("http://h:1/proxy")?.path("/v1/models"), "/proxy/v1/models");
    /// # Ok::<(), streamgauge_client::EndpointError>(())
    /// ```
    ///
    /// A Unix-domain socket is written `unix:///run/server.sock`, and with a prefix
    /// `unix:///run/server.sock:/v1`. Requests there name the host `localhost`.
    ///
    /// # Errors
    /// When it is no URL, its scheme is not http, https or unix, or it carries a user, query or
    /// fragment.
    pub fn parse(base_url: &str) -> Result<Self, EndpointError> {
        let refuse = |reason| EndpointError { url: without_secrets(base_url), reason };
        if let Some(rest) = base_url.strip_prefix(UNIX) {
            return Self::at_socket(rest).map_err(refuse);
        }
        let uri: Uri = base_url.parse().map_err(|_| refuse("it is not a URL"))?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(refuse("it must begin with http://, https:// or unix:///")),
        };
        let authority = uri.authority().ok_or_else(|| refuse("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("it holds a user; pass credentials with --api-key-env or --header"));
        }
        if uri.query().is_some() || base_url.contains('#') {
            return Err(refuse("it holds a query or fragment"));
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(refuse("it names no host"));
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str().ends_with(':') || has_bad_port(authority.as_str()) => {
                return Err(refuse("its port is not a number from 0 to 65535"));
            }
            None if tls => 443,
            None => 80,
        };
        Ok(Self {
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            prefix: uri.path().trim_end_matches('/').to_owned(),
            socket: None,
        })
    }

    fn at_socket(rest: &str) -> Result<Self, &'static str> {
        let (socket, prefix) = match rest.split_once(AFTER_SOCKET) {
            Some((socket, prefix)) => (socket, format!("/{prefix}")),
            None => (rest.strip_suffix(':').unwrap_or(rest), String::new()),
        };
        let prefix = prefix.trim_end_matches('/').to_owned();
        if !socket.starts_with('/') || socket.contains('\0') {
            return Err("a socket is named by its whole path, as in unix:///run/server.sock");
        }
        if !prefix.is_empty() && !is_path(&prefix) {
            return Err("what follows the socket's path and a colon is no path of a URL");
        }
        let host = LOCALHOST.to_owned();
        Ok(Self { tls: false, host, port: 80, prefix, socket: Some(PathBuf::from(socket)) })
    }

    /// Whether connections are made with TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The host's name or literal address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The Unix-domain socket, where it is one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Whether the host is a literal loopback address or `localhost`, as it is behind a Unix-domain
    /// socket.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// The path of an API below the prefix. A prefix that ends in `/v1` takes the place of the
    /// path's own `/v1`: both habits of writing a base address are understood.
    #[must_use]
    pub fn path(&self, api_path: &str) -> String {
        let rest = match api_path.strip_prefix("/v1/") {
            Some(rest) if self.prefix.ends_with("/v1") => rest,
            _ => api_path.trim_start_matches('/'),
        };
        format!("{}/{rest}", self.prefix)
    }

    /// The value of the `Host` header.
    #[must_use]
    pub fn host_header(&self) -> String {
        let default_port = if self.tls { 443 } else { 80 };
        if self.port == default_port { self.bracketed_host() } else { self.authority() }
    }

    /// Host and port, as a proxy is told them.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.bracketed_host(), self.port)
    }

    fn bracketed_host(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(socket) = &self.socket {
            let after = if self.prefix.is_empty() { "" } else { ":" };
            return write!(f, "{UNIX}{}{after}{}", socket.display(), self.prefix);
        }
        let scheme = if self.tls { "https" } else { "http" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}{}", self.host, self.port, self.prefix)
        } else {
            write!(f, "{scheme}://{}:{}{}", self.host, self.port, self.prefix)
        }
    }
}

/// Whether a host is a literal loopback address or `localhost`.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == LOCALHOST || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

fn has_bad_port(authority: &str) -> bool {
    let after_host = authority.rsplit_once(']').map_or(authority, |(_, rest)| rest);
    after_host.contains(':')
}

/// The address without what stands before `@`, or after `?` or `#`, which may be a secret. A password
/// may hold any of these, so that the last `@` counts.
pub(crate) fn without_secrets(url: &str) -> String {
    let (scheme, rest) = match url.find("://") {
        Some(end) => url.split_at(end + 3),
        None => ("", url),
    };
    let rest = rest.rsplit_once('@').map_or(rest, |(_, after)| after);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (url, shown, host_header) in [
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "127.0.0.1:8000"),
            ("http://localhost/", "http://localhost:80", "localhost"),
            ("https://h.example/v1", "https://h.example:443/v1", "h.example"),
            ("https://h.example:8443/a/b/", "https://h.example:8443/a/b", "h.example:8443"),
            ("http://[::1]:9", "http://[::1]:9", "[::1]:9"),
            ("unix:///run/a.sock", "unix:///run/a.sock", "localhost"),
            ("unix:///run/a.sock:", "unix:///run/a.sock", "localhost"),
            ("unix:///run/a.sock:/v1/", "unix:///run/a.sock:/v1", "localhost"),
            ("unix:///run/a:b.sock:/a/b", "unix:///run/a:b.sock:/a/b", "localhost"),
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            assert_eq!(
                (endpoint.to_string(), endpoint.host_header()),
                (shown.into(), host_header.into())
            );
        }
    }

    #[test]
    fn bad_addresses_are_named_without_their_secrets() {
        for (url, expected) in [
            ("", "\"\" is not a base address: it is not a URL"),
            (
                "localhost:8000",
                "\"localhost:8000\" is not a base address: it must begin with http://, https:// or unix:///",
            ),
            (
                "ftp://h",
                "\"ftp://h\" is not a base address: it must begin with http://, https:// or unix:///",
            ),
            (
                "http://h:99999",
                "\"http://h:99999\" is not a base address: its port is not a number from 0 to 65535",
            ),
            (
                "unix://run/a.sock",
                "\"unix://run/a.sock\" is not a base address: a socket is named by its whole path, as in unix:///run/server.sock",
            ),
            (
                "unix:///run/a.sock:/v1?key=1",
                "\"unix:///run/a.sock:/v1\" is not a base address: what follows the socket's path and a colon is no path of a URL",
            ),
            ("http://h?key=1", "\"http://h\" is not a base address: it holds a query or fragment"),
            (
                "http://me:secret@h",
                "\"http://h\" is not a base address: it holds a user; pass credentials with --api-key-env or --header",
            ),
        ] {
            assert_eq!(Endpoint::parse(url).unwrap_err().to_string(), expected);
        }
        for url in [
            "http://me:s3cret@h",
            "http://me:?s3cret@h",
            "http://me:s3cret?@h",
            "http://me:s3cret#@h?a=b",
            "me:s3cret@h",
            "https://h/v1?key=s3cret",
            "https://h/v1#s3cret",
            "https://h/v1?mail=s3cret@x",
            "h/v1?key=s3cret",
        ] {
            let said = Endpoint::parse(url).unwrap_err().to_string();
            assert!(!said.contains("s3cret"), "{said}");
        }
    }
}
