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
    Clients { schedule: Option<Schedule>, clients: u64 },
    /// Each at its time, if there is room.
    Times { due: Box<Peekable<DueTimes>>, max_concurrency: Option<u64> },
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
            Pace::Times { due, max_concurrency: shape.max_inflight() }
        } else {
            Pace::Clients { schedule: Some(schedule.clone()), clients: 0 }
        };
        Self::new(pace, schedule.requests(), schedule.end())
    }

    fn new(pace: Pace, requests: u64, end: Option<Duration>) -> Self {
        Self { pace, given: 0, requests, end, done: Arc::default(), begun: Duration::ZERO }
    }

    /// What is missing of a run: due times go on from that of the first missing request, and clients and
    /// the end from the time that was measured.
    pub(crate) fn after(mut self, so_far: &SoFar) -> Self {
        self.done = Arc::clone(&so_far.done);
        self.pass_done();
        self.begun = match &mut self.pace {
            Pace::Times { due, .. } => due.peek().copied().unwrap_or_default(),
            Pace::Clients { .. } => so_far.measured,
        };
        self
    }

    /// Whether nothing is given out any more.
    pub(crate) fn is_over(&self) -> bool {
        self.given == self.requests || self.time_is_up(self.begun)
    }

    /// The requests before them, in a closed loop: of as many clients as the load has all the time,
    /// else of [`WARMUP_CLIENTS`], or fewer where the load never has so many.
    pub(crate) fn warmup(load: &Load) -> Self {
        let clients = match (&load.shape, load.shape.max_inflight()) {
            (LoadShape::ClosedLoop { concurrency }, _) => *concurrency,
            (_, most) => most.map_or(WARMUP_CLIENTS, |most| most.min(WARMUP_CLIENTS)),
        };
        let pace = Pace::Clients { schedule: None, clients };
        Self::new(pace, load.warmup, None)
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
            Pace::Clients { schedule, clients } => {
                let clients = schedule.as_ref().map_or(*clients, |load| load.clients_at(now));
                if under_way < clients {
                    Next::Begin(Ticket { index: self.given, due: None, queued: None })
                } else {
                    Next::Wait(schedule.as_ref().and_then(|load| load.next_change(now)))
                }
            }
            Pace::Times { due, max_concurrency } => {
                next_due(due, *max_concurrency, self.given, now, under_way)
            }
        };
        match next {
            Next::Begin(_) => {
                self.given += 1;
                self.pass_done();
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
    /// Passes over what is not given out.
    fn pass_done(&mut self) {
        while self.given < self.requests && self.done.contains(self.given) {
            self.given += 1;
            if let Pace::Times { due, .. } = &mut self.pace {
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
mod tests {
    use streamgauge_schema::{Arrivals, ClientStage, Identifier, RateStage};

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn load(shape: LoadShape, requests: u64, duration_ms: Option<u64>) -> Load {
        let cell = Identifier::new("test").unwrap();
        Load { cell, shape, requests, duration_ms, warmup: 3 }
    }

    fn measured(load: &Load) -> Dispatch {
        Dispatch::measured(&Schedule::new(load, None).unwrap(), &load.shape)
    }

    fn begin(index: u64, due: Option<Duration>, queued: Option<Duration>) -> Next {
        Next::Begin(Ticket { index, due, queued })
    }

    fn rate(per_s: f64, requests: u64, max_concurrency: Option<u64>) -> LoadShape {
        LoadShape::OpenLoop {
            arrivals: Arrivals::Constant {},
            max_concurrency,
            stages: vec![RateStage {
                from_per_s: per_s,
                to_per_s: per_s,
                duration_ms: None,
                requests,
            }],
        }
    }

    #[test]
    fn a_closed_loop_keeps_its_clients_busy_until_requests_or_time_run_out() {
        let mut dispatch = measured(&load(LoadShape::ClosedLoop { concurrency: 2 }, 4, Some(100)));
        for (now, under_way, expected) in [
            (ms(0), 0, begin(0, None, None)),
            (ms(0), 1, begin(1, None, None)),
            (ms(0), 2, Next::Wait(Some(ms(100)))),
            (ms(30), 1, begin(2, None, None)),
            (ms(99), 1, begin(3, None, None)),
            (ms(99), 1, Next::Over),
        ] {
            assert_eq!(dispatch.next(now, under_way), expected);
        }
        let mut dispatch = measured(&load(LoadShape::ClosedLoop { concurrency: 2 }, 4, Some(100)));
        assert_eq!(dispatch.next(ms(100), 0), Next::Over);
        let mut endless = measured(&load(LoadShape::ClosedLoop { concurrency: 2 }, 4, None));
        assert_eq!(endless.next(ms(0), 2), Next::Wait(None));
    }

    #[test]
    fn clients_come_and_go_with_the_stages() {
        let stage =
            |from_clients, to_clients| ClientStage { from_clients, to_clients, duration_ms: 1_000 };
        let shape = LoadShape::ClosedStages { stages: vec![stage(1, 1), stage(3, 3), stage(1, 1)] };
        let mut dispatch = measured(&load(shape, 100, Some(3_000)));
        for (now, under_way, expected) in [
            (ms(0), 0, begin(0, None, None)),
            (ms(0), 1, Next::Wait(Some(ms(1_000)))),
            (ms(1_000), 1, begin(1, None, None)),
            (ms(1_000), 2, begin(2, None, None)),
            (ms(1_000), 3, Next::Wait(Some(ms(2_000)))),
            (ms(2_000), 3, Next::Wait(Some(ms(3_000)))),
            (ms(2_500), 1, Next::Wait(Some(ms(3_000)))),
            (ms(2_500), 0, begin(3, None, None)),
            (ms(3_000), 0, Next::Over),
        ] {
            assert_eq!(dispatch.next(now, under_way), expected);
        }
    }

    #[test]
    fn due_requests_are_given_out_ahead_of_their_time() {
        let mut dispatch = measured(&load(rate(1.0, 3, None), 3, None));
        for (now, under_way, expected) in [
            (ms(0), 0, begin(0, Some(ms(0)), None)),
            (ms(0), 1, Next::Wait(Some(ms(750)))),
            (ms(750), 1, begin(1, Some(ms(1_000)), None)),
            // Woken late: the time it was due at still stands.
            (ms(2_400), 2, begin(2, Some(ms(2_000)), None)),
            (ms(2_400), 3, Next::Over),
        ] {
            assert_eq!(dispatch.next(now, under_way), expected);
        }
    }

    #[test]
    fn over_the_limit_requests_wait_and_the_wait_is_told() {
        let mut dispatch = measured(&load(rate(10.0, 5, Some(1)), 5, None));
        for (now, under_way, expected) in [
            (ms(0), 0, begin(0, Some(ms(0)), Some(ms(0)))),
            (ms(0), 1, Next::Wait(None)),
            (ms(150), 0, begin(1, Some(ms(100)), Some(ms(50)))),
            (ms(160), 1, Next::Wait(None)),
            // The place is free before its time: no wait.
            (ms(170), 0, begin(2, Some(ms(200)), Some(ms(0)))),
        ] {
            assert_eq!(dispatch.next(now, under_way), expected);
        }
    }

    #[test]
    fn what_was_due_in_time_is_given_out_however_late() {
        let mut dispatch = measured(&load(rate(10.0, 3, None), 3, Some(300)));
        assert_eq!(dispatch.next(ms(400), 0), begin(0, Some(ms(0)), None));
        assert_eq!(dispatch.next(ms(400), 1), begin(1, Some(ms(100)), None));
        assert_eq!(dispatch.next(ms(400), 2), begin(2, Some(ms(200)), None));
        assert_eq!(dispatch.next(ms(400), 3), Next::Over);
    }

    #[test]
    fn what_waits_when_time_is_up_is_never_given_out() {
        let mut dispatch = measured(&load(rate(10.0, 5, Some(1)), 5, Some(500)));
        assert_eq!(dispatch.next(ms(0), 0), begin(0, Some(ms(0)), Some(ms(0))));
        assert_eq!(dispatch.next(ms(0), 1), Next::Wait(Some(ms(500))));
        assert_eq!(dispatch.next(ms(500), 0), Next::Over);
    }

    /// What a run with lines for these requests had come to.
    fn so_far(done: &[u64], measured: Duration) -> SoFar {
        let mut so_far = SoFar { measured, ..SoFar::default() };
        done.iter().for_each(|index| assert!(so_far.add(*index)));
        so_far
    }

    #[test]
    fn what_is_missing_is_given_out_once() {
        let closed = load(LoadShape::ClosedLoop { concurrency: 2 }, 5, None);
        let mut rest = measured(&closed).after(&so_far(&[0, 2], ms(40)));
        for (under_way, expected) in [
            (0, begin(1, None, None)),
            (1, begin(3, None, None)),
            (2, Next::Wait(None)),
            (1, begin(4, None, None)),
            (1, Next::Over),
        ] {
            assert_eq!(rest.next(ms(0), under_way), expected);
        }
        assert!(measured(&closed).after(&so_far(&[0, 1, 2, 3, 4], ms(40))).is_over());
    }

    #[test]
    fn a_schedule_goes_on_at_its_first_missing_request() {
        let mut rest =
            measured(&load(rate(10.0, 6, None), 6, None)).after(&so_far(&[0, 1, 3], ms(0)));
        for (now, expected) in [
            (ms(0), begin(2, Some(ms(0)), None)),
            (ms(0), begin(4, Some(ms(200)), None)),
            (ms(0), Next::Wait(Some(ms(50)))),
            (ms(50), begin(5, Some(ms(300)), None)),
            (ms(50), Next::Over),
        ] {
            assert_eq!(rest.next(now, 0), expected);
        }
    }

    #[test]
    fn a_load_that_ends_by_time_has_what_was_left_of_it() {
        let closed = load(LoadShape::ClosedLoop { concurrency: 1 }, 100, Some(1_000));
        let mut rest = measured(&closed).after(&so_far(&[0, 1], ms(700)));
        assert_eq!(rest.end(), Some(ms(300)));
        assert_eq!(rest.next(ms(0), 0), begin(2, None, None));
        assert_eq!(rest.next(ms(10), 1), Next::Wait(Some(ms(300))));
        assert_eq!(rest.next(ms(300), 0), Next::Over);
        assert!(measured(&closed).after(&so_far(&[0], ms(1_000))).is_over());
    }

    #[test]
    fn a_warmup_is_a_closed_loop() {
        let stages = vec![ClientStage { from_clients: 0, to_clients: 3, duration_ms: 10 }];
        for (shape, clients) in [
            (LoadShape::ClosedLoop { concurrency: 20 }, 20),
            (LoadShape::ClosedStages { stages }, 3),
            (rate(10.0, 5, Some(1)), 1),
            (rate(10.0, 5, None), WARMUP_CLIENTS),
        ] {
            let mut dispatch = Dispatch::warmup(&load(shape, 5, None));
            assert_eq!(dispatch.next(ms(0), clients), Next::Wait(None));
            for index in 0..3 {
                assert_eq!(dispatch.next(ms(0), clients - 1), begin(index, None, None));
            }
            assert_eq!(dispatch.next(ms(0), 0), Next::Over);
        }
    }
}
