//! What a run has shown so far, in memory that does not grow with it.
//!
//! Invariant: it follows from the lines alone, in the order in which they came. Its quantiles are read
//! from counts in narrow buckets: for a look, and for no record.

use std::time::Duration;

use hdrhistogram::Histogram;
use streamgauge_client::RunClock;
use streamgauge_metrics::may_be_bent;
use streamgauge_schema::{Completion, Load, RequestLine, Stage, Timestamp};

use crate::planning::Cell;

/// Longest time that is told apart from longer ones.
const LONGEST_US: u64 = 3_600_000_000;
/// Digits of the times that are counted.
const DIGITS: u8 = 3;

/// A run so far.
#[derive(Clone, Debug)]
pub(super) struct SoFar {
    pub(super) title: String,
    pub(super) declared: Declared,
    /// Requests of the warm-up that have ended.
    pub(super) warmed_up: u64,
    /// Measured requests that have ended.
    pub(super) ended: u64,
    /// Of these, those that did not succeed.
    pub(super) failed: u64,
    /// When the first measured request that has ended was sent, since the run's start.
    pub(super) first_sent: Option<Duration>,
    ttft: Times,
    interval: Times,
    lag: Times,
    lateness: Times,
}

/// What a run holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Declared {
    pub(super) requests: u64,
    pub(super) warmup: u64,
    /// From the first measured request to the moment after which none begins, where time says so.
    pub(super) lasts: Option<Duration>,
    /// From the beginning of the view to a common start, where one lies ahead.
    pub(super) starts: Option<Duration>,
    pub(super) pace: Pace,
}

/// What sets the pace of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pace {
    /// A schedule, as far as a limit of requests under way lets it.
    LimitedSchedule,
    /// The server: each request follows another one.
    #[default]
    Requests,
    /// A schedule.
    Schedule,
    /// The server, until the time is over: the requests are the most that there can be.
    Time,
}

impl Pace {
    fn of(load: &Load) -> Self {
        match (load.shape.is_scheduled(), load.shape.max_inflight(), load.duration_ms) {
            (true, Some(_), _) => Self::LimitedSchedule,
            (true, None, _) => Self::Schedule,
            (false, _, Some(_)) => Self::Time,
            (false, _, None) => Self::Requests,
        }
    }
}

/// Median and 95th percentile in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
}

/// Times in microseconds, counted.
#[derive(Clone, Debug)]
struct Times(Histogram<u32>);

impl SoFar {
    /// Nothing has ended of this cell but for what was done before.
    pub(super) fn new(title: &str, cell: &Cell, done: u64) -> Self {
        let load = &cell.plan.load;
        let declared = Declared {
            requests: cell.own_requests().saturating_sub(done),
            warmup: cell.own_warmup(),
            lasts: cell.lasts(),
            starts: cell.start_at.and_then(until),
            pace: Pace::of(load),
        };
        Self::of(title, declared)
    }

    pub(super) fn of(title: &str, declared: Declared) -> Self {
        let times = Times::new;
        Self {
            title: title.to_owned(),
            declared,
            warmed_up: 0,
            ended: 0,
            failed: 0,
            first_sent: None,
            ttft: times(),
            interval: times(),
            lag: times(),
            lateness: times(),
        }
    }

    /// A request has ended.
    pub(super) fn note(&mut self, line: &RequestLine) {
        if line.stage == Stage::Warmup {
            self.warmed_up += 1;
            return;
        }
        self.ended += 1;
        self.failed += u64::from(line.completion != Completion::Succeeded);
        let sent = Duration::from_micros(line.started_us);
        self.first_sent = Some(self.first_sent.map_or(sent, |first| first.min(sent)));
        line.observer_lag_us.iter().flatten().for_each(|lag_us| self.lag.add(*lag_us));
        if let Some(scheduled_us) = line.scheduled_us {
            let held_us = scheduled_us.saturating_add(line.queued_us.unwrap_or(0));
            self.lateness.add(line.started_us.saturating_sub(held_us));
        }
        let succeeded = line.completion == Completion::Succeeded;
        if let Some(observation) = line.observation.as_ref().filter(|_| succeeded) {
            observation.first_output_us.iter().for_each(|ttft_us| self.ttft.add(*ttft_us));
            let gaps = observation.arrivals_us.iter().skip(1);
            gaps.for_each(|gap_us| self.interval.add(*gap_us));
        }
    }

    /// Time to first output.
    pub(super) fn ttft(&self) -> Option<Figures> {
        self.ttft.figures()
    }

    /// Intervals between chunks.
    pub(super) fn interval(&self) -> Option<Figures> {
        self.interval.figures()
    }

    /// How late this client is at the 99th percentile in milliseconds, and what that may have bent, by
    /// the rule of records; `None` where it bends nothing.
    pub(super) fn client_limited(&self) -> Option<(f64, Vec<&'static str>)> {
        let delays = [&self.lag, &self.lateness].into_iter().filter_map(|times| times.at_ms(0.99));
        let delay_ms = delays.reduce(f64::max)?;
        let shown = [("TTFT", self.ttft()), ("interval", self.interval())];
        let is_bent = |figures: Option<Figures>| {
            figures.is_some_and(|figures| may_be_bent(figures.p50_ms, delay_ms))
        };
        let bent: Vec<&'static str> =
            shown.into_iter().filter(|(_, it)| is_bent(*it)).map(|(name, _)| name).collect();
        (!bent.is_empty()).then_some((delay_ms, bent))
    }
}

/// From now to a moment by the wall clock; `None` once it has passed.
fn until(moment: Timestamp) -> Option<Duration> {
    let now = RunClock::start().started_at();
    let us = moment.unix_micros().checked_sub(now.unix_micros())?;
    u64::try_from(us).ok().map(Duration::from_micros)
}

impl Times {
    fn new() -> Self {
        Self(
            Histogram::new_with_bounds(1, LONGEST_US, DIGITS).expect("bounds and digits are fixed"),
        )
    }

    fn add(&mut self, time_us: u64) {
        self.0.saturating_record(time_us);
    }

    fn at_ms(&self, q: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(q) as f64 / 1000.0)
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures { p50_ms: self.at_ms(0.5)?, p95_ms: self.at_ms(0.95)? })
    }
}
