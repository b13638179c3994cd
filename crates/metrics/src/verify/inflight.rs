//! Rules of how many requests were under way: the windows and the serving cell say it, and so do
//! metrics.

use streamgauge_schema::{JsonPath, Metric, RunRecordV2, Window};

use super::load::seconds_of;
use super::{Rules, at, same_bits, shown};
use crate::catalogue::{MEAN_INFLIGHT, PEAK_INFLIGHT, STEADY_INFLIGHT};
use crate::little::littles_inflight;

const LITTLE: &str = "inflight_steady_littles_count";
/// A steady window is at least so many median latencies long.
const MEDIANS: f64 = 5.0;

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    let windows = &record.windows;
    let mean = |window: &Option<Window>| window.map(|window| window.mean_inflight);
    let peak = record.performance.observed_peak_inflight;
    let said = [
        (MEAN_INFLIGHT, mean(&windows.whole), inflight_of("whole", windows.whole.is_some())),
        (STEADY_INFLIGHT, mean(&windows.steady), inflight_of("steady", windows.steady.is_some())),
        (PEAK_INFLIGHT, peak.map(|peak| peak as f64), at("performance.observed_peak_inflight")),
    ];
    for (id, expected, path) in said {
        let Some((index, metric)) = find(record, id) else { continue };
        rules.check(
            "inflight-said-twice",
            same_bits(metric.value, expected),
            [member(index, "value"), path.clone()],
            format_args!(
                "{id} ({}) is what {path} says ({})",
                shown(metric.value),
                shown(expected)
            ),
        );
    }
    for (name, window) in [("whole", windows.whole), ("steady", windows.steady)] {
        if let Some(window) = window {
            check_window(name, &window, peak, rules);
        }
    }
    check_steady(record, rules);
    check_little(record, rules);
}

/// Requests are under way for whole microseconds, and never more than at the peak.
fn check_window(name: &str, window: &Window, peak: Option<u64>, rules: &mut Rules) {
    let mean = window.mean_inflight;
    let Some(length_us) = seconds_of(window).map(|seconds| (seconds * 1e6).round()) else { return };
    let busy_us = (mean * length_us).round();
    let within = |key: &str| at("windows").key(name).key(key);
    rules.check(
        "inflight-is-time-over-time",
        length_us > 0.0
            && same_bits(Some(busy_us / length_us), Some(mean))
            && peak.is_none_or(|peak| mean <= peak as f64),
        ["from_ms", "to_ms", "mean_inflight"]
            .map(within)
            .into_iter()
            .chain([at("performance.observed_peak_inflight")]),
        format_args!(
            "windows.{name}.mean_inflight ({mean:?}) is whole microseconds under way ({busy_us}) \
             over its length ({length_us} us), and at most the peak ({})",
            shown(peak.map(|peak| peak as f64))
        ),
    );
}

fn check_steady(record: &RunRecordV2, rules: &mut Rules) {
    let Some((index, median)) = find(record, "e2e_p50_ms") else { return };
    let Some(seconds) = record.windows.steady.as_ref().and_then(seconds_of) else { return };
    let least_ms = MEDIANS * median.value.unwrap_or(0.0);
    rules.check(
        "steady-window-is-long",
        seconds * 1e3 * (1.0 + 1e-12) >= least_ms,
        ["from_ms", "to_ms"]
            .map(|key| at("windows.steady").key(key))
            .into_iter()
            .chain([member(index, "value")]),
        format_args!(
            "windows.steady is at least five median latencies long ({seconds:?} s, {least_ms:?} ms)"
        ),
    );
}

fn check_little(record: &RunRecordV2, rules: &mut Rules) {
    let Some((index, metric)) = find(record, LITTLE) else { return };
    let Some((rate_index, rate)) = find(record, "request_throughput_steady_per_s") else { return };
    let Some((mean_index, mean)) = find(record, "e2e_steady_mean_ms") else { return };
    let Some(seconds) = record.windows.steady.as_ref().and_then(seconds_of) else { return };
    let expected = littles_inflight(rate.value, mean.value, seconds * 1000.0);
    let samples = if expected.is_some() { mean.samples } else { 0 };
    rules.check(
        "littles-law-follows",
        same_bits(metric.value, expected) && (metric.samples, metric.missing) == (samples, 0),
        [
            member(index, "value"),
            member(index, "samples"),
            member(index, "missing"),
            member(rate_index, "value"),
            member(mean_index, "value"),
            member(mean_index, "samples"),
            at("windows.steady.from_ms"),
            at("windows.steady.to_ms"),
        ],
        format_args!(
            "{LITTLE} ({}) is request_throughput_steady_per_s ({}) times e2e_steady_mean_ms ({}), \
             on a window of more than 20 mean latencies ({seconds:?} s)",
            shown(metric.value),
            shown(rate.value),
            shown(mean.value)
        ),
    );
}

fn inflight_of(window: &str, is_there: bool) -> JsonPath {
    let path = at("windows").key(window);
    if is_there { path.key("mean_inflight") } else { path }
}

fn find<'a>(record: &'a RunRecordV2, id: &str) -> Option<(usize, &'a Metric)> {
    record.metrics.iter().enumerate().find(|(_, metric)| metric.id.as_str() == id)
}

fn member(index: usize, key: &str) -> JsonPath {
    at("metrics").index(index).key(key)
}
