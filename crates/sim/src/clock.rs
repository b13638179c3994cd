//! The clock of the account: one that another process on the same machine reads too.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

/// A kernel stamp that is older was taken before the wall clock was set.
const OLDEST_STAMP: Duration = Duration::from_secs(1);

/// Now on `CLOCK_MONOTONIC`, in nanoseconds: the clock of every `_ns` member of
/// [`RequestAccount`](crate::RequestAccount), and on Linux that of [`std::time::Instant`].
///
/// ```
/// let earlier = streamgauge_sim::monotonic_ns();
/// assert!(streamgauge_sim::monotonic_ns() >= earlier);
/// ```
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC is always readable");
    let seconds = u64::try_from(now.tv_sec()).expect("CLOCK_MONOTONIC counts up from zero");
    let nanoseconds = u64::try_from(now.tv_nsec()).expect("a timespec's nanoseconds are 0..1e9");
    seconds * 1_000_000_000 + nanoseconds
}

/// The time of a kernel's stamp, which is wall-clock time since 1970, on the account's clock. `None`
/// if it lies ahead or more than a second back: then the wall clock was set in between.
pub(crate) fn on_monotonic_clock(stamp: Duration) -> Option<u64> {
    let now_ns = monotonic_ns();
    let age = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.checked_sub(stamp)?;
    let age_ns = u64::try_from(age.as_nanos()).ok()?;
    if age <= OLDEST_STAMP { now_ns.checked_sub(age_ns) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_believed_only_when_it_lies_a_little_back() {
        let wall = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let before_ns = monotonic_ns();
        let now = on_monotonic_clock(wall()).unwrap();
        assert!((before_ns.saturating_sub(1_000_000)..=monotonic_ns()).contains(&now));
        assert_eq!(on_monotonic_clock(wall() + Duration::from_secs(60)), None);
        assert_eq!(on_monotonic_clock(wall() - Duration::from_secs(2)), None);
    }
}
