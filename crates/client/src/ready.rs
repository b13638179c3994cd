//! Waiting for a server that is still starting.

use std::time::{Duration, Instant};

use streamgauge_schema::{Dialect, FailureClass};

use crate::access::Access;
use crate::ask::ask;
use crate::endpoint::Endpoint;
use crate::error::AskError;

/// Between two looks at the server.
const PAUSE: Duration = Duration::from_millis(250);
/// Longest wait for a single answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer that is read.
const MAX_ANSWER: usize = 1 << 20;

/// Waits until a server is ready: it answers `GET /v1/models` and `GET /health` with success, or
/// one of them so and the other by 4xx, as it does not have it.
///
/// It is asked four times a second. A server that cannot be trusted (TLS) is not waited for.
///
/// # Errors
/// When `timeout` has passed: with what the server, or the attempt to reach it, said last.
pub async fn wait_ready(
    endpoint: &Endpoint,
    access: &Access,
    dialect: Dialect,
    timeout: Duration,
) -> Result<(), AskError> {
    let end = Instant::now() + timeout;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let patience = left.min(PATIENCE).max(PAUSE);
        let look = async |path| {
            ask(endpoint, access, dialect, path, MAX_ANSWER, patience).await.map(|_| ())
        };
        let last = match (look("/v1/models").await, look("/health").await) {
            (Ok(()), Ok(())) => return Ok(()),
            (Ok(()), Err(error)) | (Err(error), Ok(())) if lacks(&error) => return Ok(()),
            (Err(error), _) | (_, Err(error)) => error,
        };
        if last.class == FailureClass::Tls || Instant::now() + PAUSE >= end {
            return Err(last);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether the server answers, but does not have what was asked for.
fn lacks(error: &AskError) -> bool {
    error.status.is_some_and(|status| (400..500).contains(&status))
}
