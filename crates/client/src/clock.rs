//! The run's clock: one monotonic clock for every stamp, one wall-clock reading for the label.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use streamgauge_schema::Timestamp;

/// The zero of a run, on both clocks.
///
/// Wall-clock time only labels the run; every duration comes from the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    origin: Instant,
    started_at: Timestamp,
}

impl RunClock {
    /// Starts a run now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now(), started_at: wall_clock() }
    }

    /// The wall-clock label of the start.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.started_at
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

    /// Time from the start to `instant`; zero for instants before it.
    #[must_use]
    pub fn at(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.origin)
    }
}

fn wall_clock() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}

/// Whole microseconds of a duration, rounded down.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
