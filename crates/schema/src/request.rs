//! One request ready to be sent: what a workload hands to a client.

use crate::digest::Digest;

/// One request with its body, complete but for headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Place in its phase, from 0.
    pub index: u64,
    /// Digest of the `messages` array or prompt string exactly as sent.
    pub prompt_sha256: Digest,
    /// The dataset's own name for it.
    pub dataset_id: Option<String>,
    /// The body, as it goes over the wire.
    pub body: Vec<u8>,
}
