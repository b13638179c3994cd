//! The query of every request, whose values may be keys.

use std::fmt;

use hyper::http::uri::PathAndQuery;
use percent_encoding::percent_decode_str;

use crate::error::QueryError;
use crate::secret::Secret;

/// What stands in a plan for a value of a query.
const REDACTED: &str = "redacted";

/// The query of every request, without its question mark. Its values cannot be printed.
///
/// ```
/// use streamgauge_client::Query;
/// let query = Query::new("api-version=2024-06-01&key=s3cret&stream")?;
/// assert_eq!(query.redacted(), "api-version=redacted&key=redacted&stream");
/// assert_eq!(format!("{query:?}"), "Query(\"api-version=redacted&key=redacted&stream\")");
/// # Ok::<(), streamgauge_client::QueryError>(())
/// ```
#[derive(Clone, Default)]
pub struct Query(String);

impl Query {
    /// Takes a query as it is to be sent.
    ///
    /// # Errors
    /// When it holds a character that HTTP does not allow there.
    pub fn new(text: &str) -> Result<Self, QueryError> {
        let is_whole = |path: &PathAndQuery| path.query() == Some(text);
        match format!("/?{text}").parse() {
            Ok(path) if is_whole(&path) => Ok(Self(text.to_owned())),
            _ => Err(QueryError),
        }
    }

    /// The query with its names alone: what a plan may hold of it.
    #[must_use]
    pub fn redacted(&self) -> String {
        let member = |member: &str| match member.split_once('=') {
            Some((name, _)) => format!("{name}={REDACTED}"),
            None => member.to_owned(),
        };
        self.0.split('&').map(member).collect::<Vec<_>>().join("&")
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The values, as they are sent and as they are meant.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let values = self.0.split('&').filter_map(|member| Some(member.split_once('=')?.1));
        values.flat_map(|value| {
            let meant = percent_decode_str(value).decode_utf8_lossy().into_owned();
            [Secret::new(value), Secret::new(meant)]
        })
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Query").field(&self.redacted()).finish()
    }
}

/// Whether a request can ask for this path, which has no query.
///
/// ```
/// use streamgauge_client::is_path;
/// let asked = ["/v1/x", "/a%20b", "", "v1", "/a b", "/a?b", "/a#b"].map(is_path);
/// assert_eq!(asked, [true, true, false, false, false, false, false]);
/// ```
#[must_use]
pub fn is_path(path: &str) -> bool {
    path.starts_with('/')
        && path.parse().is_ok_and(|whole: PathAndQuery| whole.as_str() == path)
        && !path.contains('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_keeps_its_names_or_is_refused_whole() {
        for (text, redacted) in
            [("", ""), ("a", "a"), ("a=", "a=redacted"), ("a=b=c&d=%20", "a=redacted&d=redacted")]
        {
            assert_eq!(Query::new(text).unwrap().redacted(), redacted);
        }
        for text in ["a b", "a=1#b", "a=\n", "a=\u{1}"] {
            let error = Query::new(text).unwrap_err().to_string();
            assert_eq!(error, "the query holds a character that a request cannot carry", "{text}");
        }
    }
}
