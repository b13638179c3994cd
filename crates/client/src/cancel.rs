//! The one signal that ends everything under way, whatever its cause.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Ends all requests of a run, once and for good.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    given: AtomicBool,
    waiters: Notify,
}

impl Cancel {
    /// Gives the signal.
    pub(crate) fn give(&self) {
        self.given.store(true, Ordering::SeqCst);
        self.waiters.notify_waiters();
    }

    /// Whether it has been given.
    pub(crate) fn is_given(&self) -> bool {
        self.given.load(Ordering::Relaxed)
    }

    /// Ends when the signal is given after this call; whether it was given before,
    /// [`Self::is_given`] tells once this has been called.
    pub(crate) fn next(&self) -> Notified<'_> {
        self.waiters.notified()
    }

    /// Waits for the signal; returns at once when it was given.
    pub(crate) async fn wait(&self) {
        let next = self.next();
        if !self.is_given() {
            next.await;
        }
    }
}
