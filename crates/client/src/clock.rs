//! The run's clock: one monotonic clock for every stamp, one wall-clock reading for the label.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use streamgauge_schema::Timestamp;

/// The zero of a run, on both clocks.
///
/// Wall-clock time only labels the run; every duration comes from the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    origin: Instant,
    /// Time of the run at `origin`.
    before: Duration,
    monotonic_ns: Option<u64>,
    started_at: Timestamp,
}

impl RunClock {
    /// Starts a run now.
    #[must_use]
    pub fn start() -> Self {
        let started_at = wall_clock();
        let monotonic_ns = monotonic_ns();
        Self { origin: Instant::now(), before: Duration::ZERO, monotonic_ns, started_at }
    }

    /// Takes a run up again that began at `started_at`. It goes on at the time that the wall clock says,
    /// but not before `not_before`: the wall clock may have been set back.
    #[must_use]
    pub fn take_up(started_at: Timestamp, not_before: Duration) -> Self {
        let passed_us = wall_clock().unix_micros().saturating_sub(started_at.unix_micros());
        let passed = Duration::from_micros(u64::try_from(passed_us).unwrap_or(0));
        Self {
            origin: Instant::now(),
            before: passed.max(not_before),
            monotonic_ns: None,
            started_at,
        }
    }

    /// The wall-clock label of the start.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// The start on the machine's monotonic clock (CLOCK_MONOTONIC) in nanoseconds, by which stamps
    /// of other processes can be held against those of this run; `None` where there is none.
    #[must_use]
    pub fn started_monotonic_ns(&self) -> Option<u64> {
        self.monotonic_ns
    }

    /// Time of the run when this clock began: zero, but of one that was taken up.
    pub(crate) fn begun(&self) -> Duration {
        self.before
    }

    /// The moment at which so much time of the run has passed; `None` where that was before this clock
    /// began.
    pub(crate) fn moment(&self, at: Duration) -> Option<Instant> {
        self.origin.checked_add(at.checked_sub(self.before)?)
    }

    /// The label of an instant of this run: the start's label plus monotonic time.
    #[must_use]
    pub fn label(&self, at: Duration) -> Timestamp {
        let micros = i64::try_from(at.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_unix_micros(self.started_at.unix_micros().saturating_add(micros))
    }

    /// Time since the start.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.at(Instant::now())
    }

    /// Time from the start to `instant`. Instants before the start, or before the run was taken up, count
    /// as that.
    #[must_use]
    pub fn at(&self, instant: Instant) -> Duration {
        self.before.saturating_add(instant.saturating_duration_since(self.origin))
    }
}

fn wall_clock() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}

fn monotonic_ns() -> Option<u64> {
    let time = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?);
    u64::try_from(time.as_nanos()).ok()
}

/// Whole microseconds of a duration, rounded down.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
