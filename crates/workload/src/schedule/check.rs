//! What a load must keep to be carried out.

use streamgauge_schema::{Arrivals, ClientStage, Load, LoadShape, RateStage};

use super::Schedule;
use super::arrivals::ArrivalTimes;
use crate::load_error::LoadError;

const MICROS_PER_MS: u64 = 1000;
const NANOS_PER_MS: u64 = 1_000_000;

pub(super) fn load(load: &Load, trace_us: Option<&[u64]>) -> Result<(), LoadError> {
    requests(load.requests)?;
    warmup(load.warmup)?;
    if let Some(length_ms) = load.duration_ms {
        length("the load", length_ms)?;
    }
    match (&load.shape, trace_us) {
        (LoadShape::Trace { .. }, None) => Err(LoadError::NoTrace),
        (LoadShape::Trace { max_concurrency, span_ms }, Some(due_us)) => {
            concurrency(*max_concurrency)?;
            trace(load, *span_ms, due_us)
        }
        (shape, Some(_)) => Err(LoadError::NotATrace { shape: shape.name() }),
        (LoadShape::ClosedLoop { concurrency }, None) => clients(1, *concurrency),
        (LoadShape::ClosedStages { stages }, None) => {
            let length = client_stages(stages)?;
            agree("duration_ms", load.duration_ms.unwrap_or(0), "stages' length", length)
        }
        (LoadShape::OpenLoop { arrivals, max_concurrency, stages }, None) => {
            concurrency(*max_concurrency)?;
            rates(arrivals, stages)?;
            let sum = stages.iter().fold(0, |sum: u64, stage| sum.saturating_add(stage.requests));
            agree("number of requests", load.requests, "stages' sum", sum)?;
            counts(load, arrivals, stages)
        }
    }
}

/// Checks that each of so many shards has something to do.
pub(super) fn shards(load: &Load, of: u64) -> Result<(), LoadError> {
    let places = match load.shape {
        LoadShape::ClosedLoop { .. } | LoadShape::ClosedStages { .. } => "clients",
        LoadShape::OpenLoop { .. } | LoadShape::Trace { .. } => {
            "places under way (max_concurrency)"
        }
    };
    let places = load.shape.max_inflight().map(|most| (places, most));
    let requests = ("measured requests", load.requests);
    match places.into_iter().chain([requests]).find(|(_, whole)| *whole < of) {
        Some((what, found)) => Err(LoadError::Shards { what, found, of }),
        None => Ok(()),
    }
}

pub(crate) fn requests(requests: u64) -> Result<(), LoadError> {
    if (1..=Load::MAX_REQUESTS).contains(&requests) {
        Ok(())
    } else {
        Err(LoadError::Requests { requests })
    }
}

pub(crate) fn warmup(requests: u64) -> Result<(), LoadError> {
    if requests <= Load::MAX_REQUESTS { Ok(()) } else { Err(LoadError::Warmup { requests }) }
}

pub(crate) fn trace_length(requests: u64, due_us: &[u64]) -> Result<(), LoadError> {
    let lines = due_us.len() as u64;
    if requests <= lines {
        return Ok(());
    }
    agree("number of requests", requests, "trace's number of lines", lines)
}

/// Checks everything of an open loop but the numbers of its requests.
pub(crate) fn rates(arrivals: &Arrivals, stages: &[RateStage]) -> Result<(), LoadError> {
    if let Arrivals::Gamma { burstiness: value, .. } = *arrivals
        && !(LoadError::LEAST_BURSTINESS..=LoadError::MOST_BURSTINESS).contains(&value)
    {
        return Err(LoadError::Burstiness { value });
    }
    if stages.is_empty() {
        return Err(LoadError::NoStage);
    }
    let mut length_ms = 0_u64;
    for (number, stage) in (1..).zip(stages) {
        rate(number, stage)?;
        length_ms = length_ms.saturating_add(match stage.duration_ms {
            Some(length_ms) => {
                length(&format!("stage {number}"), length_ms)?;
                length_ms
            }
            // Its length follows from its requests.
            None => (stage.requests as f64 / stage.from_per_s * 1000.0).ceil() as u64,
        });
    }
    length("the load", length_ms.max(1))
}

fn rate(number: usize, stage: &RateStage) -> Result<(), LoadError> {
    let (from, to) = (stage.from_per_s, stage.to_per_s);
    let wrong = [from, to].into_iter().find(|rate| !(0.0..=f64::MAX).contains(rate));
    if let Some(per_s) = wrong.or((from == 0.0 && to == 0.0).then_some(0.0)) {
        return Err(LoadError::Rate { stage: number, per_s });
    }
    if from != to && stage.duration_ms.is_none() {
        return Err(LoadError::RampWithoutDuration { stage: number });
    }
    Ok(())
}

/// Holds the planned numbers against those that the rates give. Of the last stage there may be
/// fewer than its time holds: then the number of requests ends the load.
fn counts(load: &Load, arrivals: &Arrivals, stages: &[RateStage]) -> Result<(), LoadError> {
    let end_ns = load.duration_ms.map_or(u64::MAX, |length| length * NANOS_PER_MS);
    let mut given = vec![0; stages.len()];
    let planned = usize::try_from(load.requests).unwrap_or(usize::MAX);
    let times = ArrivalTimes::new(arrivals, stages.into()).take(planned);
    for arrival in times.take_while(|arrival| arrival.due_ns < end_ns) {
        given[arrival.stage] += 1;
    }
    let counts = (1..).zip(stages).zip(given);
    match counts.into_iter().find(|((_, stage), given)| stage.requests != *given) {
        Some(((number, stage), given)) => {
            Err(LoadError::StageRequests { stage: number, planned: stage.requests, given })
        }
        None => Ok(()),
    }
}

pub(crate) fn client_stages(stages: &[ClientStage]) -> Result<u64, LoadError> {
    if stages.is_empty() {
        return Err(LoadError::NoStage);
    }
    let mut length_ms = 0_u64;
    for (number, stage) in (1..).zip(stages) {
        clients(number, stage.from_clients.max(stage.to_clients))?;
        length(&format!("stage {number}"), stage.duration_ms)?;
        length_ms = length_ms.saturating_add(stage.duration_ms);
    }
    length("the load", length_ms)?;
    Ok(length_ms)
}

pub(crate) fn clients(stage: usize, value: u64) -> Result<(), LoadError> {
    if (1..=LoadError::MOST_CLIENTS).contains(&value) {
        Ok(())
    } else {
        Err(LoadError::Clients { stage, value })
    }
}

pub(crate) fn concurrency(limit: Option<u64>) -> Result<(), LoadError> {
    if limit == Some(0) { Err(LoadError::NoConcurrency) } else { Ok(()) }
}

fn trace(load: &Load, span_ms: u64, due_us: &[u64]) -> Result<(), LoadError> {
    trace_length(load.requests, due_us)?;
    let due_us = &due_us[..load.requests as usize];
    order(due_us)?;
    let last = due_us.last().copied().unwrap_or(0);
    if load.duration_ms.is_some_and(|length| last >= length * MICROS_PER_MS) {
        return Err(LoadError::TraceBeyondEnd { due_us: last });
    }
    let last_ms = last.div_ceil(MICROS_PER_MS);
    agree("span_ms", span_ms, "trace's last at_ms, rounded up", last_ms)?;
    length("the trace", last_ms.max(1))
}

pub(crate) fn order(due_us: &[u64]) -> Result<(), LoadError> {
    match due_us.windows(2).position(|pair| pair[1] < pair[0]) {
        Some(place) => Err(LoadError::TraceOrder { index: place + 1, due_us: due_us[place + 1] }),
        None => Ok(()),
    }
}

fn agree(
    what: &'static str,
    found: u64,
    other: &'static str,
    expected: u64,
) -> Result<(), LoadError> {
    if found == expected {
        Ok(())
    } else {
        Err(LoadError::Contradiction { what, found, other, expected })
    }
}

pub(crate) fn length(what: &str, length_ms: u64) -> Result<(), LoadError> {
    if (1..=Schedule::MAX_SPAN_MS).contains(&length_ms) {
        Ok(())
    } else {
        Err(LoadError::Length { what: what.to_owned(), length_ms })
    }
}
