//! When requests are due, and how many clients there are: a load, ready to be carried out.
//!
//! Invariant: a schedule follows from its load alone (and, for a trace, from the dataset's times).
//! It holds no time of its own: due times are computed as they are asked for, and count from the
//! moment at which the first measured request could be sent.

mod arrivals;
pub(crate) mod check;
mod clients;
mod gaps;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use streamgauge_schema::{Arrivals, ClientStage, Load, LoadShape, RateStage};

use crate::load_error::LoadError;
pub(crate) use arrivals::{ArrivalTimes, integral};

/// The measured part of a load, checked.
///
/// ```
/// use std::time::Duration;
/// use streamgauge_schema::{Arrivals, Identifier, Load, LoadShape, RateStage};
/// use streamgauge_workload::Schedule;
///
/// let stage = |from_per_s, to_per_s, duration_ms, requests| {
///     RateStage { from_per_s, to_per_s, duration_ms: Some(duration_ms), requests }
/// };
/// let load = Load {
///     cell: Identifier::new("spike").unwrap(),
///     shape: LoadShape::OpenLoop {
///         arrivals: Arrivals::Constant {},
///         max_concurrency: None,
///         stages: vec![stage(2.0, 2.0, 1_000, 2), stage(10.0, 10.0, 200, 2)],
///     },
///     requests: 4,
///     duration_ms: Some(1_200),
///     warmup: 0,
/// };
/// let schedule = Schedule::new(&load, None)?;
/// let due: Vec<_> = schedule.due_times().collect();
/// assert_eq!(due, [0, 500, 1_000, 1_100].map(Duration::from_millis));
/// # Ok::<(), streamgauge_workload::LoadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    requests: u64,
    end: Option<Duration>,
}

#[derive(Clone, Debug)]
enum Pace {
    Clients(Vec<ClientStage>),
    Constant { clients: u64 },
    Open { arrivals: Arrivals, stages: Arc<[RateStage]> },
    Trace { due_us: Arc<[u64]> },
}

impl Schedule {
    /// Longest load, in milliseconds: 365 days.
    pub const MAX_SPAN_MS: u64 = 365 * 24 * 3_600_000;

    /// Checks a load. `trace_us` are the due times that the dataset of a [`LoadShape::Trace`] gives
    /// its requests ([`Dataset::due_us`](crate::Dataset::due_us)), in microseconds; other shapes
    /// have none.
    ///
    /// An open loop is gone through once, without being kept.
    ///
    /// # Errors
    /// When the load contradicts itself: a rate or a length that cannot be, other numbers of
    /// requests than its rates give, times of a trace that are missing or not in order.
    pub fn new(load: &Load, trace_us: Option<Arc<[u64]>>) -> Result<Self, LoadError> {
        check::load(load, trace_us.as_deref())?;
        let end = load.duration_ms.map(Duration::from_millis);
        let pace = match &load.shape {
            LoadShape::ClosedLoop { concurrency } => Pace::Constant { clients: *concurrency },
            LoadShape::ClosedStages { stages } => Pace::Clients(stages.clone()),
            LoadShape::OpenLoop { arrivals, stages, .. } => {
                Pace::Open { arrivals: *arrivals, stages: stages.as_slice().into() }
            }
            LoadShape::Trace { .. } => Pace::Trace { due_us: trace_us.unwrap_or_default() },
        };
        Ok(Self { pace, requests: load.requests, end })
    }

    /// Measured requests. In a closed loop that time ends, the most that are sent.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// No measured request begins at this moment or later; `None` when the number of requests alone
    /// ends the load.
    #[must_use]
    pub fn end(&self) -> Option<Duration> {
        self.end
    }

    /// When each measured request is due, from the first to the last: as many as are planned, never
    /// decreasing, each below [`end`](Self::end). A closed loop has none.
    #[must_use]
    pub fn due_times(&self) -> DueTimes {
        let times = match &self.pace {
            Pace::Clients(_) | Pace::Constant { .. } => Times::None,
            Pace::Open { arrivals, stages } => {
                Times::Computed(Box::new(ArrivalTimes::new(arrivals, Arc::clone(stages))))
            }
            Pace::Trace { due_us } => Times::Given(Arc::clone(due_us)),
        };
        let left = if matches!(times, Times::None) { 0 } else { self.requests };
        DueTimes { times, given: 0, left }
    }

    /// How many clients a closed loop has at a moment; 0 from [`end`](Self::end) on. An open loop
    /// has none.
    #[must_use]
    pub fn clients_at(&self, elapsed: Duration) -> u64 {
        match &self.pace {
            Pace::Clients(stages) => clients::clients_at(stages, elapsed),
            Pace::Constant { .. } if self.end.is_some_and(|end| elapsed >= end) => 0,
            Pace::Constant { clients } => *clients,
            Pace::Open { .. } | Pace::Trace { .. } => 0,
        }
    }

    /// The first moment after `elapsed` with another number of clients; `None` when there is none.
    #[must_use]
    pub fn next_change(&self, elapsed: Duration) -> Option<Duration> {
        match &self.pace {
            Pace::Clients(stages) => clients::next_change(stages, elapsed),
            Pace::Constant { .. } => self.end.filter(|end| elapsed < *end),
            Pace::Open { .. } | Pace::Trace { .. } => None,
        }
    }
}

/// Due times of a [`Schedule`], computed one by one.
#[derive(Clone, Debug)]
pub struct DueTimes {
    times: Times,
    given: usize,
    left: u64,
}

#[derive(Clone, Debug)]
enum Times {
    Computed(Box<ArrivalTimes>),
    Given(Arc<[u64]>),
    None,
}

impl Iterator for DueTimes {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.times {
            Times::Computed(times) => {
                times.next().map(|arrival| Duration::from_nanos(arrival.due_ns))
            }
            Times::Given(due_us) => {
                let due = due_us.get(self.given)?;
                self.given += 1;
                Some(Duration::from_micros(*due))
            }
            Times::None => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl ExactSizeIterator for DueTimes {}
