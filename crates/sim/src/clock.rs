//! The clock of the account: one that another process on the same machine reads too.

use nix::time::{ClockId, clock_gettime};

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
