//! Open files: a load needs one for each connection, and the system limits them.

use std::fs;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use streamgauge_schema::Plan;
use streamgauge_workload::Schedule;

use crate::engine::Connections;

/// What the program holds besides connections, where that cannot be counted, and what it may still
/// come to need.
const USUALLY_OPEN: u64 = 64;
const SPARE: u64 = 32;
/// What a run opens before it makes room: its journal and its answers, each once more for the thread that
/// forces it to the disk.
const RUN_FILES: u64 = 4;

/// More open files are needed than this process may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{connections} connections need {needed} open files, and the hard limit is {hard}: lower the \
     concurrency (the limit of requests under way), or raise the limit (as root: prlimit --pid $$ --nofile={needed}:{needed}; for a \
     service LimitNOFILE={needed})"
)]
pub struct DescriptorsError {
    /// Connections that the load has at once.
    pub connections: u64,
    /// Files that must be open for that, all told.
    pub needed: u64,
    /// The limit that only a privileged user can raise.
    pub hard: u64,
}

/// Makes room for so many connections. `at_most` are not known to be needed: for those room is made
/// as far as it goes.
pub(crate) fn make_room(at_least: u64, at_most: u64) -> Result<(), DescriptorsError> {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let besides = open_now() + SPARE;
    let wanted = wanted_limit(at_least, at_most, besides, soft, hard)?;
    if wanted > soft {
        // Where that is not allowed, a connection that cannot be made says so.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard);
    }
    Ok(())
}

/// What a load's connections find of open files, before any is opened.
///
/// `Ok(None)`: there are as many as it may ever need. `Ok(Some(room))`: so many of its connections can
/// be open at once; nothing limits its requests under way, and those that come beyond fail.
///
/// # Errors
/// When a load that has a limit of requests under way cannot be carried out.
pub fn room_for(plan: &Plan, schedule: &Schedule) -> Result<Option<u64>, DescriptorsError> {
    let Connections { at_least, at_most, .. } = Connections::of(plan, schedule);
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(None) };
    room(at_least, at_most, open_now() + RUN_FILES + SPARE, soft, hard)
}

fn room(
    at_least: u64,
    at_most: u64,
    besides: u64,
    soft: u64,
    hard: u64,
) -> Result<Option<u64>, DescriptorsError> {
    let limit = wanted_limit(at_least, at_most, besides, soft, hard)?;
    let room = limit.saturating_sub(besides);
    Ok((room < at_most).then_some(room))
}

fn wanted_limit(
    at_least: u64,
    at_most: u64,
    besides: u64,
    soft: u64,
    hard: u64,
) -> Result<u64, DescriptorsError> {
    let needed = at_least.saturating_add(besides);
    if needed > hard {
        return Err(DescriptorsError { connections: at_least, needed, hard });
    }
    Ok(at_most.saturating_add(besides).clamp(soft, hard))
}

fn open_now() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(USUALLY_OPEN, |open| open.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_rises_to_what_is_needed_and_the_hard_one_refuses() {
        for (at_least, at_most, soft, hard, expected) in [
            (10, 10, 1_024, 4_096, Ok(1_024)),
            (1_000, 1_000, 1_024, 4_096, Ok(1_100)),
            (3_996, 3_996, 1_024, 4_096, Ok(4_096)),
            (3_997, 3_997, 1_024, 4_096, Err(4_097)),
            (1, 1_000_000, 1_024, 4_096, Ok(4_096)),
            (u64::MAX, u64::MAX, 1_024, u64::MAX, Ok(u64::MAX)),
        ] {
            let wanted = wanted_limit(at_least, at_most, 100, soft, hard);
            assert_eq!(wanted.map_err(|error| error.needed), expected);
        }
    }

    #[test]
    fn what_may_lack_room_is_told_how_much_there_is() {
        for (at_least, at_most, expected) in [
            (10, 10, Ok(None)),
            (1, 3_996, Ok(None)),
            (1, 3_997, Ok(Some(3_996))),
            (1, u64::MAX, Ok(Some(3_996))),
            (3_997, 3_997, Err(4_097)),
        ] {
            let room = room(at_least, at_most, 100, 1_024, 4_096);
            assert_eq!(room.map_err(|error| error.needed), expected);
        }
    }

    #[test]
    fn a_refusal_says_how_many_and_what_to_do() {
        let error = wanted_limit(10_000, 10_000, 50, 1_024, 4_096).unwrap_err();
        assert_eq!(
            error.to_string(),
            "10000 connections need 10050 open files, and the hard limit is 4096: lower the \
             concurrency (the limit of requests under way), or raise the limit (as root: prlimit --pid $$ --nofile=10050:10050; for \
             a service LimitNOFILE=10050)"
        );
    }
}
