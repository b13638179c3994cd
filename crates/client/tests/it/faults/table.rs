//! The table of faults: how each is had, and what must come of it.

use streamgauge_schema::FailureClass::{self, *};

/// One fault.
pub(crate) struct Fault {
    /// What the server does.
    pub(crate) what: &'static str,
    pub(crate) ask: Ask,
    /// `None`: the request succeeds.
    pub(crate) class: Option<FailureClass>,
    /// What is kept of the response; `None`: no head of one came.
    pub(crate) kept: Option<Kept>,
    /// What the message of the failure says.
    pub(crate) says: &'static str,
}

/// How a fault is had.
#[derive(Clone, Copy)]
pub(crate) enum Ask {
    /// The second request over a connection orders it, and is not sent once more.
    Again(&'static str),
    /// The server closes the connection after the stream before.
    ClosedBetween,
    /// The first connection is struck.
    Connection(&'static str),
    /// A connection that is to become a TLS one is struck.
    ConnectionOfTls(&'static str),
    /// No server listens.
    Nobody,
    /// The host has no address.
    NoAddress,
    /// The request orders it.
    Request(&'static str),
    /// A server over TLS with a certificate that does not do.
    Tls(Certificate),
}

/// What is wrong with a certificate.
#[derive(Clone, Copy)]
pub(crate) enum Certificate {
    Expired,
    OtherName,
    SelfSigned,
}

/// What is kept of a response.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) status: u16,
    /// `None`: as many as came in time.
    pub(crate) events: Option<u64>,
    /// Of them, those with output.
    pub(crate) outputs: Option<u64>,
    pub(crate) retry_after_s: Option<f64>,
}

/// Of a stream of four words, the role apart, then finish reason, usage and end mark.
const WHOLE: Kept = stream(8, 4);

const fn stream(events: u64, outputs: u64) -> Kept {
    Kept { status: 200, events: Some(events), outputs: Some(outputs), retry_after_s: None }
}

const fn refused(status: u16) -> Kept {
    Kept { status, events: Some(0), outputs: Some(0), retry_after_s: None }
}

const fn failed(
    what: &'static str,
    ask: Ask,
    class: FailureClass,
    kept: Option<Kept>,
    says: &'static str,
) -> Fault {
    Fault { what, ask, class: Some(class), kept, says }
}

const fn endured(what: &'static str, ask: Ask) -> Fault {
    Fault { what, ask, class: None, kept: Some(WHOLE), says: "" }
}

use Ask::{Again, Connection, ConnectionOfTls, Request, Tls};

/// All of them, from the first byte to the last.
pub(crate) const FAULTS: &[Fault] = &[
    failed("no server listens", Ask::Nobody, Connect, None, "refused"),
    failed("the host has no address", Ask::NoAddress, Dns, None, "cannot resolve nowhere.invalid"),
    failed(
        "the certificate is for another name",
        Tls(Certificate::OtherName),
        FailureClass::Tls,
        None,
        "is not valid for localhost",
    ),
    failed(
        "the certificate has expired",
        Tls(Certificate::Expired),
        FailureClass::Tls,
        None,
        "has expired",
    ),
    failed(
        "the certificate is signed by itself",
        Tls(Certificate::SelfSigned),
        FailureClass::Tls,
        None,
        "is self-signed",
    ),
    failed(
        "the handshake never comes to an end",
        ConnectionOfTls("silent"),
        ConnectTimeout,
        None,
        "not connected within",
    ),
    failed(
        "the handshake is torn down",
        ConnectionOfTls("reset"),
        FailureClass::Tls,
        None,
        "reset",
    ),
    failed(
        "the connection is closed at its first bytes",
        Connection("close"),
        PrematureEof,
        None,
        "after 0 bytes",
    ),
    failed(
        "the connection is torn down at its first bytes",
        Connection("reset"),
        Reset,
        None,
        "after 0 bytes",
    ),
    failed(
        "the connection stands, and nobody answers",
        Connection("silent"),
        IdleTimeout,
        None,
        "no head of an answer came",
    ),
    failed(
        "the connection is closed when the request was read",
        Request("close:head"),
        PrematureEof,
        None,
        "after 0 bytes",
    ),
    failed(
        "the connection is torn down when the request was read",
        Request("reset:head"),
        Reset,
        None,
        "after 0 bytes",
    ),
    endured("a connection that is kept alive is closed between two requests", Ask::ClosedBetween),
    failed(
        "a connection that is kept alive is closed at the next request",
        Again("close:head"),
        ReusedConnectionClosed,
        None,
        "closed a reused connection",
    ),
    failed(
        "a connection that is kept alive is torn down at the next request",
        Again("reset:head"),
        ReusedConnectionClosed,
        None,
        "closed a reused connection",
    ),
    failed("the server restarts", Request("restart:50"), PrematureEof, None, "after 0 bytes"),
    failed(
        "no headers come",
        Request("stall:head"),
        IdleTimeout,
        None,
        "no head of an answer came",
    ),
    failed(
        "a byte a minute",
        Request("drip:60000"),
        IdleTimeout,
        None,
        "no head of an answer came",
    ),
    failed(
        "bytes one by one, too slow altogether",
        Request("drip:50"),
        DeadlineExceeded,
        None,
        "not finished within",
    ),
    failed("the head is cut", Request("close:20b"), PrematureEof, None, "after 20 bytes"),
    failed("the head is torn", Request("reset:20b"), Reset, None, "after 20 bytes"),
    failed(
        "headers without an end",
        Request("endless:head"),
        NotEventStream,
        None,
        "larger than what is read",
    ),
    failed(
        "interim answers (100) without an end",
        Request("endless:continue"),
        DeadlineExceeded,
        None,
        "not finished within",
    ),
    endured("interim answers (100, 103) before the answer", Request("continue")),
    endured("HTTP/1.0, ended by the connection", Request("http10")),
    failed("bytes that are no HTTP", Request("garbage:head"), NotEventStream, None, "no HTTP/1.1"),
    failed(
        "a redirect",
        Request("redirect:307"),
        HttpStatus,
        Some(refused(307)),
        "redirects to http://elsewhere.invalid/v1/chat/completions, which is not followed",
    ),
    failed(
        "no key, or a wrong one",
        Request("status:401"),
        HttpStatus,
        Some(refused(401)),
        "simulated status 401",
    ),
    failed(
        "no such model or path",
        Request("status:404"),
        HttpStatus,
        Some(refused(404)),
        "simulated status 404",
    ),
    failed(
        "too many requests",
        Request("status:429:2"),
        HttpStatus,
        Some(Kept { retry_after_s: Some(2.0), ..refused(429) }),
        "simulated status 429",
    ),
    failed(
        "the server is overloaded",
        Request("status:503"),
        HttpStatus,
        Some(refused(503)),
        "simulated status 503",
    ),
    failed(
        "a page of a gateway",
        Request("html:502"),
        HttpStatus,
        Some(refused(502)),
        "the body begins: <!doctype html> <title>Sorry</title>",
    ),
    failed(
        "a page as if it were the answer",
        Request("html:200"),
        NotEventStream,
        Some(stream(0, 0)),
        "the body begins: <!doctype html>",
    ),
    failed(
        "an error that steers the terminal",
        Request("escapes:400"),
        HttpStatus,
        Some(refused(400)),
        r"no \u{1b}[2J\u{1b}]0;owned\u{7}",
    ),
    failed(
        "an error of 10 MiB",
        Request("large:500"),
        HttpStatus,
        Some(refused(500)),
        "the body begins: The server is sorry.",
    ),
    failed(
        "a compressed answer",
        Request("gzip"),
        NotEventStream,
        Some(stream(0, 0)),
        "compressed, which was not asked for",
    ),
    failed(
        "bytes that are no stream",
        Request("garbage:body"),
        PrematureEof,
        Some(stream(0, 0)),
        "after 0 events, 256 bytes",
    ),
    failed(
        "silence after two words",
        Request("stall:2"),
        IdleTimeout,
        Some(stream(3, 2)),
        "after 3 events",
    ),
    failed(
        "the connection is closed after two words",
        Request("close:2"),
        PrematureEof,
        Some(stream(3, 2)),
        "after 3 events",
    ),
    failed(
        "the connection is torn down after two words",
        Request("reset:2"),
        Reset,
        Some(stream(3, 2)),
        "after 3 events",
    ),
    failed(
        "the body ends after two words",
        Request("end:2"),
        PrematureEof,
        Some(stream(3, 2)),
        "after 3 events",
    ),
    failed(
        "the connection is closed within an event",
        Request("close:400b"),
        PrematureEof,
        Some(stream(1, 0)),
        "after 1 event",
    ),
    failed(
        "the connection is torn down within an event",
        Request("reset:400b"),
        Reset,
        Some(stream(1, 0)),
        "after 1 event",
    ),
    failed(
        "silence within an event",
        Request("stall:400b"),
        IdleTimeout,
        Some(stream(1, 0)),
        "after 1 event",
    ),
    failed(
        "a chunk longer than it says",
        Request("chunk:length"),
        PrematureEof,
        Some(stream(1, 0)),
        "after 1 event",
    ),
    failed(
        "a chunk whose size is no number",
        Request("chunk:size"),
        PrematureEof,
        Some(stream(1, 0)),
        "after 1 event",
    ),
    failed(
        "a line without an end",
        Request("endless:line"),
        OversizedLine,
        Some(stream(0, 0)),
        "oversized_line after 0 events",
    ),
    failed(
        "a stream without an end",
        Request("endless:stream"),
        DeadlineExceeded,
        Some(Kept { status: 200, events: None, outputs: None, retry_after_s: None }),
        "not finished within",
    ),
];
