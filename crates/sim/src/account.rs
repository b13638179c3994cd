//! The server's own account: what it received and wrote, and when.
//!
//! A write is stamped immediately before the system call that hands the last bytes of the event to
//! the kernel, and it is in the account before that call's bytes can be answered: whoever has read
//! an event finds its stamp here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Arrival of the request's last bytes in the kernel, if
    /// [`kernel_stamps`](crate::SimConfig::kernel_stamps) is set and the kernel gave a usable stamp.
    pub kernel_received_ns: Option<u64>,
    /// Write of a stream's last output event.
    pub last_output_ns: Option<u64>,
    /// Write of the last event of any kind.
    pub last_write_ns: Option<u64>,
    /// The most that a write came after its due time.
    pub lateness_max_ns: u64,
    /// Tokens of the prompt, once the request was admitted.
    pub prompt_tokens: u64,
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
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Disconnected => "disconnected",
            Self::Faulted => "faulted",
            Self::Open => "open",
            Self::Rejected => "rejected",
        }
    }
}

/// How many requests a server was sent, and what they came to; kept for all of them, whatever the
/// [`account_limit`](crate::SimConfig::account_limit).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountTotals {
    /// Requests whose last planned event was written.
    pub complete: u64,
    /// Tokens that were written for the requests that have ended.
    pub completion_tokens: u64,
    /// Requests whose client went away.
    pub disconnected: u64,
    /// Events of the requests that have ended.
    pub events: u64,
    /// Requests that an ordered fault cut short.
    pub faulted: u64,
    /// The most that a write came after its due time, in nanoseconds.
    pub lateness_max_ns: u64,
    /// Requests under way.
    pub open: u64,
    /// Output events of the requests that have ended.
    pub output_events: u64,
    /// Prompt tokens of the requests that have ended.
    pub prompt_tokens: u64,
    /// Requests that were answered with an error status.
    pub rejected: u64,
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
    totals: AccountTotals,
}

/// The hold of those who work on a request on its account. If the last of them leaves it open, the
/// client went away.
#[derive(Debug)]
pub(crate) struct Entry {
    account: Arc<Mutex<RequestAccount>>,
    event_times: bool,
    ledger: Account,
}

/// When a request was received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Receipt {
    pub(crate) kernel_ns: Option<u64>,
    pub(crate) read_ns: u64,
}

/// What is noted of the events of one write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    /// When the first of them was due.
    pub(crate) due_ns: u64,
    pub(crate) events: u64,
    /// Whether the response is complete with them.
    pub(crate) is_last: bool,
    pub(crate) output_events: u64,
    pub(crate) tokens: u64,
}

impl Mark {
    /// Adds an event that follows those before it.
    pub(crate) fn add(&mut self, due_ns: u64, tokens: u64, is_output: bool) {
        if self.events == 0 {
            self.due_ns = due_ns;
        }
        self.events += 1;
        self.output_events += u64::from(is_output);
        self.tokens += tokens;
    }
}

impl Account {
    pub(crate) fn new(limit: usize, event_times: bool) -> Self {
        Self(Arc::new(Mutex::new(Ledger {
            entries: VecDeque::new(),
            event_times,
            limit,
            opened: 0,
            totals: AccountTotals::default(),
        })))
    }

    /// Opens the account of a request that was just received.
    pub(crate) fn open(&self, receipt: Receipt, id: Option<String>) -> Entry {
        let mut ledger = lock(&self.0);
        ledger.opened += 1;
        ledger.totals.open += 1;
        let ordinal = ledger.opened;
        let account = Arc::new(Mutex::new(RequestAccount {
            completion_tokens: 0,
            events: 0,
            fault: None,
            first_output_ns: None,
            first_write_ns: None,
            id: id.unwrap_or_else(|| format!("sim-{ordinal}")),
            kernel_received_ns: receipt.kernel_ns,
            last_output_ns: None,
            last_write_ns: None,
            lateness_max_ns: 0,
            ordinal,
            outcome: RequestOutcome::Open,
            output_events: 0,
            output_ns: Vec::new(),
            prompt_tokens: 0,
            received_ns: receipt.read_ns,
            status: None,
            streamed: false,
        }));
        if ledger.limit > 0 {
            if ledger.entries.len() == ledger.limit {
                ledger.entries.pop_front();
            }
            ledger.entries.push_back(Arc::clone(&account));
        }
        Entry { account, event_times: ledger.event_times, ledger: self.clone() }
    }

    pub(crate) fn requests(&self) -> Vec<RequestAccount> {
        let entries = lock(&self.0).entries.clone();
        entries.iter().map(|entry| lock(entry).clone()).collect()
    }

    pub(crate) fn totals(&self) -> AccountTotals {
        lock(&self.0).totals
    }

    /// Forgets every request and what they came to; ordinals go on.
    pub(crate) fn clear(&self) {
        let mut ledger = lock(&self.0);
        ledger.entries.clear();
        ledger.totals = AccountTotals { open: ledger.totals.open, ..AccountTotals::default() };
    }

    /// Adds a request that has just ended.
    fn close(&self, account: &RequestAccount) {
        let totals = &mut lock(&self.0).totals;
        totals.open -= 1;
        totals.completion_tokens += account.completion_tokens;
        totals.prompt_tokens += account.prompt_tokens;
        totals.events += account.events;
        totals.lateness_max_ns = totals.lateness_max_ns.max(account.lateness_max_ns);
        totals.output_events += account.output_events;
        match account.outcome {
            RequestOutcome::Complete => totals.complete += 1,
            RequestOutcome::Disconnected => totals.disconnected += 1,
            RequestOutcome::Faulted => totals.faulted += 1,
            RequestOutcome::Rejected => totals.rejected += 1,
            RequestOutcome::Open => {}
        }
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

    pub(crate) fn prompted(&self, tokens: u64) {
        lock(&self.account).prompt_tokens = tokens;
    }

    pub(crate) fn answered(&self, status: u16) {
        lock(&self.account).status = Some(status);
    }

    /// Settles the outcome; the first one stands.
    pub(crate) fn conclude(&self, outcome: RequestOutcome) {
        self.settle(&mut lock(&self.account), outcome);
    }

    fn settle(&self, account: &mut RequestAccount, outcome: RequestOutcome) {
        if account.outcome == RequestOutcome::Open {
            account.outcome = outcome;
            self.ledger.close(account);
        }
    }

    /// Runs one write of events and notes them if the result tells that their last byte went out.
    /// The account is locked meanwhile, so that no reader sees it between the write and its note.
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
            if self.event_times {
                account.output_ns.extend((0..mark.output_events).map(|_| at_ns));
            }
            if mark.is_last {
                self.settle(&mut account, RequestOutcome::Complete);
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
    fn note(&mut self, mark: Mark, at_ns: u64) {
        self.completion_tokens += mark.tokens;
        self.events += mark.events;
        self.first_write_ns.get_or_insert(at_ns);
        self.last_write_ns = Some(at_ns);
        self.lateness_max_ns = self.lateness_max_ns.max(at_ns.saturating_sub(mark.due_ns));
        if mark.output_events > 0 {
            self.output_events += mark.output_events;
            self.first_output_ns.get_or_insert(at_ns);
            self.last_output_ns = Some(at_ns);
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

    fn open(account: &Account, id: Option<&str>) -> Entry {
        account.open(Receipt::default(), id.map(str::to_owned))
    }

    fn mark(events: u64, output_events: u64) -> Mark {
        Mark { events, output_events, tokens: 2 * output_events, ..Mark::default() }
    }

    #[test]
    fn the_oldest_requests_are_forgotten_and_ordinals_go_on() {
        let account = Account::new(2, false);
        for id in ["a", "b", "c"] {
            open(&account, Some(id));
        }
        let kept: Vec<(u64, String)> =
            account.requests().into_iter().map(|kept| (kept.ordinal, kept.id)).collect();
        assert_eq!(kept, [(2, "b".to_owned()), (3, "c".to_owned())]);
        assert_eq!(account.totals().disconnected, 3);
        account.clear();
        assert!(account.requests().is_empty());
        assert_eq!(account.totals(), AccountTotals::default());
        assert_eq!(open(&account, None).id(), "sim-4");
    }

    #[test]
    fn without_room_only_the_totals_are_kept() {
        let account = Account::new(0, true);
        for outcome in [RequestOutcome::Faulted, RequestOutcome::Rejected] {
            open(&account, None).conclude(outcome);
        }
        let under_way = open(&account, None);
        let last = open(&account, None);
        last.note_write(Mark { is_last: true, ..mark(5, 3) }, || true, |&whole| whole);
        drop(last);
        let mut expected = AccountTotals {
            complete: 1,
            completion_tokens: 6,
            events: 5,
            faulted: 1,
            open: 1,
            output_events: 3,
            rejected: 1,
            ..account.totals()
        };
        assert_eq!(account.totals(), expected);
        assert!(account.requests().is_empty());

        account.clear();
        assert_eq!(account.totals(), AccountTotals { open: 1, ..AccountTotals::default() });
        under_way.prompted(7);
        drop(under_way);
        expected = AccountTotals { disconnected: 1, prompt_tokens: 7, ..AccountTotals::default() };
        assert_eq!(account.totals(), expected);
    }

    #[test]
    fn only_finished_writes_are_noted() {
        let account = Account::new(8, true);
        let entry = open(&account, None);
        entry.note_write(mark(1, 1), || false, |&whole| whole);
        assert_eq!(account.requests()[0].events, 0);
        entry.note_write(mark(3, 2), || true, |&whole| whole);
        entry.note_write(Mark { is_last: true, ..mark(1, 0) }, || true, |&whole| whole);
        drop(entry);
        let noted = &account.requests()[0];
        assert_eq!((noted.events, noted.output_events, noted.completion_tokens), (4, 2, 4));
        assert_eq!(noted.output_ns, [noted.first_output_ns.unwrap(); 2]);
        assert_eq!(noted.first_write_ns, noted.first_output_ns);
        assert_eq!(noted.last_output_ns, noted.first_output_ns);
        assert!(noted.last_write_ns >= noted.last_output_ns);
        assert_eq!(noted.outcome, RequestOutcome::Complete);
    }

    #[test]
    fn events_of_one_write_are_late_by_the_first_of_them() {
        let mut mark = Mark::default();
        mark.add(5, 1, false);
        mark.add(9, 2, true);
        assert_eq!((mark.due_ns, mark.events), (5, 2));
        assert_eq!((mark.output_events, mark.tokens), (1, 3));
    }

    #[test]
    fn an_account_left_open_was_disconnected() {
        let account = Account::new(8, false);
        let entry = open(&account, None);
        assert_eq!(account.requests()[0].outcome, RequestOutcome::Open);
        drop(entry);
        assert_eq!(account.requests()[0].outcome, RequestOutcome::Disconnected);
        let entry = open(&account, None);
        entry.conclude(RequestOutcome::Faulted);
        drop(entry);
        assert_eq!(account.requests()[1].outcome, RequestOutcome::Faulted);
    }
}
