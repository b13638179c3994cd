//! The server's own account: what it received and wrote, and when.
//!
//! A write is stamped immediately before the system call that hands the last bytes of the event to
//! the kernel, and it is in the account before that call's bytes can be answered: whoever has read
//! an event finds its stamp here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::clock::monotonic_ns;
use crate::faults::FaultKind;

/// What one chat completion request was given, if all of it was received. Members ending in `_ns`
/// are nanoseconds of [`monotonic_ns`](crate::monotonic_ns)'s clock, except `lateness_max_ns`,
/// which is a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestAccount {
    /// Tokens in the events written, reasoning included.
    pub completion_tokens: u64,
    /// Events written: a stream's role chunk, output, finish reason, usage and end mark; otherwise
    /// 1, the body.
    pub events: u64,
    /// The fault that was ordered for the request, by itself or by a rule.
    pub fault: Option<FaultKind>,
    /// Write of a stream's first output event.
    pub first_output_ns: Option<u64>,
    /// Write of the first event of any kind.
    pub first_write_ns: Option<u64>,
    /// The request's `x-request-id`; without one `sim-` and the ordinal.
    pub id: String,
    /// Write of a stream's last output event.
    pub last_output_ns: Option<u64>,
    /// Write of the last event of any kind.
    pub last_write_ns: Option<u64>,
    /// The most that a write came after its due time.
    pub lateness_max_ns: u64,
    /// The place of the request in the order of receipt, from 1.
    pub ordinal: u64,
    /// How it ended.
    pub outcome: RequestOutcome,
    /// Events written that hold reasoning or content.
    pub output_events: u64,
    /// Write of every output event, if [`event_times`](crate::SimConfig::event_times) is set.
    pub output_ns: Vec<u64>,
    /// Return of the read that completed the request; the plan's times count from here.
    pub received_ns: u64,
    /// The status of the response; `None` while there is none.
    pub status: Option<u16>,
    /// Whether a stream was asked for.
    pub streamed: bool,
}

/// How a request ended, as the server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The last planned event was written.
    Complete,
    /// The client went away first, or the server was shut down.
    Disconnected,
    /// An ordered fault cut the response short.
    Faulted,
    /// It is under way.
    Open,
    /// It was answered with an error status.
    Rejected,
}

impl RequestOutcome {
    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Disconnected => "disconnected",
            Self::Faulted => "faulted",
            Self::Open => "open",
            Self::Rejected => "rejected",
        }
    }
}

/// The accounts of all requests, in order of receipt, the oldest dropped beyond a limit.
#[derive(Clone, Debug)]
pub(crate) struct Account(Arc<Mutex<Ledger>>);

#[derive(Debug)]
struct Ledger {
    entries: VecDeque<Arc<Mutex<RequestAccount>>>,
    event_times: bool,
    limit: usize,
    opened: u64,
}

/// The hold of those who work on a request on its account. If the last of them leaves it open, the
/// client went away.
#[derive(Debug)]
pub(crate) struct Entry {
    account: Arc<Mutex<RequestAccount>>,
    event_times: bool,
}

/// What is noted of an event when it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) due_ns: u64,
    /// Whether the response is complete with it.
    pub(crate) is_last: bool,
    pub(crate) is_output: bool,
    pub(crate) tokens: u64,
}

impl Account {
    pub(crate) fn new(limit: usize, event_times: bool) -> Self {
        Self(Arc::new(Mutex::new(Ledger {
            entries: VecDeque::new(),
            event_times,
            limit,
            opened: 0,
        })))
    }

    /// Opens the account of a request that was just received.
    pub(crate) fn open(&self, received_ns: u64, id: Option<String>) -> Entry {
        let mut ledger = lock(&self.0);
        ledger.opened += 1;
        let ordinal = ledger.opened;
        let account = Arc::new(Mutex::new(RequestAccount {
            completion_tokens: 0,
            events: 0,
            fault: None,
            first_output_ns: None,
            first_write_ns: None,
            id: id.unwrap_or_else(|| format!("sim-{ordinal}")),
            last_output_ns: None,
            last_write_ns: None,
            lateness_max_ns: 0,
            ordinal,
            outcome: RequestOutcome::Open,
            output_events: 0,
            output_ns: Vec::new(),
            received_ns,
            status: None,
            streamed: false,
        }));
        if ledger.entries.len() == ledger.limit {
            ledger.entries.pop_front();
        }
        ledger.entries.push_back(Arc::clone(&account));
        Entry { account, event_times: ledger.event_times }
    }

    pub(crate) fn requests(&self) -> Vec<RequestAccount> {
        let entries = lock(&self.0).entries.clone();
        entries.iter().map(|entry| lock(entry).clone()).collect()
    }

    /// Forgets every request; ordinals go on.
    pub(crate) fn clear(&self) {
        lock(&self.0).entries.clear();
    }

    /// The document of `GET /sim/account`.
    pub(crate) fn to_json(&self) -> Value {
        let requests: Vec<Value> = self.requests().iter().map(RequestAccount::to_json).collect();
        json!({"clock": "CLOCK_MONOTONIC", "requests": requests})
    }
}

impl Entry {
    pub(crate) fn id(&self) -> String {
        lock(&self.account).id.clone()
    }

    pub(crate) fn ordinal(&self) -> u64 {
        lock(&self.account).ordinal
    }

    pub(crate) fn admit(&self, streamed: bool, fault: Option<FaultKind>) {
        let mut account = lock(&self.account);
        account.fault = fault;
        account.streamed = streamed;
    }

    pub(crate) fn answered(&self, status: u16) {
        lock(&self.account).status = Some(status);
    }

    /// Settles the outcome; the first one stands.
    pub(crate) fn conclude(&self, outcome: RequestOutcome) {
        let mut account = lock(&self.account);
        if account.outcome == RequestOutcome::Open {
            account.outcome = outcome;
        }
    }

    /// Runs one write of an event and notes it if the result tells that the event's last byte went
    /// out. The account is locked meanwhile, so that no reader sees it between the write and its
    /// note.
    pub(crate) fn note_write<T>(
        &self,
        mark: Mark,
        write: impl FnOnce() -> T,
        is_whole: impl FnOnce(&T) -> bool,
    ) -> T {
        let mut account = lock(&self.account);
        let at_ns = monotonic_ns();
        let result = write();
        if is_whole(&result) {
            account.note(mark, at_ns);
            if mark.is_output && self.event_times {
                account.output_ns.push(at_ns);
            }
        }
        result
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.conclude(RequestOutcome::Disconnected);
    }
}

impl RequestAccount {
    fn to_json(&self) -> Value {
        json!({
            "completion_tokens": self.completion_tokens,
            "events": self.events,
            "fault": self.fault.map(|fault| fault.to_string()),
            "first_output_ns": self.first_output_ns,
            "first_write_ns": self.first_write_ns,
            "id": self.id,
            "last_output_ns": self.last_output_ns,
            "last_write_ns": self.last_write_ns,
            "lateness_max_ns": self.lateness_max_ns,
            "ordinal": self.ordinal,
            "outcome": self.outcome.name(),
            "output_events": self.output_events,
            "output_ns": self.output_ns,
            "received_ns": self.received_ns,
            "status": self.status,
            "streamed": self.streamed,
        })
    }

    fn note(&mut self, mark: Mark, at_ns: u64) {
        self.completion_tokens += mark.tokens;
        self.events += 1;
        self.first_write_ns.get_or_insert(at_ns);
        self.last_write_ns = Some(at_ns);
        self.lateness_max_ns = self.lateness_max_ns.max(at_ns.saturating_sub(mark.due_ns));
        if mark.is_output {
            self.output_events += 1;
            self.first_output_ns.get_or_insert(at_ns);
            self.last_output_ns = Some(at_ns);
        }
        if mark.is_last {
            self.outcome = RequestOutcome::Complete;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a plain assignment, so a panic elsewhere leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_requests_are_forgotten_and_ordinals_go_on() {
        let account = Account::new(2, false);
        for id in ["a", "b", "c"] {
            account.open(1, Some(id.to_owned()));
        }
        let kept: Vec<(u64, String)> =
            account.requests().into_iter().map(|kept| (kept.ordinal, kept.id)).collect();
        assert_eq!(kept, [(2, "b".to_owned()), (3, "c".to_owned())]);
        account.clear();
        assert!(account.requests().is_empty());
        assert_eq!(account.open(1, None).id(), "sim-4");
    }

    #[test]
    fn only_finished_writes_are_noted() {
        let account = Account::new(8, true);
        let entry = account.open(1, None);
        let mark = Mark { due_ns: 0, is_last: false, is_output: true, tokens: 2 };
        entry.note_write(mark, || false, |&whole| whole);
        assert_eq!(account.requests()[0].events, 0);
        entry.note_write(mark, || true, |&whole| whole);
        entry.note_write(
            Mark { is_last: true, is_output: false, tokens: 0, ..mark },
            || true,
            |&whole| whole,
        );
        drop(entry);
        let noted = &account.requests()[0];
        assert_eq!((noted.events, noted.output_events, noted.completion_tokens), (2, 1, 2));
        assert_eq!(noted.output_ns, Vec::from_iter(noted.first_output_ns));
        assert_eq!(noted.first_write_ns, noted.first_output_ns);
        assert!(noted.last_write_ns >= noted.last_output_ns);
        assert_eq!(noted.outcome, RequestOutcome::Complete);
    }

    #[test]
    fn an_account_left_open_was_disconnected() {
        let account = Account::new(8, false);
        let entry = account.open(1, None);
        assert_eq!(account.requests()[0].outcome, RequestOutcome::Open);
        drop(entry);
        assert_eq!(account.requests()[0].outcome, RequestOutcome::Disconnected);
        let entry = account.open(1, None);
        entry.conclude(RequestOutcome::Faulted);
        drop(entry);
        assert_eq!(account.requests()[1].outcome, RequestOutcome::Faulted);
    }
}
