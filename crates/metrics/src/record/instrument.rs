//! What the instrument says of itself: lag, lateness, reads, and the metrics it may have bent.

use streamgauge_schema::{InstrumentReport, Metric, RequestLine, Spread};

use super::{CollectedRun, text};
use crate::client_limited::{client_limited, delay_ms};
use crate::error::RecordError;
use crate::sent::Sent;
use crate::statistic::Statistic;
use crate::whole::{Summary, Whole};

/// Sums over measured requests.
#[derive(Debug, Default)]
pub(super) struct InstrumentSums {
    reads: u64,
    coalesced_reads: u64,
    stale_connections: u64,
    pub(super) resends: u64,
    pub(super) retries: RetrySums,
}

/// What was sent again by policy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RetrySums {
    pub(super) requests: u64,
    pub(super) attempts: u64,
}

impl InstrumentSums {
    pub(super) fn add(&mut self, line: &RequestLine) {
        if let Some(seen) = &line.observation {
            self.reads = self.reads.saturating_add(seen.reads);
            self.coalesced_reads = self.coalesced_reads.saturating_add(seen.coalesced_reads);
        }
        self.stale_connections = self.stale_connections.saturating_add(line.stale_connections);
        let retried = line.retried.len() as u64;
        let resends = u64::from(line.attempts.saturating_sub(1)).saturating_sub(retried);
        self.resends = self.resends.saturating_add(resends);
        self.retries.requests += u64::from(retried > 0);
        self.retries.attempts = self.retries.attempts.saturating_add(retried);
    }
}

pub(super) fn report(
    run: &CollectedRun<'_>,
    metrics: &[Metric],
) -> Result<InstrumentReport, RecordError> {
    let (instrument, sums) = (&run.plan.instrument, &run.instrument);
    let lag = spread(&run.measured.lags.summary_ms());
    let lateness = run.measured.sent.iter().filter_map(Sent::lateness_us).collect::<Whole>();
    let lateness = spread(&lateness.summary(1000.0));
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

/// `None` where there is nothing.
pub(super) fn spread(summary: &Summary) -> Option<Spread> {
    Some(Spread {
        median: Statistic::P50.of(summary)?,
        p99: Statistic::P99.of(summary)?,
        max: Statistic::Max.of(summary)?,
    })
}
