//! What can go wrong before the first request. Afterwards a server answers with an HTTP error
//! instead.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// Why a server did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// The listening socket could not be had.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address that was asked for.
        addr: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The kernel's timer, by which events are sent in time, could not be had.
    #[error("cannot have a timer")]
    Timer {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The thread of a [`ThreadedSim`](crate::ThreadedSim), or its runtime, could not be made.
    #[error("cannot start the server's thread")]
    Thread {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A member of [`SimConfig`](crate::SimConfig) holds a value outside its range.
    #[error("{field} is {value}, expected {expected}")]
    Setting {
        /// The member's name.
        field: &'static str,
        /// The value it had.
        value: String,
        /// The range, in words.
        expected: &'static str,
    },
}

/// A text that orders no fault; [`FaultKind`](crate::FaultKind) lists what does.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{text}` is no fault; expected none, change:K, close:AT, cross, drop:N, end:K, length:K, model, \
     reset:AT, restart:MS, stall:AT[:MS], status:CODE[:RETRY_AFTER_S] or think, where AT is head, K or, \
     for bytes of the response, Nb, K counts output events (of change and length words), and N is at \
     least 1; or one of the wire: chunk:length, chunk:size, continue, drip:MS, \
     endless:continue|head|line|stream, escapes:CODE, garbage:body|head, gzip, html:CODE, http10, \
     large:CODE, redirect:CODE"
)]
pub struct FaultSyntaxError {
    /// The text as given.
    pub text: String,
}

/// A text that orders no fault of a connection.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is no fault of a connection; expected close, reset or silent")]
pub struct ConnectionFaultSyntaxError {
    /// The text as given.
    pub text: String,
}
