//! What is known of a socket's reads and writes: the one place where arrivals get their stamps.
//!
//! A wrapper around the socket, under TLS and HTTP, notes each read straight after it returned and
//! the first write of each request straight before it. Whoever consumes the response asks here for
//! the time of the last read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::micros;

/// Longest lag that is believed; a longer one means that a clock was set.
const MAX_LAG: Duration = Duration::from_secs(1);

/// Shared by the socket's wrapper, which writes, and the request under way, which reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tap(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    armed: bool,
    first_write: Option<Instant>,
    last_read: Option<Instant>,
    bytes_read: u64,
    lags_us: Vec<u64>,
    unusable_stamps: u64,
}

/// What the tap saw of one request.
#[derive(Debug, Default)]
pub(crate) struct Tapped {
    pub(crate) lags_us: Vec<u64>,
    pub(crate) unusable_stamps: u64,
}

impl Tap {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code that holds this lock can panic, so a poisoned state is still whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes ready for a request: the next write is its first.
    pub(crate) fn arm(&self) {
        *self.state() = State { armed: true, ..State::default() };
    }

    /// To be called straight before a write.
    pub(crate) fn before_write(&self) {
        let mut state = self.state();
        if state.armed {
            state.armed = false;
            state.first_write = Some(Instant::now());
        }
    }

    /// To be called straight after a read of `bytes` bytes returned; 0 is the end of the stream.
    pub(crate) fn after_read(&self, bytes: usize, at: Instant) {
        let mut state = self.state();
        state.last_read = Some(at);
        state.bytes_read += bytes as u64;
    }

    /// Notes how long the bytes of a read had lain in the kernel; `None` when the clocks disagree.
    pub(crate) fn note_lag(&self, lag: Option<Duration>) {
        let mut state = self.state();
        match lag.filter(|lag| *lag <= MAX_LAG) {
            Some(lag) => state.lags_us.push(micros(lag)),
            None => state.unusable_stamps += 1,
        }
    }

    /// When the first byte of the armed request was about to be written.
    pub(crate) fn first_write(&self) -> Option<Instant> {
        self.state().first_write
    }

    /// When the last read returned.
    pub(crate) fn last_read(&self) -> Option<Instant> {
        self.state().last_read
    }

    /// Bytes read since the request was armed, HTTP and TLS framing included.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.state().bytes_read
    }

    /// Takes what was noted of the kernel's stamps.
    pub(crate) fn take(&self) -> Tapped {
        let mut state = self.state();
        Tapped {
            lags_us: std::mem::take(&mut state.lags_us),
            unusable_stamps: std::mem::take(&mut state.unusable_stamps),
        }
    }
}
