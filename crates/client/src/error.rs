//! What can go wrong before, around and after requests. A failed request is no error here: it is a
//! line of the journal.

use std::io;
use std::path::PathBuf;

use streamgauge_schema::{FailureClass, ReadError};

/// A base address that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url:?} is not a base address: {reason}")]
pub struct EndpointError {
    /// The address without credentials.
    pub url: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// A header that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Not `Name: value`.
    #[error("a header is written \"Name: value\", and this one has no colon")]
    NoColon,
    /// A character that header names do not have. What stands there may be a value, and is not shown.
    #[error("what stands before the colon is not the name of a header")]
    Name,
    /// A character that header values do not have.
    #[error("the value of header {name} holds a character that headers cannot carry")]
    Value {
        /// The header's name.
        name: String,
    },
    /// A header that the client sets itself.
    #[error("header {name} is set by the client and cannot be given")]
    Reserved {
        /// The header's name.
        name: String,
    },
    /// The same header twice.
    #[error("header {name} is given twice")]
    Twice {
        /// The header's name.
        name: String,
    },
}

/// A query that cannot be sent. It is not shown, as it may hold a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the query holds a character that a request cannot carry")]
pub struct QueryError;

/// A proxy that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url:?} is not a proxy: {reason}")]
pub struct ProxyError {
    /// The address without credentials.
    pub url: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The client's own certificate and its key do not belong together, or are of a kind that cannot be
    /// used.
    #[error("{certificate} and {key} are no certificate of a client and its key")]
    ClientCertificate {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of its key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// The file cannot be read.
    #[error("cannot read certificates or keys from {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds no certificate in PEM form.
    #[error("{path} holds no certificate in PEM form")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file holds no private key in PEM form.
    #[error("{path} holds no private key in PEM form, or one that is encrypted")]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The platform has no certificate authorities.
    #[error("the platform offers no certificate authorities; name a file with --ca-file")]
    NoRoots,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Setup(#[from] rustls::Error),
}

/// A failure of one exchange, with the class that it bears in the journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    /// Its class.
    pub class: FailureClass,
    /// What happened.
    pub message: String,
}

/// A failed question to the server, such as which models it has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("GET {path}: {message}")]
pub struct AskError {
    /// What was asked.
    pub path: String,
    /// The class of the failure.
    pub class: FailureClass,
    /// The status, if the answer had another than success.
    pub status: Option<u16>,
    /// What happened.
    pub message: String,
}

/// A journal that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A run writes to it just now.
    #[error(
        "{folder}: another process holds this run directory, as its run is still going; wait for its \
         end, or stop it with Ctrl-C"
    )]
    InUse {
        /// The run directory.
        folder: PathBuf,
    },
    /// The file cannot be written or read.
    #[error("{action} {path}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file has another name too, under which a record was made of it.
    #[error(
        "{path} is shared with another directory, such as one that `grade` made, whose record would not \
         hold any more; remove that one, or replace the file by a copy of it"
    )]
    Shared {
        /// The file.
        path: PathBuf,
    },
    /// A line is not what a journal holds.
    #[error("{path}, line {line}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        source: ReadError,
    },
    /// Lines are missing, doubled or out of place.
    #[error("{path}, line {line}: {problem}")]
    Order {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}
