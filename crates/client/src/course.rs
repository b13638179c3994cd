//! The course of a run: gives out each stage's requests as they may begin, hands on the lines of
//! those that have ended, and decides when to stop.

use std::time::{Duration, Instant};

use streamgauge_schema::{
    Completion, EndReason, Extraction, JournalLine, JournalTrailer, Limits, Request, RequestLine,
    Stage,
};
use tokio::sync::watch;

use crate::beginning::Beginning;
use crate::clock::RunClock;
use crate::crew::Crew;
use crate::dispatch::{AHEAD, Dispatch, Next, Ticket};
use crate::engine::RunError;
use crate::send::Order;
use crate::sink::{Sink, SinkThread};
use crate::worker::Report;

/// Measured requests that must have ended before `limits.max_error_ratio` can stop a run: of fewer, one
/// failure would be a large share.
pub const ERROR_RATIO_JUDGED_FROM: u64 = 20;

/// A run under way.
pub(crate) struct Course<R, S: Sink> {
    pub(crate) crew: Crew,
    pub(crate) request_of: R,
    pub(crate) sink: SinkThread<S>,
    pub(crate) clock: RunClock,
    pub(crate) limits: Limits,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) tally: Tally,
}

/// When a request may begin that no schedule gives a time.
#[derive(Clone, Copy, Debug)]
struct Window {
    not_before: Option<Instant>,
    not_after: Option<Instant>,
}

/// What has ended so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    lines: u64,
    last_end_us: u64,
    measured: u64,
    failed: u64,
    stopped: Option<EndReason>,
}

impl<R, S> Course<R, S>
where
    R: Fn(Stage, u64) -> Request,
    S: Sink,
{
    /// Carries out one stage; nothing, once the run has been stopped. Where its beginning is written
    /// down, it waits for the common start: its first requests are given out a little before, so that
    /// workers open connections that were closed meanwhile and hold them to the moment itself.
    pub(crate) async fn stage(
        &mut self,
        stage: Stage,
        mut dispatch: Dispatch,
        beginning: Option<Beginning>,
    ) -> Result<(), RunError<S::Error>> {
        let mut first = Vec::new();
        while let Next::Begin(ticket) = dispatch.next(Duration::ZERO, first.len() as u64) {
            first.push((ticket, (self.request_of)(stage, ticket.index)));
        }
        let start = beginning.and_then(|beginning| beginning.start(&self.clock));
        if let Some(ahead) = start.and_then(|start| start.checked_sub(AHEAD)) {
            self.wait_until(ahead).await?;
        }
        self.heed_stop();
        if self.tally.stopped.is_some() {
            return Ok(());
        }
        // Taken last: nothing that was made ready before makes a request late.
        let now = Instant::now();
        let origin = start.map_or(now, |start| start.max(now));
        let not_before = (origin > now).then_some(origin);
        let not_after = dispatch.end().map(|end| origin + end);
        if let Some(beginning) = beginning {
            self.sink.give(JournalLine::Begun(beginning.at(self.clock.at(origin))));
        }
        for (ticket, request) in first {
            let window = Window { not_before, not_after };
            self.order(stage, ticket, request, origin, window);
        }
        let grace = Duration::from_millis(self.limits.grace_ms);
        let mut give_up = not_after.map(|end| end + grace);
        loop {
            let wake = match self.begin_what_may(stage, &mut dispatch, origin) {
                Next::Wait(until) => until.map(|until| origin + until),
                _ if self.crew.under_way() == 0 => return Ok(()),
                _ => give_up,
            };
            // Where many requests end at once, what has arrived for others is read between them.
            if self.crew.has_report() {
                tokio::task::yield_now().await;
            }
            self.wait(wake).await?;
            if give_up.take_if(|at| Instant::now() >= *at).is_some() {
                self.crew.common().cancel.give();
            }
        }
    }

    /// Orders every request that may begin now; gives what follows.
    fn begin_what_may(&mut self, stage: Stage, dispatch: &mut Dispatch, origin: Instant) -> Next {
        loop {
            if self.crew.common().cancel.is_given() {
                return Next::Over;
            }
            let next = dispatch.next(origin.elapsed(), self.crew.under_way());
            let Next::Begin(ticket) = next else { return next };
            let request = (self.request_of)(stage, ticket.index);
            let not_after = dispatch.end().map(|end| origin + end);
            let window = Window { not_before: None, not_after };
            self.order(stage, ticket, request, origin, window);
        }
    }

    fn order(
        &mut self,
        stage: Stage,
        ticket: Ticket,
        request: Request,
        origin: Instant,
        Window { not_before, not_after }: Window,
    ) {
        self.crew.give(Order {
            stage,
            request,
            clock: self.clock,
            due: ticket.due.map(|due| origin + due),
            not_before,
            queued: ticket.queued,
            // A due time lies before the end by itself.
            not_after: not_after.filter(|_| ticket.due.is_none()),
            ends: not_after,
        });
    }

    /// Waits for the moment, unless the run is stopped.
    async fn wait_until(&mut self, moment: Instant) -> Result<(), RunError<S::Error>> {
        while self.tally.stopped.is_none() && Instant::now() < moment {
            self.wait(Some(moment)).await?;
        }
        Ok(())
    }

    /// Waits for the next report, a stop signal, or the moment.
    async fn wait(&mut self, until: Option<Instant>) -> Result<(), RunError<S::Error>> {
        let may_be_stopped = self.tally.stopped.is_none();
        let report = tokio::select! {
            biased;
            report = self.crew.report() => Some(report),
            // Nobody can stop a run whose sender is gone.
            Ok(_) = self.stop.wait_for(|stop| *stop), if may_be_stopped => None,
            () = sleep_until(until) => None,
        };
        match report {
            Some(Report::Ended { worker, line, said }) => {
                self.ended(worker, line, said);
                Ok(())
            }
            Some(Report::Kept { worker }) => {
                self.crew.conclude(worker);
                Ok(())
            }
            Some(Report::SinkGone) => Err(self.sink.failure()),
            Some(Report::Failed(error)) => Err(RunError::Worker(error)),
            Some(Report::Gone) => Err(RunError::gone()),
            Some(Report::Ready) | None => {
                self.heed_stop();
                Ok(())
            }
        }
    }

    fn ended(&mut self, worker: usize, line: Box<RequestLine>, said: Option<Box<Extraction>>) {
        if line.completion == Completion::NotSent {
            self.crew.conclude(worker);
            return;
        }
        self.tally.note(&line);
        self.sink.conclude(worker, line, said);
        if self.limits.max_error_ratio.is_some_and(|most| self.tally.fails_more_than(most)) {
            self.stop_for(EndReason::ErrorRate);
        }
    }

    fn heed_stop(&mut self) {
        if *self.stop.borrow() {
            self.stop_for(EndReason::Interrupted);
        }
    }

    fn stop_for(&mut self, reason: EndReason) {
        self.tally.stopped.get_or_insert(reason);
        self.crew.common().cancel.give();
    }

    /// Writes the trailer. `listed_models` is asked for once all requests have ended.
    pub(crate) async fn finish(
        mut self,
        listed_models: impl AsyncFnOnce(&mut watch::Receiver<bool>) -> Option<Vec<String>>,
    ) -> Result<(JournalTrailer, S), RunError<S::Error>> {
        let end = self.clock.now().max(Duration::from_micros(self.tally.last_end_us));
        let trailer = JournalTrailer {
            reason: self.tally.stopped.unwrap_or(EndReason::Finished),
            completed_at: self.clock.label(end),
            lines: self.tally.lines,
            listed_models: listed_models(&mut self.stop).await,
        };
        self.sink.give(JournalLine::Trailer(trailer.clone()));
        self.crew.dismiss().await;
        Ok((trailer, self.sink.finish()?))
    }
}

/// Waits until every worker has opened its first connections, or until the run is stopped.
pub(crate) async fn get_ready<E>(
    crew: &mut Crew,
    stop: &mut watch::Receiver<bool>,
) -> Result<(), RunError<E>> {
    let mut left = crew.len();
    while left > 0 {
        let report = tokio::select! {
            biased;
            Ok(_) = stop.wait_for(|stop| *stop) => return Ok(()),
            report = crew.report() => report,
        };
        match report {
            Report::Failed(error) => return Err(RunError::Worker(error)),
            Report::Gone => return Err(RunError::gone()),
            _ => left -= 1,
        }
    }
    Ok(())
}

impl Tally {
    /// Nothing yet, after so many lines.
    pub(crate) fn after(lines: u64) -> Self {
        Self { lines, ..Self::default() }
    }

    fn note(&mut self, line: &RequestLine) {
        self.lines += 1;
        self.last_end_us = self.last_end_us.max(line.started_us + line.elapsed_us);
        if line.stage == Stage::Measured {
            self.measured += 1;
            let failed = matches!(line.completion, Completion::Failed | Completion::TimedOut);
            self.failed += u64::from(failed);
        }
    }

    fn fails_more_than(&self, ratio: f64) -> bool {
        self.measured >= ERROR_RATIO_JUDGED_FROM
            && self.failed as f64 > ratio * self.measured as f64
    }
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}
