//! How much memory the responses of a run may take together.
//!
//! Each response has limits of its own; of ten thousand at once that would be more than a machine has.
//! What a usual stream needs is below a limit that nobody counts, so that only large ones meet here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most that all responses under way may hold together, in bytes.
pub(crate) const MAX_HELD_BYTES: usize = 1 << 30;
/// Shares are taken in pieces of this size, in bytes; the first is free.
const PIECE_BYTES: usize = 64 * 1024;

/// What is left for all responses.
#[derive(Debug)]
pub(crate) struct Budget {
    held: AtomicUsize,
    most: usize,
}

impl Budget {
    /// At most so many bytes together.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { held: AtomicUsize::new(0), most })
    }

    /// The share of one response, of which nothing is held.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), taken: 0 }
    }
}

/// What one response holds. It is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    /// What of the budget is this response's.
    taken: usize,
}

impl Share {
    /// Whether the response may hold so many bytes; the share grows with them.
    pub(crate) fn holds(&mut self, bytes: usize) -> bool {
        if bytes <= self.taken + PIECE_BYTES {
            return true;
        }
        let wanted = bytes.div_ceil(PIECE_BYTES) * PIECE_BYTES - self.taken;
        let held = self.budget.held.fetch_add(wanted, Ordering::Relaxed);
        self.taken += wanted;
        held + wanted <= self.budget.most
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.budget.held.fetch_sub(self.taken, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_grow_until_all_is_taken_and_are_given_back() {
        let budget = Budget::new(4 * PIECE_BYTES);
        let (mut first, mut second) = (budget.share(), budget.share());
        assert!(first.holds(PIECE_BYTES), "usual streams are not counted");
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
        assert!(first.holds(PIECE_BYTES + 1));
        assert_eq!(budget.held.load(Ordering::Relaxed), 2 * PIECE_BYTES);
        assert!(second.holds(2 * PIECE_BYTES));
        assert!(!second.holds(4 * PIECE_BYTES), "together they would be too many");
        drop(first);
        drop(second);
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
        assert!(budget.share().holds(4 * PIECE_BYTES));
    }
}
