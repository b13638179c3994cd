//! What is needed to be let in: headers and a query, whose values are secrets, a proxy, and whom to
//! trust.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST,
    HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use streamgauge_schema::Dialect;

use crate::error::HeaderError;
use crate::proxy::Proxy;
use crate::query::Query;
use crate::secret::{Redactor, Secret};
use crate::trust::Trust;

/// Headers that the client sets itself.
const RESERVED: [HeaderName; 7] =
    [ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING];

/// Where Anthropic's API looks for a key.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// What is needed to be let in. It stands in no plan.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Extra headers.
    pub headers: Headers,
    /// The query of every request; where it is not empty, it takes the place of the one in the
    /// plan's path.
    pub query: Query,
    /// Whom to trust; needed for `https`.
    pub trust: Option<Trust>,
    /// The proxy to go through; `None` goes straight to the server.
    pub proxy: Option<Proxy>,
}

impl Access {
    /// The text with every value of a header, of the query or of a proxy's user taken out, for messages
    /// that echo what was sent: as they were sent, as Base64, percent-encoded, and as JSON escapes them.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.redactor().redact(text)
    }

    /// What takes all secrets out of many texts.
    pub(crate) fn redactor(&self) -> Redactor {
        let of_proxy = self.proxy.iter().flat_map(Proxy::secrets).cloned();
        let secrets = self.headers.secrets().chain(self.query.secrets()).chain(of_proxy);
        Redactor::of(&secrets.collect::<Vec<_>>())
    }
}

/// Extra headers. Their values cannot be printed.
#[derive(Clone, Default)]
pub struct Headers(HeaderMap);

impl Headers {
    /// Adds a header written `Name: value`.
    ///
    /// # Errors
    /// When it is no header, stands here already, or is one that the client sets itself.
    pub fn add(&mut self, line: &str) -> Result<(), HeaderError> {
        let (name, value) = line.split_once(':').ok_or(HeaderError::NoColon)?;
        let parsed = HeaderName::try_from(name.trim()).map_err(|_| HeaderError::Name)?;
        if RESERVED.contains(&parsed) {
            return Err(HeaderError::Reserved { name: parsed.to_string() });
        }
        self.insert(parsed, value.trim())
    }

    /// Adds a key where the API looks for it: Anthropic's in `x-api-key`, every other in
    /// `Authorization: Bearer …`.
    ///
    /// # Errors
    /// When the key has characters that headers cannot carry, or the header stands here already.
    pub fn add_api_key(&mut self, key: &str, dialect: Dialect) -> Result<(), HeaderError> {
        match dialect {
            Dialect::AnthropicMessages => self.insert(X_API_KEY, key),
            _ => self.insert(AUTHORIZATION, &format!("Bearer {key}")),
        }
    }

    fn insert(&mut self, name: HeaderName, value: &str) -> Result<(), HeaderError> {
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| HeaderError::Value { name: name.to_string() })?;
        value.set_sensitive(true);
        if self.0.contains_key(&name) {
            return Err(HeaderError::Twice { name: name.to_string() });
        }
        self.0.insert(name, value);
        Ok(())
    }

    /// Names of the headers, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.keys().map(ToString::to_string).collect();
        names.sort();
        names
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn map(&self) -> &HeaderMap {
        &self.0
    }

    /// The values, and what in them is a secret by itself.
    fn secrets(&self) -> impl Iterator<Item = Secret> {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        self.0.iter().flat_map(move |(name, value)| secrets_in(name, text(value)))
    }
}

/// A header's value, what follows the scheme of an authorization (of `Basic` also user and password), and
/// the value of each cookie.
fn secrets_in(name: &HeaderName, value: String) -> Vec<Secret> {
    let mut parts = vec![value.clone()];
    if let Some((scheme, credentials)) = value.split_once(' ') {
        parts.push(credentials.trim_start().to_owned());
        if scheme.eq_ignore_ascii_case("basic")
            && let Ok(decoded) = STANDARD.decode(credentials.trim())
            && let Ok(decoded) = String::from_utf8(decoded)
        {
            parts.extend(decoded.split(':').map(str::to_owned));
        }
    }
    if *name == COOKIE {
        let cookies = value.split(';').filter_map(|cookie| cookie.split_once('='));
        parts.extend(cookies.map(|(_, value)| value.to_owned()));
    }
    parts.into_iter().map(Secret::new).collect()
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Headers").field(&self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_where_its_api_looks_and_is_redacted() {
        for dialect in Dialect::ALL {
            let (name, value) = match dialect {
                Dialect::AnthropicMessages => ("x-api-key", "key-1234"),
                _ => ("authorization", "Bearer key-1234"),
            };
            let mut headers = Headers::default();
            headers.add_api_key("key-1234", *dialect).unwrap();
            assert_eq!(headers.names(), [name]);
            assert_eq!(headers.map()[name], value);
            let access = Access { headers, ..Access::default() };
            assert_eq!(access.redact("bad key key-1234"), "bad key [redacted]");
        }
    }

    #[test]
    fn what_lets_in_is_redacted_in_whatever_it_stood() {
        let headers = |line: &str| {
            let mut headers = Headers::default();
            headers.add(line).unwrap();
            Access { headers, ..Access::default() }
        };
        let query = |text| Access { query: Query::new(text).unwrap(), ..Access::default() };
        let proxy = Proxy::parse("http://annie:s%2Fcret@h:1").unwrap();
        let proxy = Access { proxy: Some(proxy), ..Access::default() };
        for (access, text, redacted) in [
            (query("v=1&api-key=s3cret"), "no s3cret at 1", "no [redacted] at 1"),
            (query("api-key=s%2Fcret"), "no s/cret, no s%2Fcret", "no [redacted], no [redacted]"),
            (headers("X-Key: s3cret"), "s3cret", "[redacted]"),
            (headers("X-Key: schlüssel"), "schlüssel", "[redacted]"),
            (headers("Authorization: Token s3cret"), "no s3cret", "no [redacted]"),
            (
                headers("Authorization: Basic YW5uaWU6czNjcmV0"),
                "annie: s3cret, YW5uaWU6czNjcmV0",
                "[redacted]: [redacted], [redacted]",
            ),
            (headers("Cookie: a=s3cret; b=t0ken"), "s3cret t0ken", "[redacted] [redacted]"),
            (proxy, "annie s/cret", "[redacted] [redacted]"),
        ] {
            assert_eq!(access.redact(text), redacted);
        }
    }
}
