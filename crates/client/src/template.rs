//! What all requests of a run have in common: path and headers.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::http::uri::{InvalidUri, PathAndQuery};
use hyper::{Method, Request, Uri};
use streamgauge_schema::Dialect;

use crate::access::Access;
use crate::endpoint::Endpoint;
use crate::proxy::Proxy;

/// Name of the header by which a server's account can be joined with ours.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Anthropic's API refuses requests that do not name the version they are written in.
const ANTHROPIC_VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));

/// The path and the headers of every request.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    uri: Uri,
    headers: HeaderMap,
}

impl Template {
    /// Requests to an API's path below an endpoint. Of the headers that the API itself asks for, and
    /// of the path's query, `access` may hold other values.
    ///
    /// # Errors
    /// When the path holds characters that HTTP does not allow.
    pub(crate) fn new(
        endpoint: &Endpoint,
        api_path: &str,
        dialect: Dialect,
        access: &Access,
    ) -> Result<Self, InvalidUri> {
        let mut path = endpoint.path(api_path);
        if !access.query.is_empty() {
            path.truncate(path.find('?').unwrap_or(path.len()));
            path = [&path, "?", access.query.as_str()].concat();
        }
        let path: PathAndQuery = path.parse()?;
        // A proxy is told where to pass the request on to; behind a tunnel there is the server.
        let to_proxy = access.proxy.as_ref().filter(|_| !endpoint.is_tls());
        let uri = match to_proxy {
            Some(_) => format!("http://{}{path}", endpoint.host_header()).parse()?,
            None => Uri::from(path),
        };
        let mut headers = access.headers.map().clone();
        // The host was part of a parsed URL, so it is a legal value.
        if let Ok(host) = HeaderValue::try_from(endpoint.host_header()) {
            headers.insert(HOST, host);
        }
        // Of questions; a server's metrics are plain text.
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/plain"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(concat!(
            "streamgauge/",
            env!("CARGO_PKG_VERSION")
        )));
        if dialect == Dialect::AnthropicMessages {
            let (name, version) = ANTHROPIC_VERSION;
            headers.entry(name).or_insert(version);
        }
        if let Some(authorization) = to_proxy.and_then(Proxy::authorization) {
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        Ok(Self { uri, headers })
    }

    /// A question without a body.
    pub(crate) fn get(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// A request with a JSON body and a name of its own.
    pub(crate) fn post(&self, body: Bytes, id: &str) -> Request<Full<Bytes>> {
        let mut request = self.get();
        *request.method_mut() = Method::POST;
        *request.body_mut() = Full::new(body);
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(id) = HeaderValue::try_from(id) {
            headers.entry(REQUEST_ID).or_insert(id);
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Headers;
    use crate::query::Query;

    #[test]
    fn the_query_that_lets_in_is_the_one_that_is_sent() {
        for (path, query, sent) in [
            ("/v1/x", "", "/p/v1/x"),
            ("/v1/x?a=1", "", "/p/v1/x?a=1"),
            ("/v1/x", "key=k", "/p/v1/x?key=k"),
            ("/v1/x?key=redacted", "key=k", "/p/v1/x?key=k"),
        ] {
            let endpoint = Endpoint::parse("http://h:1/p").unwrap();
            let access = Access { query: Query::new(query).unwrap(), ..Access::default() };
            let template = Template::new(&endpoint, path, Dialect::OpenaiChat, &access).unwrap();
            assert_eq!(template.get().uri(), sent);
        }
    }

    #[test]
    fn an_api_gets_the_headers_it_asks_for() {
        let endpoint = Endpoint::parse("http://h:1").unwrap();
        let version = |dialect, line: Option<&str>| {
            let mut headers = Headers::default();
            if let Some(line) = line {
                headers.add(line).unwrap();
            }
            let access = Access { headers, ..Access::default() };
            let template = Template::new(&endpoint, "/x", dialect, &access).unwrap();
            let request = template.post(Bytes::new(), "measured-0");
            let value = request.headers().get("anthropic-version").cloned();
            value.map(|value| value.to_str().unwrap().to_owned())
        };
        for dialect in Dialect::ALL {
            let expected = (*dialect == Dialect::AnthropicMessages).then_some("2023-06-01");
            assert_eq!(version(*dialect, None).as_deref(), expected, "{dialect}");
        }
        let given = version(Dialect::AnthropicMessages, Some("Anthropic-Version: 2099-01-01"));
        assert_eq!(given.as_deref(), Some("2099-01-01"));
    }
}
