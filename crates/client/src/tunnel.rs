//! A tunnel through a proxy to a TLS server: `CONNECT`, after which the socket is the server's.

use std::pin::pin;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;

use crate::endpoint::Endpoint;
use crate::proxy::Proxy;
use crate::socket::StampedSocket;

/// Asks a proxy at the other end of the socket for a tunnel to a server.
///
/// # Errors
/// Says what the proxy answered instead. Of its answer only the status is told: the rest may give back
/// what it was sent in secret.
pub(crate) async fn open(
    socket: StampedSocket,
    proxy: &Proxy,
    endpoint: &Endpoint,
) -> Result<StampedSocket, String> {
    let authority = endpoint.authority();
    let gone = |error: hyper::Error| match error.is_parse() {
        true => format!("its answer cannot be read: {error}"),
        false => format!("it closed the connection: {error}"),
    };
    let request = request(&authority, proxy).map_err(|error| error.to_string())?;
    let (mut sender, driver) = http1::handshake(TokioIo::new(socket)).await.map_err(gone)?;
    let answer = sender.send_request(request);
    let driver = pin!(driver.without_shutdown());
    // The driver ends only with the tunnel or with an error, and hands the answer over before.
    let (answer, driver) = match select(pin!(answer), driver).await {
        Either::Left((answer, driver)) => (answer.map_err(gone)?, Some(driver)),
        Either::Right((Err(error), _)) => return Err(gone(error)),
        Either::Right((Ok(parts), answer)) => {
            let answer = answer.await.map_err(gone)?;
            return match refusal(answer.status()) {
                None => whole(parts.io, &parts.read_buf),
                Some(refusal) => Err(refusal),
            };
        }
    };
    if let Some(refusal) = refusal(answer.status()) {
        return Err(refusal);
    }
    drop((answer, sender));
    let Some(driver) = driver else { return Err("it closed the connection".to_owned()) };
    let parts = driver.await.map_err(gone)?;
    whole(parts.io, &parts.read_buf)
}

fn request(authority: &str, proxy: &Proxy) -> Result<Request<Empty<Bytes>>, hyper::http::Error> {
    let uri = Uri::builder().authority(authority).build()?;
    let mut request = Request::builder().method(Method::CONNECT).uri(uri).body(Empty::new())?;
    request.headers_mut().insert(HOST, HeaderValue::try_from(authority)?);
    if let Some(authorization) = proxy.authorization() {
        request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
    }
    Ok(request)
}

fn refusal(status: StatusCode) -> Option<String> {
    let advice = match status {
        status if status.is_success() => return None,
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            "; give a user, as in --proxy http://user:password@host:port"
        }
        _ => "",
    };
    Some(format!("it answers {status}{advice}"))
}

/// A server says nothing in TLS before the client does.
fn whole(io: TokioIo<StampedSocket>, read_ahead: &[u8]) -> Result<StampedSocket, String> {
    match read_ahead.len() {
        0 => Ok(io.into_inner()),
        bytes => Err(format!("it sent {bytes} bytes that nobody asked for")),
    }
}
