//! Alarms finer than the runtime's timers, which count in milliseconds and round up.
//!
//! One timer of the kernel rings at the earliest of all awaited times and wakes the tasks whose time
//! has come.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::clock::monotonic_ns;

/// The timer rings at multiples of this. Setting it costs as much as half a write, so what is due
/// close together had better share a ring.
const GRAIN_NS: u64 = 200_000;

/// The alarms of one server.
#[derive(Clone, Debug)]
pub(crate) struct Alarms(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    awaited: Mutex<BinaryHeap<Reverse<Awaited>>>,
    timer: TimerFd,
}

#[derive(Clone, Debug)]
struct Awaited {
    due_ns: u64,
    waker: Waker,
}

/// Wakes those who wait; to be driven as long as anybody does.
#[derive(Debug)]
pub(crate) struct Ringer {
    alarms: Alarms,
    /// The timer as something that can be read: a number each time it has rung. The runtime knows
    /// no timers of the kernel's, but it reads any descriptor that it is given as a pipe.
    rings: pipe::Receiver,
}

/// What one task waits for. Dropping it leaves at most one wake-up in vain.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Option<Awaited>);

impl Alarms {
    /// Needs the context of a runtime with I/O.
    pub(crate) fn new() -> io::Result<(Self, Ringer)> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let descriptor = timer.as_fd().try_clone_to_owned()?;
        let rings = pipe::Receiver::from_owned_fd_unchecked(descriptor)?;
        let alarms = Self(Arc::new(Shared { awaited: Mutex::default(), timer }));
        Ok((alarms.clone(), Ringer { alarms, rings }))
    }

    /// Waits until `due_ns`; what is already due costs one look at the clock. Gives the time.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, due_ns: u64, alarm: &mut Alarm) -> Poll<u64> {
        let now_ns = monotonic_ns();
        if due_ns <= now_ns {
            return Poll::Ready(now_ns);
        }
        let is_set = alarm
            .0
            .as_ref()
            .is_some_and(|set| set.due_ns == due_ns && set.waker.will_wake(cx.waker()));
        if !is_set {
            let awaited = Awaited { due_ns, waker: cx.waker().clone() };
            self.add(awaited.clone());
            alarm.0 = Some(awaited);
        }
        Poll::Pending
    }

    /// Waits until `due_ns`.
    pub(crate) async fn until(&self, due_ns: u64) {
        let mut alarm = Alarm::default();
        poll_fn(|cx| self.poll(cx, due_ns, &mut alarm)).await;
    }

    fn add(&self, awaited: Awaited) {
        let due_ns = awaited.due_ns;
        let mut queue = self.lock();
        let is_first = queue.peek().is_none_or(|Reverse(first)| due_ns < first.due_ns);
        queue.push(Reverse(awaited));
        if is_first {
            self.set(due_ns);
        }
    }

    fn wake_due(&self) {
        let now_ns = monotonic_ns();
        let mut queue = self.lock();
        while let Some(Reverse(first)) = queue.peek() {
            if first.due_ns > now_ns {
                self.set(first.due_ns);
                break;
            }
            if let Some(Reverse(awaited)) = queue.pop() {
                awaited.waker.wake();
            }
        }
    }

    /// Lets the timer ring when `due_ns` has come, at once if it has passed.
    fn set(&self, due_ns: u64) {
        // A time of zero would stop the timer.
        let due_ns = due_ns.max(1).div_ceil(GRAIN_NS).saturating_mul(GRAIN_NS);
        let at = TimeSpec::from_duration(Duration::from_nanos(due_ns));
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
        let set = self.0.timer.set(Expiration::OneShot(at), flags);
        set.expect("a timer takes every time above zero");
    }

    fn lock(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Awaited>>> {
        // A heap whose change was cut short is still a heap of alarms.
        self.0.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ringer {
    /// Ends only with the runtime.
    pub(crate) async fn ring(mut self) {
        // Longer than the number, so that one read tells that there is no second one.
        let mut rung = [0; 16];
        while self.rings.read(&mut rung).await.is_ok() {
            self.alarms.wake_due();
        }
    }
}

impl PartialEq for Awaited {
    fn eq(&self, other: &Self) -> bool {
        self.due_ns == other.due_ns
    }
}

impl Eq for Awaited {}

impl PartialOrd for Awaited {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Awaited {
    fn cmp(&self, other: &Self) -> Ordering {
        self.due_ns.cmp(&other.due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tasks_are_woken_in_the_order_of_their_times_and_never_early() {
        let (alarms, ringer) = Alarms::new().unwrap();
        let ringing = tokio::spawn(ringer.ring());
        // Late enough that all of them sleep before the first one is due.
        let begun_ns = monotonic_ns() + 200_000_000;
        let mut sleepers = tokio::task::JoinSet::new();
        for after_ns in [3_000_000, 1_000_000, 2_000_000, 0] {
            let alarms = alarms.clone();
            sleepers.spawn(async move {
                alarms.until(begun_ns + after_ns).await;
                (after_ns, monotonic_ns())
            });
        }
        let mut woken = Vec::new();
        while let Some(ended) = sleepers.join_next().await {
            let (after_ns, woken_ns) = ended.unwrap();
            assert!(woken_ns >= begun_ns + after_ns, "{woken_ns} is before {after_ns}");
            woken.push(after_ns);
        }
        assert_eq!(woken, [0, 1_000_000, 2_000_000, 3_000_000]);
        ringing.abort();
    }
}
