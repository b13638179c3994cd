//! What is known of a socket's reads and writes: the one place where arrivals get their stamps.
//!
//! A wrapper around the socket, under TLS and HTTP, notes each read straight after it returned and
//! the first write of each request straight before it. Whoever consumes the response asks here for
//! the time of the last read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest lag that is believed; a longer one means that a clock was set.
const MAX_LAG: Duration = Duration::from_secs(1);
/// In place of nanoseconds: it has not happened.
const NEVER: u64 = u64::MAX;

/// Shared by the socket's wrapper, which writes, and the request under way, which reads. Both belong
/// to one task, so nothing here orders anything.
#[derive(Clone, Debug)]
pub(crate) struct Tap(Arc<State>);

/// What each read touches lies in one line of the cache: there may be thousands of streams.
#[derive(Debug)]
#[repr(C, align(64))]
struct State {
    /// Instants are kept as nanoseconds since this one.
    base: Instant,
    first_write_ns: AtomicU64,
    last_read_ns: AtomicU64,
    bytes_read: AtomicU64,
    /// The first bytes of those.
    first_bytes: AtomicU64,
    armed: AtomicBool,
    /// Only connections with the kernel's stamps come here.
    stamped: Mutex<Vec<StampedRead>>,
}

/// A read whose bytes the kernel had stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StampedRead {
    /// When it returned.
    pub(crate) at: Instant,
    /// How long its bytes had lain in the kernel; `None` when the clocks disagree.
    pub(crate) lag: Option<Duration>,
}

impl Default for Tap {
    fn default() -> Self {
        Self(Arc::new(State {
            base: Instant::now(),
            first_write_ns: AtomicU64::new(NEVER),
            last_read_ns: AtomicU64::new(NEVER),
            bytes_read: AtomicU64::new(0),
            first_bytes: AtomicU64::new(0),
            armed: AtomicBool::new(false),
            stamped: Mutex::default(),
        }))
    }
}

impl Tap {
    /// Makes ready for a request: the next write is its first.
    pub(crate) fn arm(&self) {
        self.0.first_write_ns.store(NEVER, Relaxed);
        self.0.last_read_ns.store(NEVER, Relaxed);
        self.0.bytes_read.store(0, Relaxed);
        self.0.first_bytes.store(0, Relaxed);
        self.take_stamped();
        self.0.armed.store(true, Relaxed);
    }

    /// To be called straight before a write.
    pub(crate) fn before_write(&self) {
        if self.0.armed.load(Relaxed) {
            self.0.armed.store(false, Relaxed);
            self.0.first_write_ns.store(self.since_base(Instant::now()), Relaxed);
        }
    }

    /// To be called straight after a read of `bytes` bytes returned; 0 is the end of the stream.
    pub(crate) fn after_read(&self, bytes: usize, at: Instant) {
        self.0.last_read_ns.store(self.since_base(at), Relaxed);
        let before = self.0.bytes_read.load(Relaxed);
        self.0.bytes_read.store(before + bytes as u64, Relaxed);
    }

    /// Notes how long the bytes of a read had lain in the kernel; `None` when the clocks disagree.
    pub(crate) fn note_lag(&self, at: Instant, lag: Option<Duration>) {
        let lag = lag.filter(|lag| *lag <= MAX_LAG);
        self.stamped().push(StampedRead { at, lag });
    }

    /// When the first byte of the armed request was about to be written.
    pub(crate) fn first_write(&self) -> Option<Instant> {
        self.instant(self.0.first_write_ns.load(Relaxed))
    }

    /// When the last read returned.
    pub(crate) fn last_read(&self) -> Option<Instant> {
        self.instant(self.0.last_read_ns.load(Relaxed))
    }

    /// Bytes read since the request was armed, HTTP and TLS framing included.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.0.bytes_read.load(Relaxed)
    }

    /// Notes what the first read since the request was armed brought.
    pub(crate) fn note_first(&self, bytes: &[u8]) {
        let mut first = [0; 8];
        let noted = bytes.len().min(first.len());
        first[..noted].copy_from_slice(&bytes[..noted]);
        self.0.first_bytes.store(u64::from_be_bytes(first), Relaxed);
    }

    /// The first bytes of that read, with zeros behind them where it brought fewer.
    pub(crate) fn first_bytes(&self) -> [u8; 8] {
        self.0.first_bytes.load(Relaxed).to_be_bytes()
    }

    /// Takes what was noted of the kernel's stamps, in the order of the reads.
    pub(crate) fn take_stamped(&self) -> Vec<StampedRead> {
        std::mem::take(&mut *self.stamped())
    }

    fn stamped(&self) -> std::sync::MutexGuard<'_, Vec<StampedRead>> {
        // Pushing and taking cannot panic half-way.
        self.0.stamped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn since_base(&self, at: Instant) -> u64 {
        // A clock that runs for centuries is the only way to NEVER.
        u64::try_from(at.saturating_duration_since(self.0.base).as_nanos()).unwrap_or(NEVER)
    }

    fn instant(&self, ns: u64) -> Option<Instant> {
        (ns != NEVER).then(|| self.0.base + Duration::from_nanos(ns))
    }
}
