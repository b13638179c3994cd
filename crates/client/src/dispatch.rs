//! When which request begins: a schedule held against what is under way. Pure; others tell the time.
//!
//! All times count from the stage's origin, the moment at which its first request could be sent.

use std::iter::Peekable;
use std::sync::Arc;
use std::time::Duration;

use streamgauge_schema::{Load, LoadShape};
use streamgauge_workload::{DueTimes, Schedule};

use crate::taken_up::{Places, SoFar};

/// How long before its time a request is made ready and its connection opened.
pub(crate) const AHEAD: Duration = Duration::from_millis(250);
/// Clients of the warm-up of a load whose number of clients is not fixed.
pub(crate) const WARMUP_CLIENTS: u64 = 8;

/// Gives out the requests of one stage of a run, each once, in order.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pace: Pace,
    /// Says which requests are this run's, where it carries out a shard.
    schedule: Schedule,
    /// The place up to which all were given out or passed over.
    given: u64,
    requests: u64,
    end: Option<Duration>,
    /// Requests that are not given out.
    done: Arc<Places>,
    /// Time of the schedule at the stage's origin.
    begun: Duration,
}

#[derive(Debug)]
enum Pace {
    /// So many at once.
    Clients(Clients),
    /// Each at its time, if there is room.
    Times { due: Box<Peekable<DueTimes>>, max_concurrency: Option<u64> },
}

/// How many clients there are.
#[derive(Debug)]
enum Clients {
    /// As the schedule says.
    Scheduled,
    /// So many throughout.
    Throughout(u64),
}

/// A request that may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Its place in the stage.
    pub(crate) index: u64,
    /// When it is due: not before, and at once when that has passed. `None` is at once.
    pub(crate) due: Option<Duration>,
    /// How long after that it had to wait for a place; `None` where places are not limited.
    pub(crate) queued: Option<Duration>,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This request may begin.
    Begin(Ticket),
    /// Nothing until a request ends, or until this moment.
    Wait(Option<Duration>),
    /// No request begins any more.
    Over,
}

impl Dispatch {
    /// The measured requests.
    pub(crate) fn measured(schedule: &Schedule, shape: &LoadShape) -> Self {
        let pace = if shape.is_scheduled() {
            let due = Box::new(schedule.due_times().peekable());
            Pace::Times { due, max_concurrency: schedule.max_inflight() }
        } else {
            Pace::Clients(Clients::Scheduled)
        };
        Self::new(pace, schedule, schedule.requests(), schedule.end())
    }

    fn new(pace: Pace, schedule: &Schedule, requests: u64, end: Option<Duration>) -> Self {
        let (schedule, done, begun) = (schedule.clone(), Arc::default(), Duration::ZERO);
        let mut dispatch = Self { pace, schedule, given: 0, requests, end, done, begun };
        dispatch.pass();
        dispatch
    }

    /// What is missing of a run: due times go on from that of the first missing request, and clients and
    /// the end from the time that was measured.
    pub(crate) fn after(mut self, so_far: &SoFar) -> Self {
        self.done = Arc::clone(&so_far.done);
        self.pass();
        self.begun = match &mut self.pace {
            Pace::Times { due, .. } if so_far.done() > 0 => due.peek().copied().unwrap_or_default(),
            Pace::Times { .. } => Duration::ZERO,
            Pace::Clients(_) => so_far.measured,
        };
        self
    }

    /// Whether nothing is given out any more.
    pub(crate) fn is_over(&self) -> bool {
        self.given == self.requests || self.time_is_up(self.begun)
    }

    /// The requests before them, in a closed loop: of as many clients as the load has all the time,
    /// else of [`WARMUP_CLIENTS`], or fewer where the load never has so many. A shard has its share of
    /// them, and one at least.
    pub(crate) fn warmup(schedule: &Schedule, load: &Load) -> Self {
        let clients = match (&load.shape, load.shape.max_inflight()) {
            (LoadShape::ClosedLoop { concurrency }, _) => *concurrency,
            (_, most) => most.map_or(WARMUP_CLIENTS, |most| most.min(WARMUP_CLIENTS)),
        };
        let pace = Pace::Clients(Clients::Throughout(schedule.share(clients).max(1)));
        Self::new(pace, schedule, load.warmup, None)
    }

    /// When the stage's time is up; `None` when only its requests end it.
    pub(crate) fn end(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_sub(self.begun))
    }

    /// What is to be done at `now` with so many requests given out that have not ended.
    pub(crate) fn next(&mut self, now: Duration, under_way: u64) -> Next {
        let begun = self.begun;
        match self.next_at(now + begun, under_way) {
            Next::Begin(ticket) => {
                let due = ticket.due.map(|due| due.saturating_sub(begun));
                Next::Begin(Ticket { due, ..ticket })
            }
            Next::Wait(until) => Next::Wait(until.map(|until| until.saturating_sub(begun))),
            Next::Over => Next::Over,
        }
    }

    /// The same by the time of the schedule.
    fn next_at(&mut self, now: Duration, under_way: u64) -> Next {
        if self.given == self.requests || self.time_is_up(now) {
            return Next::Over;
        }
        let next = match &mut self.pace {
            Pace::Clients(clients) => {
                let (clients, change) = match *clients {
                    Clients::Scheduled => {
                        (self.schedule.clients_at(now), self.schedule.next_change(now))
                    }
                    Clients::Throughout(clients) => (clients, None),
                };
                match under_way < clients {
                    true => Next::Begin(Ticket { index: self.given, due: None, queued: None }),
                    false => Next::Wait(change),
                }
            }
            Pace::Times { due, max_concurrency } => {
                next_due(due, *max_concurrency, self.given, now, under_way)
            }
        };
        match next {
            Next::Begin(_) => {
                self.given += 1;
                self.pass();
            }
            Next::Wait(until) => {
                let end = self.end.filter(|end| now < *end);
                return Next::Wait(earlier(until, end));
            }
            Next::Over => {}
        }
        next
    }
}

impl Dispatch {
    /// Passes over what is not given out: what is done, and what other shards have.
    fn pass(&mut self) {
        while self.given < self.requests {
            let is_own = self.schedule.has(self.given);
            if is_own && !self.done.contains(self.given) {
                return;
            }
            self.given += 1;
            // The schedule has no due times but of its own requests.
            if let (true, Pace::Times { due, .. }) = (is_own, &mut self.pace) {
                due.next();
            }
        }
    }

    /// Whether no request may begin any more. One that was due before the end and had to wait for
    /// nobody is sent, however late this program comes to it.
    fn time_is_up(&self, now: Duration) -> bool {
        let waits_for_nobody = matches!(self.pace, Pace::Times { max_concurrency: None, .. });
        !waits_for_nobody && self.end.is_some_and(|end| now >= end)
    }
}

/// A request is given out ahead of its time and counts as under way from then on. That takes no
/// place from another one: whoever is due later finds it under way in any case.
fn next_due(
    due: &mut Peekable<DueTimes>,
    max_concurrency: Option<u64>,
    index: u64,
    now: Duration,
    under_way: u64,
) -> Next {
    let Some(&at) = due.peek() else { return Next::Over };
    if max_concurrency.is_some_and(|most| under_way >= most) {
        return Next::Wait(None);
    }
    if at > now + AHEAD {
        return Next::Wait(Some(at - AHEAD));
    }
    due.next();
    let queued = max_concurrency.map(|_| now.saturating_sub(at));
    Next::Begin(Ticket { index, due: Some(at), queued })
}

fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
