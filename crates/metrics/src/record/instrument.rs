//! What the instrument says of itself: lag, lateness, reads, and the metrics it may have bent.

use streamgauge_schema::{InstrumentReport, Metric, Plan, RequestLine, Spread, TimeBasis};

use super::text;
use crate::client_limited::{client_limited, delay_ms};
use crate::error::RecordError;
use crate::measured::Measured;
use crate::quantile::sorted_quantile;

pub(super) fn report(
    plan: &Plan,
    run: &Measured<'_>,
    metrics: &[Metric],
) -> Result<InstrumentReport, RecordError> {
    let lag =
        spread(run.sent.iter().flat_map(|line| line.observer_lag_us.iter().flatten().copied()));
    let lateness = spread(run.sent.iter().filter_map(|line| {
        line.scheduled_us.map(|scheduled| line.started_us.saturating_sub(scheduled))
    }));
    let sum = |of: fn(&RequestLine) -> u64| {
        run.sent.iter().map(|line| of(line)).fold(0, u64::saturating_add)
    };
    Ok(InstrumentReport {
        calibration: plan.instrument.calibration,
        version: text(plan.instrument_version.as_str())?,
        time_basis: TimeBasis::Read,
        observer_lag_ms: lag,
        dispatch_lateness_ms: lateness,
        reads: sum(|line| line.observation.as_ref().map_or(0, |seen| seen.reads)),
        coalesced_reads: sum(|line| {
            line.observation.as_ref().map_or(0, |seen| seen.coalesced_reads)
        }),
        stale_connections: sum(|line| line.stale_connections),
        resends: sum(|line| u64::from(line.attempts.saturating_sub(1))),
        client_limited: client_limited(metrics, delay_ms(lag, lateness)),
    })
}

fn spread(samples_us: impl Iterator<Item = u64>) -> Option<Spread> {
    let mut ms: Vec<f64> = samples_us.map(|us| us as f64 / 1000.0).collect();
    ms.sort_unstable_by(f64::total_cmp);
    Some(Spread {
        median: sorted_quantile(&ms, 0.5)?,
        p99: sorted_quantile(&ms, 0.99)?,
        max: *ms.last()?,
    })
}
