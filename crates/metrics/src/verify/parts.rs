//! Rules of figures that are taken over a part of the run's time or of its requests: the steady
//! window, and the requests that were good.

use streamgauge_schema::{JsonPath, Metric, RunRecordV2, WindowName};

use super::figures::{BATCH_DURATION, adds_one_a_request};
use super::load::seconds_of;
use super::{Rules, at, same_bits, shown};
use crate::catalogue::{Population, spec};

const RATE: &str = "request_throughput_steady_per_s";
const TOKEN_RATE: &str = "completion_throughput_steady_tok_per_s";
/// Goodput and attainment, of the whole run and of its steady window.
const GOOD: [(&str, &str, WindowName); 2] = [
    ("goodput_req_per_s", "goodput_ratio", WindowName::Whole),
    ("goodput_steady_req_per_s", "goodput_steady_ratio", WindowName::Steady),
];

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    check_windows(record, rules);
    check_population(record, rules);
    check_rates(record, rules);
    for (rate, ratio, window) in GOOD {
        let found = (find(record, rate), find(record, ratio));
        check_together(record, [(rate, found.0), (ratio, found.1)], rules);
        if let (Some(rate), Some(ratio)) = found {
            check_goodput(record, (rate, ratio), window, rules);
        }
    }
}

/// A metric is taken over the window that its name stands for, and the record has that window.
fn check_windows(record: &RunRecordV2, rules: &mut Rules) {
    let has_steady = record.windows.steady.is_some();
    for (index, metric) in record.metrics.iter().enumerate() {
        let expected = spec(metric.id.as_str()).map_or(metric.window, |spec| spec.window);
        let is_there = metric.window == WindowName::Whole || has_steady;
        let window = if has_steady { at("windows.steady.from_ms") } else { at("windows.steady") };
        rules.check(
            "metric-windows-fit",
            metric.window == expected && is_there,
            [member(index, "window"), member(index, "id"), window],
            format_args!(
                "{} is taken over the {expected} window ({}), which is in the record",
                metric.id, metric.window
            ),
        );
    }
}

/// Metrics of the steady window share their requests.
fn check_population(record: &RunRecordV2, rules: &mut Rules) {
    let is_steady = |metric: &Metric| {
        let id = metric.id.as_str();
        let of_succeeded = |spec: &crate::catalogue::MetricSpec| {
            spec.window == WindowName::Steady
                && spec.population == Population::Succeeded
                && spec.statistic.is_some()
        };
        spec(id).is_some_and(of_succeeded) && adds_one_a_request(id)
    };
    let metrics = record.metrics.iter().enumerate().filter(|(_, metric)| is_steady(metric));
    let sizes: Vec<(usize, u64)> = metrics
        .map(|(index, metric)| (index, metric.samples.saturating_add(metric.missing)))
        .collect();
    let Some((_, size)) = sizes.first().copied() else { return };
    let members =
        sizes.iter().flat_map(|(index, _)| ["samples", "missing"].map(|key| member(*index, key)));
    rules.check(
        "steady-requests-agree",
        sizes.iter().all(|(_, other)| *other == size) && size <= record.load.succeeded,
        members.chain([at("load.succeeded")]),
        format_args!(
            "samples and missing of the metrics of the steady window give the same number of \
             succeeded requests ({size}), at most load.succeeded ({})",
            record.load.succeeded
        ),
    );
    let (Some(index), Some(seconds)) = (find(record, RATE), steady_seconds(record)) else { return };
    let recorded = record.metrics[index].value;
    rules.check(
        "steady-throughput-follows",
        same_bits(recorded, Some(size as f64 / seconds)),
        [member(index, "value"), member(sizes[0].0, "samples"), member(sizes[0].0, "missing")]
            .into_iter()
            .chain(steady_members()),
        format_args!(
            "{RATE} ({}) is the succeeded requests of the steady window ({size}) over its length \
             ({seconds:?} s)",
            shown(recorded)
        ),
    );
}

fn check_rates(record: &RunRecordV2, rules: &mut Rules) {
    let Some(seconds) = steady_seconds(record) else { return };
    let Some(index) = find(record, TOKEN_RATE) else { return };
    let Some(rate) = record.metrics[index].value else { return };
    let tokens = (rate * seconds).round();
    rules.check(
        "steady-tokens-over-length",
        same_bits(Some(tokens / seconds), Some(rate)),
        [member(index, "value")].into_iter().chain(steady_members()),
        format_args!(
            "{TOKEN_RATE} ({rate:?}) is a whole number of tokens over the length of the steady \
             window ({tokens} / {seconds:?})"
        ),
    );
}

fn check_together(record: &RunRecordV2, pair: [(&str, Option<usize>); 2], rules: &mut Rules) {
    let found = || pair.iter().filter_map(|(_, index)| *index);
    if found().next().is_none() {
        return;
    }
    let lengths = pair.map(|(_, index)| index.map(|index| record.metrics[index].samples));
    rules.check(
        "goodput-stands-in-pairs",
        found().count() == 2,
        found().map(|index| member(index, "id")),
        format_args!("{} and {} stand together (samples {lengths:?})", pair[0].0, pair[1].0),
    );
}

/// Rate and share are made of the same good requests.
fn check_goodput(
    record: &RunRecordV2,
    (rate, ratio): (usize, usize),
    window: WindowName,
    rules: &mut Rules,
) {
    let load = &record.load;
    let all = load.succeeded.saturating_add(load.failed).saturating_add(load.timed_out);
    let [of_rate, of_ratio] = [rate, ratio].map(|index| &record.metrics[index]);
    let (ended, missing) = (of_ratio.samples, of_ratio.missing);
    let is_all = ended == all || window == WindowName::Steady && ended <= all;
    rules.check(
        "goodput-counts-ended",
        is_all && missing <= load.succeeded,
        [member(ratio, "samples"), member(ratio, "missing")]
            .into_iter()
            .chain(["succeeded", "failed", "timed_out"].map(|key| at("load").key(key))),
        format_args!(
            "samples of {} ({ended}) are the requests that ended by themselves ({all}), and \
             missing ({missing}) are among the succeeded ({})",
            of_ratio.id, load.succeeded
        ),
    );
    let good = of_ratio.value.map_or(0.0, |share| (share * ended as f64).round());
    rules.check(
        "attainment-counts-requests",
        same_bits(of_ratio.value, (ended > 0).then(|| good / ended as f64))
            && good <= load.succeeded.saturating_sub(missing) as f64,
        [member(ratio, "value"), member(ratio, "samples"), member(ratio, "missing")]
            .into_iter()
            .chain([at("load.succeeded")]),
        format_args!(
            "{} ({}) is a whole number of good requests ({good}) of {ended}, and these had every \
             value and succeeded",
            of_ratio.id,
            shown(of_ratio.value)
        ),
    );
    let (seconds, length) = match window {
        WindowName::Steady => (steady_seconds(record), Vec::from(steady_members())),
        WindowName::Whole => {
            let batch = find(record, BATCH_DURATION);
            let seconds = batch.and_then(|index| record.metrics[index].value);
            (seconds, batch.map(|index| member(index, "value")).into_iter().collect())
        }
    };
    let expected = seconds.filter(|_| ended > 0).map(|seconds| good / seconds);
    rules.check(
        "goodput-follows",
        same_bits(of_rate.value, expected) && of_rate.missing == missing,
        [member(rate, "value"), member(rate, "missing"), member(ratio, "value")]
            .into_iter()
            .chain(length),
        format_args!(
            "{} ({}) is the good requests ({good}) over the length of their window ({} s)",
            of_rate.id,
            shown(of_rate.value),
            shown(seconds)
        ),
    );
}

fn steady_seconds(record: &RunRecordV2) -> Option<f64> {
    record.windows.steady.as_ref().and_then(seconds_of).filter(|seconds| *seconds > 0.0)
}

fn steady_members() -> [JsonPath; 2] {
    ["from_ms", "to_ms"].map(|key| at("windows.steady").key(key))
}

fn find(record: &RunRecordV2, id: &str) -> Option<usize> {
    record.metrics.iter().position(|metric| metric.id.as_str() == id)
}

fn member(index: usize, key: &str) -> JsonPath {
    at("metrics").index(index).key(key)
}
