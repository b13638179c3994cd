//! An HTTP proxy between client and server: asked for by a flag, or looked up in the environment where
//! that was asked for.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;

use crate::endpoint::{Endpoint, without_secrets};
use crate::error::ProxyError;
use crate::secret::Secret;

/// A proxy that speaks HTTP: it is asked for a tunnel to an `https` server, and to pass on each request
/// to an `http` one.
#[derive(Clone, Debug)]
pub struct Proxy {
    host: String,
    port: u16,
    authorization: Option<Authorization>,
}

/// What lets in at a proxy.
#[derive(Clone)]
struct Authorization {
    header: HeaderValue,
    user: Secret,
    password: Secret,
}

impl Proxy {
    /// Takes the address of a proxy apart, such as `http://proxy.example:3128`, or with a user,
    /// `http://user:password@proxy.example:3128`.
    ///
    /// ```
    /// use streamgauge_client::Proxy;
    /// let proxy = Proxy::parse("http://me:s3cret@proxy.example:3128")?;
    /// assert_eq!(proxy.to_string(), "http://proxy.example:3128");
    /// # Ok::<(), streamgauge_client::ProxyError>(())
    /// ```
    ///
    /// # Errors
    /// When it is no such address.
    pub fn parse(url: &str) -> Result<Self, ProxyError> {
        let refuse = |reason| ProxyError { url: without_secrets(url), reason };
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(refuse("a proxy is reached by http://, which carries https too"));
        }
        let (user_info, address) = match rest.trim_end_matches('/').rsplit_once('@') {
            Some((user_info, address)) => (Some(user_info), address),
            None => (None, rest.trim_end_matches('/')),
        };
        let place = Endpoint::parse(&format!("http://{address}"));
        let place = place.map_err(|error| refuse(error.reason))?;
        if place.path("/") != "/" {
            return Err(refuse("it has a path, and a proxy has a host and a port alone"));
        }
        Ok(Self {
            host: place.host().to_owned(),
            port: place.port(),
            authorization: user_info.map(Authorization::new).transpose().map_err(refuse)?,
        })
    }

    /// The proxy that the environment names for a server, as most programs read it: `https_proxy` or
    /// `http_proxy` by the server's scheme, else `all_proxy`, each in small letters or, but for
    /// `HTTP_PROXY`, in capitals; none for a server on this machine or in `no_proxy`.
    ///
    /// # Errors
    /// When what it names is no proxy that can be used.
    pub fn from_environment(
        endpoint: &Endpoint,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, ProxyError> {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| variable(name).filter(|it| !it.is_empty()))
        };
        let url = match endpoint.is_tls() {
            true => first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            // A server's program gets HTTP_PROXY from whoever sends it a header "Proxy".
            false => first(&["http_proxy", "all_proxy", "ALL_PROXY"]),
        };
        let exempt = first(&["no_proxy", "NO_PROXY"]).unwrap_or_default();
        match url {
            Some(url) if !endpoint.is_loopback() && !is_exempt(endpoint, &exempt) => {
                Self::parse(&url).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether it is this machine itself.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        crate::endpoint::is_loopback(&self.host)
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The header that lets in, if it needs one.
    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref().map(|it| &it.header)
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.authorization.iter().flat_map(|it| [&it.user, &it.password])
    }
}

/// The address, without a user.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "http://{open}{}{close}:{}", self.host, self.port)
    }
}

impl Authorization {
    fn new(user_info: &str) -> Result<Self, &'static str> {
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        let decoded = |text: &str| {
            let decoded = percent_decode_str(text).decode_utf8();
            decoded.map(|text| text.into_owned()).map_err(|_| "its user is not UTF-8")
        };
        let (user, password) = (decoded(user)?, decoded(password)?);
        let basic = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        let mut header =
            HeaderValue::try_from(basic).map_err(|_| "its user cannot be sent in a header")?;
        header.set_sensitive(true);
        Ok(Self { header, user: Secret::new(user), password: Secret::new(password) })
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization")
    }
}

/// Whether a list of `no_proxy` names a server: by its name, by the end of it, by its address or the
/// network of that, by any of these with its port, or by `*`.
fn is_exempt(endpoint: &Endpoint, list: &str) -> bool {
    list.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
                (name, port.parse().ok())
            }
            _ => (entry, None),
        };
        let name = name.trim_matches(['[', ']']);
        port.is_none_or(|port: u16| port == endpoint.port())
            && (name == "*" || is_named(endpoint.host(), name))
    })
}

fn is_named(host: &str, entry: &str) -> bool {
    if let Ok(address) = host.parse::<IpAddr>() {
        return match entry.split_once('/') {
            Some((network, bits)) => {
                let network = network.parse().ok().zip(bits.parse().ok());
                network.is_some_and(|(network, bits)| is_within(address, network, bits))
            }
            None => entry.parse() == Ok(address),
        };
    }
    let (host, entry) = (host.to_ascii_lowercase(), entry.to_ascii_lowercase());
    let entry = entry.trim_start_matches("*.").trim_start_matches('.');
    host == entry || host.strip_suffix(entry).is_some_and(|rest| rest.ends_with('.'))
}

/// Whether the first bits of two addresses agree.
fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let rest = |width: u32| width.checked_sub(bits);
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => rest(32).is_some_and(|rest| {
            (address.to_bits() ^ network.to_bits()).checked_shr(rest).unwrap_or(0) == 0
        }),
        (IpAddr::V6(address), IpAddr::V6(network)) => rest(128).is_some_and(|rest| {
            (address.to_bits() ^ network.to_bits()).checked_shr(rest).unwrap_or(0) == 0
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_taken_apart_and_its_user_is_not_shown() {
        for (url, shown, header) in [
            ("http://p.example:8080", "http://p.example:8080", None),
            ("p.example:8080", "http://p.example:8080", None),
            ("http://[::1]/", "http://[::1]:80", None),
            ("http://ann:p%40ss@p.example:1", "http://p.example:1", Some("Basic YW5uOnBAc3M=")),
            ("http://ann@p.example:1", "http://p.example:1", Some("Basic YW5uOg==")),
        ] {
            let proxy = Proxy::parse(url).unwrap();
            assert_eq!(proxy.to_string(), shown);
            assert_eq!(proxy.authorization().map(|it| it.to_str().unwrap()), header);
            for text in [format!("{proxy:?}"), format!("{proxy:#?}")] {
                assert!(!text.contains("ann") && !text.contains("ss"), "{text}");
            }
        }
        for (url, reason) in [
            ("https://me:s3cret@p", "a proxy is reached by http://, which carries https too"),
            ("socks5://p:1", "a proxy is reached by http://, which carries https too"),
            ("http://", "it is not a URL"),
            ("http://me:s3cret@", "it is not a URL"),
            ("http://p:99999", "its port is not a number from 0 to 65535"),
            ("http://p/path", "it has a path, and a proxy has a host and a port alone"),
            ("http://me:s3cret@p?x", "it holds a query or fragment"),
        ] {
            let error = Proxy::parse(url).unwrap_err();
            assert_eq!(error.reason, reason, "{url}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn the_environment_names_a_proxy_by_scheme_and_leaves_servers_out() {
        let proxy = |url: &str, set: &[(&str, &str)]| {
            let endpoint = Endpoint::parse(url).unwrap();
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Proxy::from_environment(&endpoint, variable).unwrap().map(|it| it.to_string())
        };
        let both = [("http_proxy", "http://plain:1"), ("HTTPS_PROXY", "http://tls:2")];
        assert_eq!(proxy("http://h.example", &both).as_deref(), Some("http://plain:1"));
        assert_eq!(proxy("https://h.example", &both).as_deref(), Some("http://tls:2"));
        assert_eq!(proxy("http://h.example", &[("HTTP_PROXY", "http://p:1")]), None);
        let all = [("all_proxy", "p:3")];
        assert_eq!(proxy("https://h.example", &all).as_deref(), Some("http://p:3"));
        assert_eq!(proxy("http://127.0.0.1:8000", &all), None);
        assert_eq!(proxy("http://localhost", &all), None);
        for (list, hosts, others) in [
            ("*", &["h.example", "10.1.2.3"][..], &[][..]),
            ("h.example", &["h.example", "a.h.example", "H.example"], &["xh.example", "example"]),
            (".example, other", &["h.example", "other"], &["another"]),
            ("h.example:8000", &["h.example:8000"], &["h.example:8001"]),
            ("10.0.0.0/8", &["10.1.2.3"], &["11.1.2.3", "h.example"]),
            ("10.1.2.3", &["10.1.2.3"], &["10.1.2.4"]),
            ("fd00::/8", &["[fd12::1]"], &["[fe80::1]"]),
            ("0.0.0.0/0", &["10.1.2.3"], &["[fe80::1]"]),
            ("10.0.0.0/33,nonsense/8", &[], &["10.1.2.3"]),
        ] {
            for (hosts, expected) in [(hosts, None), (others, Some("http://p:3"))] {
                for host in hosts {
                    let set = [("all_proxy", "p:3"), ("no_proxy", list)];
                    let found = proxy(&format!("http://{host}"), &set);
                    assert_eq!(found.as_deref(), expected, "{host} with {list}");
                }
            }
        }
    }
}
