//! Orders to restart: from the request that is struck to the listener.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// Whether the server is to restart, and how long it is to be away.
#[derive(Debug, Default)]
pub(crate) struct Restart {
    pause: Mutex<Duration>,
    ordered: Notify,
}

impl Restart {
    /// Orders a restart. Two that come at once are one, of the later pause.
    pub(crate) fn order(&self, pause: Duration) {
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = pause;
        self.ordered.notify_one();
    }

    /// Waits for an order.
    pub(crate) async fn ordered(&self) -> Duration {
        self.ordered.notified().await;
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
