//! Due times, and the lags by which arrivals are moved to the kernel's clock.

use streamgauge_schema::{KernelStamps, LoadShape, Plan, RequestLine, Stage};

use super::{at_most, equal, require, shown};

/// The longest lag that is used, in microseconds: one above it means that a clock was set.
const MAX_LAG_US: u64 = 1_000_000;

/// A measured request of a schedule has a due time, and one of a closed loop has none. Nothing
/// starts before it is due and has a place.
pub(super) fn check_schedule(plan: &Plan, line: &RequestLine) -> Result<(), String> {
    let (scheduled, queued) = (line.scheduled_us, line.queued_us);
    let shape = &plan.load.shape;
    let (is_scheduled, is_capped) = match shape {
        LoadShape::ClosedLoop { .. } | LoadShape::ClosedStages { .. } => (false, false),
        LoadShape::OpenLoop { max_concurrency, .. } | LoadShape::Trace { max_concurrency, .. } => {
            (true, max_concurrency.is_some())
        }
    };
    // Warm-up may be sent by the schedule, or without it.
    let (is_due, has_limit) = match line.stage {
        Stage::Measured => (is_scheduled, is_capped),
        Stage::Warmup => {
            let is_due = is_scheduled && scheduled.is_some();
            (is_due, is_due && is_capped && queued.is_some())
        }
    };
    let name = shape.name();
    require(scheduled.is_some() == is_due, || {
        format!("scheduled_us is {}, the load is {name}", shown(scheduled))
    })?;
    require(queued.is_some() == has_limit, || {
        let limit = if is_capped { "a limit" } else { "no limit" };
        format!("queued_us is {}, the load is {name} with {limit} under way", shown(queued))
    })?;
    let Some(scheduled) = scheduled else { return Ok(()) };
    let earliest = scheduled.checked_add(queued.unwrap_or(0));
    let earliest = earliest.ok_or("scheduled_us and queued_us have no sum within 64 bits")?;
    at_most(("scheduled_us with queued_us", Some(earliest)), ("started_us", Some(line.started_us)))
}

/// Lags come from connections with kernel stamps, and those of output events and of the end are
/// among those of all reads.
pub(super) fn check_lags(plan: &Plan, line: &RequestLine) -> Result<(), String> {
    let most = |lags: &[u64]| lags.iter().copied().max();
    let reads = line.observer_lag_us.as_deref();
    require(reads.is_none() || plan.instrument.kernel_stamps != KernelStamps::Off, || {
        "observer_lag_us is there, the plan has kernel_stamps off".to_owned()
    })?;
    let greatest = reads.and_then(most);
    require(greatest <= Some(MAX_LAG_US), || {
        format!("observer_lag_us has {}, above {MAX_LAG_US}", shown(greatest))
    })?;
    let (outputs, end) = (line.output_lags_us.as_deref(), line.end_lag_us);
    require(outputs.is_some() == end.is_some(), || {
        let outputs = if outputs.is_some() { "there" } else { "null" };
        format!("output_lags_us is {outputs}, end_lag_us is {}", shown(end))
    })?;
    let Some(outputs) = outputs else { return Ok(()) };
    let events = line.observation.as_ref().map(|seen| seen.output_events);
    equal(("output_lags_us in number", Some(outputs.len() as u64)), ("output_events", events))?;
    at_most(
        ("the greatest of output_lags_us and end_lag_us", most(outputs).max(end)),
        ("the greatest of observer_lag_us", greatest),
    )
}
