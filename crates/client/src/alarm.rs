//! An alarm finer than the runtime's timers, which count in milliseconds and round up.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// A timer of the kernel's, awaited like a socket.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: TimerFd,
    /// The same timer as something that can be read: a number once it has rung. The runtime knows
    /// no timers of the kernel's, but it reads any descriptor that it is given as a pipe.
    rings: pipe::Receiver,
    /// What it is set to; `None` once it has rung.
    set_to: Option<Instant>,
}

impl Alarm {
    /// Needs the context of a runtime with I/O.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let descriptor = timer.as_fd().try_clone_to_owned()?;
        let rings = pipe::Receiver::from_owned_fd_unchecked(descriptor)?;
        Ok(Self { timer, rings, set_to: None })
    }

    /// Waits until `due`, which may have passed. Never returns before it. Waiting can be given up
    /// and taken up again at no cost.
    pub(crate) async fn wait_until(&mut self, due: Instant) -> io::Result<()> {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if self.set_to != Some(due) {
                let after = Expiration::OneShot(TimeSpec::from_duration(left));
                self.timer.set(after, TimerSetTimeFlags::empty())?;
                self.set_to = Some(due);
            }
            // Longer than the number, so that the runtime takes one read for all there is. What it
            // says does not matter: the clock is looked at in any case.
            let _ = self.rings.read(&mut [0; 16]).await?;
            self.set_to = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn it_never_rings_early_however_often_it_is_set_anew() {
        let mut alarm = Alarm::new().unwrap();
        for after_us in [0, 1, 300, 1_500, 40] {
            let due = Instant::now() + Duration::from_micros(after_us);
            // Given up before it rang, as when something else came first.
            let given_up = tokio::time::timeout(Duration::ZERO, alarm.wait_until(due)).await;
            assert!(after_us == 0 || given_up.is_err() || Instant::now() >= due);
            alarm.wait_until(due).await.unwrap();
            assert!(Instant::now() >= due);
        }
    }
}
