//! What it means that the head of an answer never came.

use std::error::Error;
use std::io::{self, ErrorKind};

use streamgauge_schema::FailureClass;

use crate::connect::tls_error;
use crate::error::TransportError;
use crate::tap::Tap;
use crate::trust::{HTTP_2_ALONE, explained};

/// Kinds of frames by which a connection of HTTP/2 begins or is ended.
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// Why no head came, after what the tap noted.
pub(crate) fn no_head(error: &hyper::Error, tap: &Tap) -> TransportError {
    let (class, message) = what(error, tap);
    TransportError { class, message }
}

fn what(error: &hyper::Error, tap: &Tap) -> (FailureClass, String) {
    let before = format!("after {} bytes, before the head of an answer", tap.bytes_read());
    // A server may look at the client's certificate when the handshake is over for the client.
    if let Some(error) = io_error(error).and_then(tls_error) {
        return (FailureClass::Tls, format!("no TLS any more: {}", explained(error)));
    }
    if error.is_parse_too_large() {
        let message = "the head of the answer is larger than what is read: 64 KiB, 100 headers";
        return (FailureClass::NotEventStream, message.to_owned());
    }
    if error.is_parse() {
        let message = match is_http_2(tap.first_bytes()) {
            true => HTTP_2_ALONE.to_owned(),
            false => format!("the answer is no HTTP/1.1: {error}"),
        };
        return (FailureClass::NotEventStream, message);
    }
    if matches!(io_kind(error), Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)) {
        return (FailureClass::Reset, format!("the connection was reset {before}"));
    }
    (FailureClass::PrematureEof, format!("the connection ended {before}"))
}

/// Whether a server's first eight bytes are the head of a frame of HTTP/2 that is no stream's.
fn is_http_2(first: [u8; 8]) -> bool {
    matches!(first, [0, _, _, SETTINGS | GOAWAY, 0, 0, 0, 0])
}

/// The kind of the I/O error behind an error of hyper.
pub(crate) fn io_kind(error: &hyper::Error) -> Option<ErrorKind> {
    io_error(error).map(io::Error::kind)
}

fn io_error(error: &hyper::Error) -> Option<&io::Error> {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref() {
            return Some(io);
        }
        source = cause.source();
    }
    None
}
