//! What the kernel knows of a process: its core, its time, its memory.

use std::time::Duration;

use anyhow::Context;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The unit of CPU time in `/proc`.
const TICK: Duration = Duration::from_millis(10);

/// Binds this process, and every thread that it starts from now on, to one core.
pub(crate) fn pin(core: usize) -> anyhow::Result<()> {
    let mut cores = CpuSet::new();
    cores
        .set(core)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores))
        .with_context(|| format!("cannot bind to core {core}"))
}

/// Now on `CLOCK_MONOTONIC`, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC is always readable");
    u64::try_from(Duration::from(now).as_nanos()).expect("a machine runs for less than 584 years")
}

/// CPU time that this process has used, user and system.
pub(crate) fn cpu_time() -> anyhow::Result<Duration> {
    used_by(UsageWho::RUSAGE_SELF)
}

/// CPU time of this process and of its children that have ended.
pub(crate) fn family_cpu_time() -> anyhow::Result<Duration> {
    Ok(used_by(UsageWho::RUSAGE_SELF)? + used_by(UsageWho::RUSAGE_CHILDREN)?)
}

fn used_by(who: UsageWho) -> anyhow::Result<Duration> {
    let usage = getrusage(who).context("getrusage")?;
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}

/// CPU time of the whole machine so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MachineTime {
    /// What programs used. Those of a lower priority give way and are left out.
    pub(crate) busy: Duration,
    /// What the machine's host took away.
    pub(crate) stolen: Duration,
}

impl MachineTime {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let path = "/proc/stat";
        let stat = std::fs::read_to_string(path).context(path)?;
        Self::parse(&stat).with_context(|| format!("{path} says nothing of CPU time"))
    }

    /// The fields of the first line are user, nice, system, idle, waiting, two kinds of interrupts
    /// and stolen time.
    fn parse(stat: &str) -> Option<Self> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let fields: Vec<u32> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
        let busy = TICK * (fields.first()? + fields.get(2)?);
        Some(Self { busy, stolen: TICK * *fields.get(7)? })
    }
}

/// CPU time that another process has used so far, to a hundredth of a second.
pub(crate) fn cpu_time_of(id: u32) -> anyhow::Result<Duration> {
    let path = format!("/proc/{id}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    ticks(&stat)
        .map(|ticks| TICK * ticks)
        .with_context(|| format!("{path} says nothing of CPU time"))
}

/// User and system time, the 14th and 15th field. The second is a name that may hold anything but
/// ends with the last bracket.
fn ticks(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11).map(str::parse::<u32>);
    Some(fields.next()?.ok()? + fields.next()?.ok()?)
}

fn duration(time: TimeVal) -> Duration {
    let micros = i128::from(time.tv_sec()) * 1_000_000 + i128::from(time.tv_usec());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Resident memory of a process, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) now_kib: u64,
    pub(crate) peak_kib: u64,
}

impl Memory {
    /// Of this process.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let path = "/proc/self/status";
        let text = std::fs::read_to_string(path).context(path)?;
        Self::parse(&text).with_context(|| format!("{path} says nothing of VmRSS and VmHWM"))
    }

    fn parse(status: &str) -> Option<Self> {
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').trim().strip_suffix("kB")?.trim().parse().ok()
        };
        Some(Self { now_kib: kib("VmRSS")?, peak_kib: kib("VmHWM")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_from_the_stat() {
        let machine = "cpu  100 20 3 400 5 6 7 8 0 0\ncpu0 1 2 3 4\n";
        let expected = MachineTime { busy: TICK * 103, stolen: TICK * 8 };
        assert_eq!(MachineTime::parse(machine), Some(expected));
        assert_eq!(MachineTime::parse("cpu  1 2 3"), None);
        assert!(MachineTime::read().is_ok());

        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 25 17 0 0 20 0 1 0 100 0 0";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(ticks("7 (a"), None);
        assert!(cpu_time_of(std::process::id()).is_ok());
    }

    #[test]
    fn memory_is_read_from_the_status() {
        let status = "Name:\tx\nVmHWM:\t   5120 kB\nVmRSS:\t    4096 kB\nThreads:\t1\n";
        assert_eq!(Memory::parse(status), Some(Memory { now_kib: 4096, peak_kib: 5120 }));
        assert_eq!(Memory::parse("Name:\tx\n"), None);
        assert!(Memory::read().is_ok_and(|memory| memory.now_kib > 0));
    }
}
