//! Little's law: how many requests must have been under way for a rate and a latency to fit.

/// Mean latencies that a window must hold for the law to say anything: what began before it or ended
/// after it must be little against what lies within.
const LATENCIES: f64 = 20.0;

/// The mean number of requests in flight that a rate and a mean latency ask for: their product.
/// `None` for a window that is not longer than twenty mean latencies, or where a figure is missing,
/// not finite or negative.
///
/// It is advice. Where it is far from the in-flight that was observed, the rate and the latency are
/// not of the same requests.
///
/// ```
/// use streamgauge_metrics::littles_inflight;
/// // 20 requests a second of 1.5 s each: 30 in flight, if they were counted over a minute.
/// assert_eq!(littles_inflight(Some(20.0), Some(1_500.0), 60_000.0), Some(30.0));
/// assert_eq!(littles_inflight(Some(20.0), Some(1_500.0), 30_000.0), None);
/// ```
#[must_use]
pub fn littles_inflight(
    requests_per_s: Option<f64>,
    mean_latency_ms: Option<f64>,
    window_ms: f64,
) -> Option<f64> {
    let sound = |figure: &f64| figure.is_finite() && *figure >= 0.0;
    let rate = requests_per_s.filter(sound)?;
    let latency_ms = mean_latency_ms.filter(sound)?;
    (window_ms > LATENCIES * latency_ms).then_some(rate * latency_ms / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_gives_no_advice() {
        let (rate, latency) = (Some(2.0), Some(100.0));
        let cases = [
            (rate, latency, 2_000.1, Some(0.2)),
            (rate, latency, 2_000.0, None),
            (None, latency, 1e6, None),
            (rate, None, 1e6, None),
            (Some(-1.0), latency, 1e6, None),
            (rate, Some(f64::NAN), 1e6, None),
            (rate, latency, f64::NAN, None),
            (Some(0.0), Some(0.0), 1.0, Some(0.0)),
        ];
        for (rate, latency, window_ms, expected) in cases {
            assert_eq!(
                littles_inflight(rate, latency, window_ms),
                expected,
                "{rate:?} {latency:?}"
            );
        }
    }
}
