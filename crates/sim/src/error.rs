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
    "`{text}` is no fault; expected none, close:AT, cross, drop:N, end:K, length:K, model, reset:AT, \
     stall:AT[:MS], status:CODE[:RETRY_AFTER_S] or think, where AT is head or K, K counts output events \
     (of length words), and N is words, at least 1"
)]
pub struct FaultSyntaxError {
    /// The text as given.
    pub text: String,
}
