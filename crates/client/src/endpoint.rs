//! Where requests go: a base address, taken apart and checked.

use std::fmt;
use std::net::SocketAddr;

use hyper::Uri;
use hyper::http::uri::Scheme;

use crate::error::EndpointError;

/// A server's base address: scheme, host, port and path prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    tls: bool,
    host: String,
    port: u16,
    prefix: String,
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
    /// # Errors
    /// When it is no URL, its scheme is not http or https, or it carries a user, query or fragment.
    pub fn parse(base_url: &str) -> Result<Self, EndpointError> {
        let refuse = |reason| EndpointError { url: without_secrets(base_url), reason };
        let uri: Uri = base_url.parse().map_err(|_| refuse("it is not a URL"))?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(refuse("it must begin with http:// or https://")),
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
        })
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

    /// Whether the host is a literal loopback address or `localhost`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
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
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let default_port = if self.tls { 443 } else { 80 };
        if self.port == default_port { host } else { format!("{host}:{}", self.port) }
    }

    /// The addresses behind the host, in the resolver's order.
    ///
    /// # Errors
    /// When the name cannot be resolved.
    pub async fn resolve(&self) -> std::io::Result<Vec<SocketAddr>> {
        let addresses: Vec<_> =
            tokio::net::lookup_host((self.host.as_str(), self.port)).await?.collect();
        if addresses.is_empty() {
            return Err(std::io::Error::other("the name has no address"));
        }
        Ok(addresses)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}{}", self.host, self.port, self.prefix)
        } else {
            write!(f, "{scheme}://{}:{}{}", self.host, self.port, self.prefix)
        }
    }
}

fn has_bad_port(authority: &str) -> bool {
    let after_host = authority.rsplit_once(']').map_or(authority, |(_, rest)| rest);
    after_host.contains(':')
}

/// The address without what stands before `@`, or after `?` or `#`, which may be a secret. A password
/// may hold any of these, so that the last `@` counts.
fn without_secrets(url: &str) -> String {
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
                "\"localhost:8000\" is not a base address: it must begin with http:// or https://",
            ),
            (
                "ftp://h",
                "\"ftp://h\" is not a base address: it must begin with http:// or https://",
            ),
            (
                "http://h:99999",
                "\"http://h:99999\" is not a base address: its port is not a number from 0 to 65535",
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
