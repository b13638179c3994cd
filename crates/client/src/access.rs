//! What is needed to be let in: headers and a query, whose values are secrets, a proxy, and whom to
//! trust.

use std::fmt;

use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST,
    HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use streamgauge_schema::Dialect;

use crate::error::HeaderError;
use crate::proxy::Proxy;
use crate::query::Query;
use crate::secret::Secret;
use crate::trust::Trust;

/// Headers that the client sets itself.
const RESERVED: [HeaderName; 7] =
    [ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING];

/// A shorter text may stand anywhere by chance, and is left where it stands.
const SHORTEST_SECRET: usize = 4;

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
    /// The text with every value of a header or of the query taken out, for messages that echo what
    /// was sent.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let mut redacted = text.to_owned();
        let of_proxy = self.proxy.iter().flat_map(Proxy::secrets).map(Secret::reveal);
        for secret in self.headers.values().chain(self.query.values()).chain(of_proxy) {
            if secret.len() >= SHORTEST_SECRET {
                redacted = redacted.replace(secret, "[redacted]");
            }
        }
        redacted
    }

    /// Whether nothing in it is a secret.
    pub(crate) fn is_open(&self) -> bool {
        self.headers.is_empty() && self.query.is_empty() && self.proxy.is_none()
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
        let (name, value) = line.split_once(':').ok_or_else(|| HeaderError::NoColon {
            found: line.split_whitespace().next().unwrap_or_default().to_owned(),
        })?;
        let parsed = HeaderName::try_from(name.trim())
            .map_err(|_| HeaderError::Name { name: name.trim().to_owned() })?;
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

    /// The values, each also without what says that it is a bearer's key.
    fn values(&self) -> impl Iterator<Item = &str> {
        let values = self.0.values().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| [value, value.strip_prefix("Bearer ").unwrap_or(value)])
    }
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
    fn what_a_query_holds_is_redacted() {
        let query = Query::new("v=1&api-key=s3cret").unwrap();
        let access = Access { query, ..Access::default() };
        assert_eq!(access.redact("no s3cret at 1"), "no [redacted] at 1");
    }
}
