//! How the measured part of a run begins, where that is written down: at a common start, or as a shard.

use std::time::{Duration, Instant};

use nix::libc::{STA_UNSYNC, TIME_ERROR};
use rtime_clock::adjtime::{Timex, adjtimex};
use streamgauge_schema::{ClockState, JournalBegun, Timestamp};

use crate::clock::{RunClock, micros};

/// The beginning of a measured part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    /// The common start, since the run's start; `None` where there is none.
    start_us: Option<u64>,
}

impl Beginning {
    /// At a common start by the wall clock, or as soon as it can.
    pub(crate) fn new(clock: &RunClock, start: Option<Timestamp>) -> Self {
        let since = |start: Timestamp| start.unix_micros() - clock.started_at().unix_micros();
        Self { start_us: start.map(|start| u64::try_from(since(start)).unwrap_or(0)) }
    }

    /// The moment of the common start. Like every label it is the run's start and monotonic time, so that
    /// a wall clock that is set while the run waits changes nothing.
    pub(crate) fn start(self, clock: &RunClock) -> Option<Instant> {
        clock.moment(Duration::from_micros(self.start_us?))
    }

    /// What is written down of a part that begins then.
    pub(crate) fn at(self, origin: Duration) -> JournalBegun {
        let Self { start_us } = self;
        JournalBegun { at_us: micros(origin), start_us, clock: kernel_clock() }
    }
}

/// What the kernel says of its wall clock. It is asked, and nothing is set.
fn kernel_clock() -> Option<ClockState> {
    let mut timex = Timex::new();
    let state = adjtimex(&mut timex).ok()?;
    let max_error_us = u64::try_from(timex.0.maxerror).ok()?;
    let synchronised = state != TIME_ERROR && timex.0.status & STA_UNSYNC == 0;
    Some(ClockState { synchronised, max_error_us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_told_since_the_runs_own() {
        let clock = RunClock::start();
        let from_start = |us: i64| {
            let start = Timestamp::from_unix_micros(clock.started_at().unix_micros() + us);
            Beginning::new(&clock, Some(start))
        };
        let ahead = from_start(5_000_000);
        assert_eq!(ahead.start(&clock).map(|at| clock.at(at)), Some(Duration::from_secs(5)));
        assert_eq!(ahead.at(Duration::from_secs(6)).start_us, Some(5_000_000));
        let passed = from_start(-1);
        assert_eq!(passed.at(Duration::ZERO).start_us, Some(0));
        assert!(passed.start(&clock).is_some_and(|at| at <= Instant::now()));
        let none = Beginning::new(&clock, None);
        assert_eq!((none.start(&clock), none.at(Duration::ZERO).start_us), (None, None));
    }

    #[test]
    fn the_kernel_is_asked() {
        // Where a sandbox forbids the call, it says nothing; it never panics.
        if let Some(state) = kernel_clock() {
            assert!(state.max_error_us > 0 || state.synchronised, "{state:?}");
        }
    }
}
