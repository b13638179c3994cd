//! The shards of a run, each by itself; and how a whole run began where it had a common start.

use streamgauge_schema::{
    ClockReport, Completion, EndReason, JournalBegun, Millis, RunStatus, ShardReport,
};

use super::CollectedRun;
use super::instrument::spread;
use super::journals::Journal;
use crate::sent::Sent;
use crate::whole::Whole;

/// One report a journal, by the numbers of the shards; none of a whole run that says nothing of how it
/// began.
pub(super) fn reports(run: &CollectedRun<'_>) -> Vec<ShardReport> {
    let journals = &run.journals;
    let is_told = |journal: &Journal<'_>| journal.header.shard.is_some() || journal.begun.is_some();
    if !journals.all.iter().any(is_told) {
        return Vec::new();
    }
    let mut seen: Vec<Seen> = journals.all.iter().map(|_| Seen::default()).collect();
    for sent in &run.measured.sent {
        if let Some(at) = journals.place_of(sent.index()) {
            seen[at].add(sent);
        }
    }
    let lags = &run.measured.lags.us;
    let each = journals.all.iter().zip(seen).enumerate();
    each.map(|(at, (journal, seen))| {
        let offered = journal.offered(&run.plan.load);
        let has_finished =
            journal.trailer.as_ref().is_some_and(|it| it.reason == EndReason::Finished);
        let is_whole = has_finished && seen.cancelled == 0 && journal.measured == offered;
        ShardReport {
            number: journal.header.shard.map_or(1, |shard| shard.number()),
            of: journals.of(),
            status: if is_whole { RunStatus::Completed } else { RunStatus::Aborted },
            offered,
            sent: journal.measured,
            taken_up: journal.pauses.count() as u64,
            began_late_ms: journal.begun.and_then(began_late_us).map(Millis::from_micros),
            clock: journal.begun.and_then(|begun| begun.clock).map(|clock| ClockReport {
                synchronised: clock.synchronised,
                max_error_ms: Millis::from_micros(clock.max_error_us),
            }),
            observer_lag_ms: lags.get(at).and_then(|lags| spread(&lags.summary(1000.0))),
            dispatch_lateness_ms: spread(&seen.lateness_us.summary(1000.0)),
        }
    })
    .collect()
}

/// How long after the common start that was asked for; `None` where none was.
pub(super) fn began_late_us(begun: JournalBegun) -> Option<u64> {
    Some(begun.at_us.saturating_sub(begun.start_us?))
}

/// What the requests of one shard came to.
#[derive(Default)]
struct Seen {
    cancelled: u64,
    lateness_us: Whole,
}

impl Seen {
    fn add(&mut self, sent: &Sent) {
        self.cancelled += u64::from(sent.completion == Completion::Cancelled);
        if let Some(us) = sent.lateness_us() {
            self.lateness_us.push(us);
        }
    }
}
