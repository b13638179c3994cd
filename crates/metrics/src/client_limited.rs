//! Which metrics the client's own delay may have bent: a record lists them, verification finds them
//! again, and no gate on them passes.

use streamgauge_schema::{Identifier, Metric, Spread, Unit};

/// Below this delay of the client, in milliseconds, no metric is called bent.
const TOLERATED_MS: f64 = 1.0;
/// Nor below this share of the metric.
const TOLERATED_SHARE: f64 = 0.01;

/// Beginnings of the names of metrics of the delay itself.
const OF_THE_CLIENT: [&str; 2] = ["dispatch_lateness_", "observer_lag_"];

/// The 99th percentile of the client's delay in milliseconds: the worse of how long bytes lay
/// unread and how late requests were sent. `None` when neither was measured.
pub(crate) fn delay_ms(lag: Option<Spread>, lateness: Option<Spread>) -> Option<f64> {
    [lag, lateness].into_iter().flatten().map(|spread| spread.p99).reduce(f64::max)
}

/// The metrics, in their order, that such a delay may have bent: latencies against which it exceeds
/// the larger of 1 ms and 1 percent.
pub(crate) fn client_limited(metrics: &[Metric], delay_ms: Option<f64>) -> Vec<Identifier> {
    let Some(delay_ms) = delay_ms else {
        return Vec::new();
    };
    let limited = |metric: &&Metric| {
        is_latency(metric) && metric.value.is_some_and(|value| may_be_bent(value, delay_ms))
    };
    metrics.iter().filter(limited).map(|metric| metric.id.clone()).collect()
}

/// Whether a delay of the client, at its 99th percentile, may have bent a latency of this value: it
/// exceeds the larger of 1 ms and 1 percent of it. Both are in milliseconds.
///
/// ```
/// use streamgauge_metrics::may_be_bent;
/// assert!(may_be_bent(20.0, 1.5) && !may_be_bent(20.0, 1.0));
/// assert!(may_be_bent(200.0, 2.5) && !may_be_bent(200.0, 1.5));
/// ```
#[must_use]
pub fn may_be_bent(value_ms: f64, delay_ms: f64) -> bool {
    delay_ms > TOLERATED_MS.max(TOLERATED_SHARE * value_ms)
}

/// Whether a delay of the client adds to the metric's value, and is not what it measures.
pub(crate) fn is_latency(metric: &Metric) -> bool {
    let id = metric.id.as_str();
    metric.unit == Unit::Milliseconds && !OF_THE_CLIENT.iter().any(|own| id.starts_with(own))
}
