//! Files of other tools, read as a user would hand them in.

#![expect(clippy::unwrap_used, reason = "helpers of tests, for which a panic is the report")]

mod bench;
mod others;
mod vllm;
