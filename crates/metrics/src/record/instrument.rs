//! What the instrument says of itself: lag, lateness, reads, and the metrics it may have bent.

use streamgauge_schema::{InstrumentReport, Metric, RequestLine, Spread};

use super::{CollectedRun, text};
use crate::client_limited::{client_limited, delay_ms};
use crate::error::RecordError;
use crate::quantile::quantile_of;
use crate::sent::Sent;
use crate::sorted::{Sorted, SortedMicros};

/// Sums over measured requests.
#[derive(Debug, Default)]
pub(super) struct InstrumentSums {
    /// How long bytes lay unread, for each read with a usable stamp.
    lags_us: Vec<u32>,
    reads: u64,
    coalesced_reads: u64,
    stale_connections: u64,
    resends: u64,
}

impl InstrumentSums {
    /// Takes a line that was checked: its lags are no longer than a second.
    pub(super) fn add(&mut self, line: &RequestLine) {
        let lags_us = line.observer_lag_us.iter().flatten();
        self.lags_us.extend(lags_us.map(|us| u32::try_from(*us).unwrap_or(u32::MAX)));
        if let Some(seen) = &line.observation {
            self.reads = self.reads.saturating_add(seen.reads);
            self.coalesced_reads = self.coalesced_reads.saturating_add(seen.coalesced_reads);
        }
        self.stale_connections = self.stale_connections.saturating_add(line.stale_connections);
        self.resends = self.resends.saturating_add(line.attempts.saturating_sub(1).into());
    }
}

pub(super) fn report(
    run: &CollectedRun<'_>,
    metrics: &[Metric],
) -> Result<InstrumentReport, RecordError> {
    let (instrument, sums) = (&run.plan.instrument, &run.instrument);
    let lag = spread(&sums.lags_us.clone().into());
    let lateness = spread(&run.measured.sent.iter().filter_map(Sent::lateness_us).collect());
    Ok(InstrumentReport {
        version: text(run.plan.instrument_version.as_str())?,
        time_basis: instrument.time_basis,
        observer_lag_ms: lag,
        dispatch_lateness_ms: lateness,
        reads: sums.reads,
        coalesced_reads: sums.coalesced_reads,
        stale_connections: sums.stale_connections,
        resends: sums.resends,
        client_limited: client_limited(metrics, delay_ms(lag, lateness)),
        calibration: instrument.calibration,
    })
}

fn spread(sorted: &SortedMicros) -> Option<Spread> {
    Some(Spread {
        median: quantile_of(sorted, 0.5)?,
        p99: quantile_of(sorted, 0.99)?,
        max: sorted.at(sorted.count() - 1)?,
    })
}
