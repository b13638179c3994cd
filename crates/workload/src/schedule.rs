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
mod shard_tests;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use streamgauge_schema::{Arrivals, ClientStage, Load, LoadShape, RateStage, Shard};

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
    part: Part,
}

/// Which part of a load is carried out.
#[derive(Clone, Debug)]
struct Part {
    load: Arc<Load>,
    /// `None` is all of it.
    shard: Option<Shard>,
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
        let pace = match &load.shape {
            LoadShape::ClosedLoop { concurrency } => Pace::Constant { clients: *concurrency },
            LoadShape::ClosedStages { stages } => Pace::Clients(stages.clone()),
            LoadShape::OpenLoop { arrivals, stages, .. } => {
                Pace::Open { arrivals: *arrivals, stages: stages.as_slice().into() }
            }
            LoadShape::Trace { .. } => Pace::Trace { due_us: trace_us.unwrap_or_default() },
        };
        Ok(Self { pace, part: Part { load: Arc::new(load.clone()), shard: None } })
    }

    /// The part of a shard: its requests at their places and times in the whole load, and its share of
    /// the clients, or of the limit of requests under way.
    ///
    /// ```
    /// use streamgauge_schema::{Identifier, Load, LoadShape, Shard};
    /// use streamgauge_workload::Schedule;
    /// let load = Load {
    ///     cell: Identifier::new("c3").unwrap(),
    ///     shape: LoadShape::ClosedLoop { concurrency: 3 },
    ///     requests: 7,
    ///     duration_ms: None,
    ///     warmup: 0,
    /// };
    /// let second = Schedule::new(&load, None)?.of_shard(Shard::new(2, 2).unwrap())?;
    /// assert_eq!((second.share(3), second.own_requests()), (1, 2));
    /// assert_eq!((0..7).filter(|index| second.has(*index)).collect::<Vec<u64>>(), [1, 4]);
    /// # Ok::<(), streamgauge_workload::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// When there are more shards than clients, than may be under way, or than requests: some would have
    /// nothing to do.
    pub fn of_shard(mut self, shard: Shard) -> Result<Self, LoadError> {
        check::shards(&self.part.load, shard.of())?;
        self.part.shard = Some(shard);
        Ok(self)
    }

    /// The shard whose part this is; `None` is all of the load.
    #[must_use]
    pub fn shard(&self) -> Option<Shard> {
        self.part.shard
    }

    /// Measured requests of the whole load. In a closed loop that time ends, the most that are sent.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.part.load.requests
    }

    /// Of them, those of this part.
    #[must_use]
    pub fn own_requests(&self) -> u64 {
        self.part.count(self.part.load.requests)
    }

    /// Warm-up requests of this part.
    #[must_use]
    pub fn own_warmup(&self) -> u64 {
        self.part.count(self.part.load.warmup)
    }

    /// Whether the request at this place of its stage, warm-up or measured, is of this part.
    #[must_use]
    pub fn has(&self, index: u64) -> bool {
        self.part.has(index)
    }

    /// This part's share of so many clients or places under way; all of them without a shard.
    #[must_use]
    pub fn share(&self, whole: u64) -> u64 {
        self.part.shard.map_or(whole, |shard| shard.share(whole))
    }

    /// The most requests that this part has under way at once; `None` when nothing limits them.
    #[must_use]
    pub fn max_inflight(&self) -> Option<u64> {
        self.part.load.shape.max_inflight().map(|most| self.share(most))
    }

    /// No measured request begins at this moment or later; `None` when the number of requests alone
    /// ends the load.
    #[must_use]
    pub fn end(&self) -> Option<Duration> {
        self.part.load.duration_ms.map(Duration::from_millis)
    }

    /// When each measured request of this part is due, from the first to the last: never decreasing,
    /// each below [`end`](Self::end). A closed loop has none.
    #[must_use]
    pub fn due_times(&self) -> DueTimes {
        let times = match &self.pace {
            Pace::Clients(_) | Pace::Constant { .. } => Times::None,
            Pace::Open { arrivals, stages } => {
                Times::Computed(Box::new(ArrivalTimes::new(arrivals, Arc::clone(stages))))
            }
            Pace::Trace { due_us } => Times::Given(Arc::clone(due_us)),
        };
        let left = if matches!(times, Times::None) { 0 } else { self.own_requests() };
        DueTimes { times, next: 0, part: self.part.clone(), left }
    }

    /// How many clients this part of a closed loop has at a moment; 0 from [`end`](Self::end) on. An
    /// open loop has none.
    #[must_use]
    pub fn clients_at(&self, elapsed: Duration) -> u64 {
        self.share(match &self.pace {
            Pace::Clients(stages) => clients::clients_at(stages, elapsed),
            Pace::Constant { .. } if self.end().is_some_and(|end| elapsed >= end) => 0,
            Pace::Constant { clients } => *clients,
            Pace::Open { .. } | Pace::Trace { .. } => 0,
        })
    }

    /// The first moment after `elapsed` at which the load has another number of clients; `None` when
    /// there is none. This part may have as many as before.
    #[must_use]
    pub fn next_change(&self, elapsed: Duration) -> Option<Duration> {
        match &self.pace {
            Pace::Clients(stages) => clients::next_change(stages, elapsed),
            Pace::Constant { .. } => self.end().filter(|end| elapsed < *end),
            Pace::Open { .. } | Pace::Trace { .. } => None,
        }
    }
}

impl Part {
    fn has(&self, index: u64) -> bool {
        self.shard.is_none_or(|shard| shard.has(&self.load, index))
    }

    fn count(&self, requests: u64) -> u64 {
        self.shard.map_or(requests, |shard| shard.count(&self.load, requests))
    }
}

/// Due times of a [`Schedule`], computed one by one.
#[derive(Clone, Debug)]
pub struct DueTimes {
    times: Times,
    /// Place of the next one in the whole load.
    next: u64,
    part: Part,
    left: u64,
}

#[derive(Clone, Debug)]
enum Times {
    Computed(Box<ArrivalTimes>),
    Given(Arc<[u64]>),
    None,
}

impl Times {
    /// The due time of this place; places are asked for one after the other.
    fn at(&mut self, index: u64) -> Option<Duration> {
        match self {
            Self::Computed(times) => Some(Duration::from_nanos(times.next()?.due_ns)),
            Self::Given(due_us) => due_us.get(index as usize).copied().map(Duration::from_micros),
            Self::None => None,
        }
    }
}

impl Iterator for DueTimes {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let (index, due) = (self.next, self.times.at(self.next)?);
            self.next += 1;
            if self.part.has(index) {
                return Some(due);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl ExactSizeIterator for DueTimes {}
