//! From what somebody asks for to a load: the requests of each stage are counted once, so that a
//! plan holds numbers and leaves nothing to be counted again.
//!
//! Invariant: what [`LoadSpec::resolve`] gives, [`Schedule::new`](crate::Schedule::new) takes.

mod parse;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use streamgauge_schema::{Arrivals, ClientStage, Load, LoadShape, RateStage};

use crate::cell::cell_name;
use crate::load_error::LoadError;
use crate::schedule::{ArrivalTimes, check, integral};

/// Requests on average that are surely too many, however their times are spread.
const HOPELESS: f64 = 2.0 * Load::MAX_REQUESTS as f64;

/// A load as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadSpec {
    /// A closed loop.
    Clients(Clients),
    /// An open loop.
    Rates {
        /// The rates.
        rates: Rates,
        /// How the due times are spread.
        arrivals: Arrivals,
        /// Most requests under way at once.
        max_concurrency: Option<u64>,
    },
    /// The times of a dataset.
    Trace {
        /// When each request is due, in microseconds.
        due_us: Arc<[u64]>,
        /// Most requests under way at once.
        max_concurrency: Option<u64>,
    },
}

/// What ends a load: whichever comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadEnd {
    /// So many measured requests.
    pub requests: Option<u64>,
    /// So long after the first could begin, in milliseconds. Stages have lengths of their own, and
    /// beside them there is no other.
    pub duration_ms: Option<u64>,
}

/// Numbers of clients, one after the other: `8`, or `1..64:60s,64:5m`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clients(Part<ClientStage>);

/// Rates in requests per second, one after the other: `12.5`, or `10:30s,20:30s,20..50:1m`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates(Part<RateStage>);

/// One number throughout, or several with their lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part<Stage: Staged> {
    Constant(Stage::Number),
    Stages(Vec<Stage>),
}

/// A stage of either loop.
trait Staged: Sized {
    type Number: Copy + std::fmt::Debug + PartialEq;

    fn new(from: Self::Number, to: Self::Number, duration_ms: u64) -> Self;
}

impl Clients {
    /// One number throughout.
    #[must_use]
    pub fn constant(clients: u64) -> Self {
        Self(Part::Constant(clients))
    }
}

impl Rates {
    /// One rate throughout, in requests per second.
    #[must_use]
    pub fn constant(per_s: f64) -> Self {
        Self(Part::Constant(per_s))
    }
}

impl LoadSpec {
    /// Counts the requests, and gives the cell the name of its shape.
    ///
    /// Of several rates whose number of requests is limited, those that the limit leaves without a
    /// request are left out. A closed loop that time alone ends may send
    /// [`Load::MAX_REQUESTS`].
    ///
    /// ```
    /// use streamgauge_schema::Arrivals;
    /// use streamgauge_workload::{LoadEnd, LoadSpec};
    /// let rates = "10:30s,10..20:1m".parse()?;
    /// let spec = LoadSpec::Rates { rates, arrivals: Arrivals::Constant {}, max_concurrency: None };
    /// let load = spec.resolve(LoadEnd::default(), 0)?;
    /// assert_eq!((load.requests, load.duration_ms), (300 + 900, Some(90_000)));
    /// assert_eq!(load.cell.as_str(), "r10_10-20");
    /// # Ok::<(), streamgauge_workload::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// When a number is out of range, nothing ends the load, or it would hold no request or more
    /// than [`Load::MAX_REQUESTS`].
    pub fn resolve(&self, end: LoadEnd, warmup: u64) -> Result<Load, LoadError> {
        check::warmup(warmup)?;
        if let Some(requests) = end.requests {
            check::requests(requests)?;
        }
        if let Some(length) = end.duration_ms {
            check::length("the load", length)?;
        }
        let (shape, requests, duration_ms) = match self {
            Self::Clients(clients) => closed(clients, end)?,
            Self::Rates { rates, arrivals, max_concurrency } => {
                check::concurrency(*max_concurrency)?;
                let stages = open(rates, arrivals, end)?;
                let requests = stages.iter().map(|stage| stage.requests).sum();
                let length = stages.iter().map(|stage| stage.duration_ms).sum();
                let max_concurrency = *max_concurrency;
                let arrivals = *arrivals;
                (LoadShape::OpenLoop { arrivals, max_concurrency, stages }, requests, length)
            }
            Self::Trace { due_us, max_concurrency } => trace(due_us, *max_concurrency, end)?,
        };
        Ok(Load { cell: cell_name(&shape), shape, requests, duration_ms, warmup })
    }
}

type Resolved = (LoadShape, u64, Option<u64>);

fn closed(clients: &Clients, end: LoadEnd) -> Result<Resolved, LoadError> {
    let (shape, length) = match &clients.0 {
        Part::Constant(concurrency) => {
            check::clients(1, *concurrency)?;
            (LoadShape::ClosedLoop { concurrency: *concurrency }, end.duration_ms)
        }
        Part::Stages(stages) => {
            no_other_length(end)?;
            let length = check::client_stages(stages)?;
            (LoadShape::ClosedStages { stages: stages.clone() }, Some(length))
        }
    };
    let requests = match (end.requests, length) {
        (Some(requests), _) => requests,
        (None, Some(_)) => Load::MAX_REQUESTS,
        (None, None) => return Err(LoadError::NoEnd),
    };
    Ok((shape, requests, length))
}

/// The stages of an open loop with the requests that are due in each.
fn open(rates: &Rates, arrivals: &Arrivals, end: LoadEnd) -> Result<Vec<RateStage>, LoadError> {
    let mut stages = match &rates.0 {
        Part::Constant(per_s) => {
            let (from_per_s, to_per_s, duration_ms) = (*per_s, *per_s, end.duration_ms);
            let requests = match (end.requests, duration_ms) {
                (Some(requests), None) => requests,
                (_, Some(_)) => 0,
                (None, None) => return Err(LoadError::NoEnd),
            };
            vec![RateStage { from_per_s, to_per_s, duration_ms, requests }]
        }
        Part::Stages(stages) => {
            no_other_length(end)?;
            stages.clone()
        }
    };
    check::rates(arrivals, &stages)?;
    count(&mut stages, arrivals, end.requests)?;
    Ok(stages)
}

fn count(
    stages: &mut Vec<RateStage>,
    arrivals: &Arrivals,
    limit: Option<u64>,
) -> Result<(), LoadError> {
    let with_length = |stage: &RateStage| stage.duration_ms.map(|length| integral(stage, length));
    let expected: f64 = stages.iter().filter_map(with_length).sum();
    if limit.is_none() && expected > HOPELESS {
        return Err(LoadError::TooManyRequests);
    }
    let times = ArrivalTimes::new(arrivals, stages.as_slice().into());
    let most = limit.unwrap_or(Load::MAX_REQUESTS + 1);
    stages.iter_mut().for_each(|stage| stage.requests = 0);
    let (mut requests, mut last) = (0, 0);
    for arrival in times.take(most as usize) {
        stages[arrival.stage].requests += 1;
        (requests, last) = (requests + 1, arrival.stage);
    }
    if limit == Some(requests) {
        stages.truncate(last + 1);
    }
    match requests {
        0 => Err(LoadError::NoRequest),
        1..=Load::MAX_REQUESTS => Ok(()),
        _ => Err(LoadError::TooManyRequests),
    }
}

fn no_other_length(end: LoadEnd) -> Result<(), LoadError> {
    if end.duration_ms.is_some() { Err(LoadError::TwoLengths) } else { Ok(()) }
}

fn trace(
    due_us: &[u64],
    max_concurrency: Option<u64>,
    end: LoadEnd,
) -> Result<Resolved, LoadError> {
    check::concurrency(max_concurrency)?;
    check::order(due_us)?;
    check::trace_length(end.requests.unwrap_or(0), due_us)?;
    let end_us = end.duration_ms.map_or(u64::MAX, |length| length.saturating_mul(1000));
    let before_end = due_us.partition_point(|due| *due < end_us);
    let requests = end.requests.unwrap_or(before_end as u64).min(before_end as u64);
    let Some(last) = due_us[..requests as usize].last() else { return Err(LoadError::NoRequest) };
    check::requests(requests)?;
    let span_ms = last.div_ceil(1000);
    Ok((LoadShape::Trace { max_concurrency, span_ms }, requests, end.duration_ms))
}
