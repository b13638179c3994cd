//! Rules of figures that the run has once: shares of its requests, and rates of what is whole.

use streamgauge_schema::{JsonPath, Metric, RunRecordV2, Tally, WindowName};

use super::figures::BATCH_DURATION;
use super::load::seconds_of;
use super::{Rules, at, same_bits, shown};
use crate::catalogue::{MetricSpec, Population, spec};

/// Token rates that are whole numbers of tokens over a duration, of the whole run and of its steady
/// window; the third of each row is the sum of the others.
const TOKEN_RATES: [[&str; 3]; 2] = [
    ["completion_throughput_tps", "input_throughput_tok_per_s", "total_throughput_tok_per_s"],
    [
        "completion_throughput_steady_tok_per_s",
        "input_throughput_steady_tok_per_s",
        "total_throughput_steady_tok_per_s",
    ],
];
/// Peaks, and the means that they are at least.
const PEAKS: [[&str; 2]; 2] = [
    ["completion_throughput_peak_tok_per_s", "completion_throughput_tps"],
    ["request_throughput_peak_per_s", "request_throughput_per_s"],
];
/// What a server said of itself at its most, and on average.
const SERVER_PEAKS: [[&str; 2]; 2] = [
    ["server_requests_running_peak_count", "server_requests_running_mean_count"],
    ["server_requests_waiting_peak_count", "server_requests_waiting_mean_count"],
];
/// Figures to which every request that was sent belongs.
const OF_ALL_SENT: [&str; 7] = [
    "completion_throughput_tps",
    "completion_throughput_peak_tok_per_s",
    "input_throughput_tok_per_s",
    "request_throughput_peak_per_s",
    "request_throughput_per_s",
    "total_throughput_tok_per_s",
    "inflight_mean_count",
];
/// Those of the steady window, to which every request of it belongs.
const OF_ALL_STEADY: [&str; 4] = [
    "completion_throughput_steady_tok_per_s",
    "input_throughput_steady_tok_per_s",
    "request_throughput_steady_per_s",
    "total_throughput_steady_tok_per_s",
];
/// What stands before the number of responses without usage, in the definition of a rate.
const MISSING: &str = "None: usage is missing for ";
/// Shares of the requests with a finish reason: no request is in two of them.
const FINISHED: [&str; 3] = ["stopped_ratio", "length_limited_ratio", "tool_call_ratio"];
/// Shares of tokens, of the requests that were sent.
const OF_TOKENS: [&str; 2] = ["cached_tokens_ratio", "reasoning_tokens_ratio"];

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    for (index, metric) in record.metrics.iter().enumerate() {
        match spec(metric.id.as_str()) {
            Some(spec) if spec.is_share => check_share(record, (index, metric), spec, rules),
            _ => {}
        }
    }
    check_errors(record, rules);
    check_finished(record, rules);
    check_token_shares(record, rules);
    check_samples(record, rules);
    for row in TOKEN_RATES {
        check_token_rates(record, row, rules);
    }
    for pair in PEAKS {
        check_peak(record, pair, rules);
    }
    for pair in SERVER_PEAKS {
        check_server_peak(record, pair, rules);
    }
}

fn check_share(
    record: &RunRecordV2,
    (index, metric): (usize, &Metric),
    spec: &MetricSpec,
    rules: &mut Rules,
) {
    let of = metric.samples;
    let count = metric.value.map_or(0.0, |share| (share * of as f64).round());
    rules.check(
        "shares-count-requests",
        same_bits(metric.value, (of > 0).then(|| count / of as f64)),
        [member(index, "value"), member(index, "samples")],
        format_args!(
            "{} ({}) is a whole number of requests ({count}) of {of}",
            metric.id,
            shown(metric.value)
        ),
    );
    let expected = rules.known.share(Tally { count: count as u64, of });
    let bounds = |interval: &Option<streamgauge_schema::Interval>| {
        interval
            .as_ref()
            .map(|it| [Some(it.level), it.lower, it.upper].map(|bound| bound.map(f64::to_bits)))
    };
    let within = |key: &str| member(index, "interval").key(key);
    rules.check(
        "share-interval-follows",
        bounds(&metric.interval) == bounds(&expected),
        [member(index, "value"), member(index, "samples")]
            .into_iter()
            .chain(["level", "lower", "upper"].map(within)),
        format_args!("the interval of {} is that of {count} of {of}", metric.id),
    );
    let load = &record.load;
    let ended = load.succeeded.saturating_add(load.failed).saturating_add(load.timed_out);
    let (size, keys): (u64, &[&str]) = match spec.population {
        Population::Ended => (ended, &["succeeded", "failed", "timed_out"]),
        Population::Declared | Population::EveryResponse => (load.offered, &["offered"]),
        Population::Sent => (load.offered.saturating_sub(load.not_sent), &["offered", "not_sent"]),
        Population::Succeeded => (load.succeeded, &["succeeded"]),
        // None of them is a share of requests.
        Population::ServerAnswers => return,
    };
    rules.check(
        "shares-cover-population",
        of.checked_add(metric.missing) == Some(size),
        [member(index, "samples"), member(index, "missing")]
            .into_iter()
            .chain(keys.iter().map(|key| at("load").key(*key))),
        format_args!(
            "samples ({of}) and missing ({}) of {} are its population ({size})",
            metric.missing, metric.id
        ),
    );
}

/// Whether a request succeeded is known of every one.
fn check_errors(record: &RunRecordV2, rules: &mut Rules) {
    let load = &record.load;
    let failed = load.failed.saturating_add(load.timed_out);
    let ended = load.succeeded.saturating_add(failed);
    for (id, expected) in [
        ("error_ratio", Some((failed, ended))),
        ("no_finish_reason_ratio", None),
        ("refusal_ratio", None),
    ] {
        let Some((index, metric)) = find(record, id) else { continue };
        let value = expected.filter(|(_, of)| *of > 0).map(|(count, of)| count as f64 / of as f64);
        rules.check(
            "shares-of-known-ends",
            metric.missing == 0 && (expected.is_none() || same_bits(metric.value, value)),
            [member(index, "value"), member(index, "missing")]
                .into_iter()
                .chain(["failed", "timed_out", "succeeded"].map(|key| at("load").key(key))),
            format_args!(
                "{id} ({}) misses no request ({}); {failed} of {ended} failed or timed out",
                shown(metric.value),
                metric.missing
            ),
        );
    }
}

fn check_finished(record: &RunRecordV2, rules: &mut Rules) {
    let found: Vec<(usize, &Metric)> = FINISHED.iter().filter_map(|id| find(record, id)).collect();
    let sum: f64 = found.iter().filter_map(|(_, metric)| metric.value).sum();
    rules.check(
        "finish-reasons-exclude-each-other",
        sum <= 1.0 + 1e-9
            && found.windows(2).all(|pair| {
                let counts = |metric: &Metric| (metric.samples, metric.missing);
                counts(pair[0].1) == counts(pair[1].1)
            }),
        found
            .iter()
            .flat_map(|(index, _)| ["value", "samples", "missing"].map(|key| member(*index, key))),
        format_args!("shares of finish reasons are of the same requests, and at most 1 ({sum:?})"),
    );
}

fn check_token_shares(record: &RunRecordV2, rules: &mut Rules) {
    let sent = record.load.offered.saturating_sub(record.load.not_sent);
    for (index, metric) in OF_TOKENS.iter().filter_map(|id| find(record, id)) {
        rules.check(
            "token-shares-cover-sent",
            metric.samples.checked_add(metric.missing) == Some(sent)
                && metric.value.is_some() == (metric.samples > 0),
            ["value", "samples", "missing"]
                .map(|key| member(index, key))
                .into_iter()
                .chain([at("load.offered"), at("load.not_sent")]),
            format_args!(
                "samples ({}) and missing ({}) of {} are the requests that were sent ({sent})",
                metric.samples, metric.missing, metric.id
            ),
        );
    }
}

/// Figures of all requests have them all as samples, where they have a value.
fn check_samples(record: &RunRecordV2, rules: &mut Rules) {
    let sent = record.load.offered.saturating_sub(record.load.not_sent);
    let in_window = find(record, "request_throughput_steady_per_s");
    let in_window = in_window.map_or(0, |(_, metric)| metric.samples);
    let whole = OF_ALL_SENT.iter().map(|id| (*id, sent));
    let steady = OF_ALL_STEADY.iter().map(|id| (*id, in_window));
    let others =
        [("inflight_steady_mean_count", sent), ("inflight_peak_count", sent), (BATCH_DURATION, 1)];
    for (id, of) in whole.chain(steady).chain(others) {
        let Some((index, metric)) = find(record, id) else { continue };
        let expected = if metric.value.is_some() { of } else { 0 };
        // What is missing, the definition counts.
        let remark = metric.definition.as_str().rsplit_once(MISSING).map(|(_, count)| count);
        let is_counted = match remark {
            Some(count) => count.starts_with(&format!("{} of ", metric.missing)),
            None => metric.missing == 0,
        };
        rules.check(
            "run-figures-have-all-requests",
            metric.samples == expected && is_counted && of <= sent.max(1),
            ["value", "samples", "missing", "definition"]
                .map(|key| member(index, key))
                .into_iter()
                .chain([at("load.offered"), at("load.not_sent")]),
            format_args!(
                "{id} has the {of} requests of its window as samples ({}), and what it misses ({}) \
                 stands in its definition",
                metric.samples, metric.missing
            ),
        );
    }
}

fn check_token_rates(record: &RunRecordV2, row: [&str; 3], rules: &mut Rules) {
    let found = row.map(|id| find(record, id));
    let Some((_, first)) = found.into_iter().flatten().next() else { return };
    let (seconds, length) = length(record, first.window);
    let Some(seconds) = seconds else { return };
    let tokens = found.map(|found| Some((found?.1.value? * seconds).round()));
    for ((index, metric), tokens) in
        found.into_iter().zip(tokens).filter_map(|(found, tokens)| Some((found?, tokens?)))
    {
        rules.check(
            "token-rates-are-tokens-over-length",
            same_bits(Some(tokens / seconds), metric.value),
            std::iter::once(member(index, "value")).chain(length.clone()),
            format_args!(
                "{} ({}) is a whole number of tokens ({tokens}) over {seconds:?} s",
                metric.id,
                shown(metric.value)
            ),
        );
    }
    let [Some(output), Some(input), Some(total)] = tokens else { return };
    let members = found.into_iter().flatten().map(|(index, _)| member(index, "value"));
    rules.check(
        "total-is-input-and-output",
        output + input == total,
        members.chain(length),
        format_args!("{total} tokens in all are {input} of prompts and {output} of answers"),
    );
}

/// The fullest tile holds a whole number, and not less than the mean.
fn check_peak(record: &RunRecordV2, [peak, mean]: [&str; 2], rules: &mut Rules) {
    let (Some((index, metric)), Some((mean_index, mean))) =
        (find(record, peak), find(record, mean))
    else {
        return;
    };
    let (seconds, length) = length(record, WindowName::Whole);
    let (Some(value), Some(seconds)) = (metric.value, seconds) else { return };
    let tiles = seconds.floor().max(1.0);
    let held = (value * seconds / tiles).round();
    rules.check(
        "peaks-are-of-tiles",
        same_bits(Some(held * tiles / seconds), Some(value))
            && mean.value.is_none_or(|mean| mean <= value),
        [member(index, "value"), member(mean_index, "value")].into_iter().chain(length),
        format_args!(
            "{} ({value:?}) is what one of {tiles} equal tiles holds ({held}) over its length, and \
             not below {} ({})",
            metric.id,
            mean.id,
            shown(mean.value)
        ),
    );
}

/// Both are taken of the same answers.
fn check_server_peak(record: &RunRecordV2, pair: [&str; 2], rules: &mut Rules) {
    let [Some((peak_index, peak)), Some((mean_index, mean))] = pair.map(|id| find(record, id))
    else {
        return;
    };
    rules.check(
        "server-peaks-are-the-most",
        mean.value.is_some() == peak.value.is_some() && mean.value <= peak.value,
        [member(peak_index, "value"), member(mean_index, "value")],
        format_args!(
            "{} ({}) is not above {} ({})",
            mean.id,
            shown(mean.value),
            peak.id,
            shown(peak.value)
        ),
    );
}

/// The length of a window in seconds, and where it stands.
fn length(record: &RunRecordV2, window: WindowName) -> (Option<f64>, Vec<JsonPath>) {
    match window {
        WindowName::Steady => (
            record.windows.steady.as_ref().and_then(seconds_of),
            ["from_ms", "to_ms"].map(|key| at("windows.steady").key(key)).into(),
        ),
        WindowName::Whole => match find(record, BATCH_DURATION) {
            Some((index, metric)) => (metric.value, vec![member(index, "value")]),
            None => (None, Vec::new()),
        },
    }
}

fn find<'a>(record: &'a RunRecordV2, id: &str) -> Option<(usize, &'a Metric)> {
    record.metrics.iter().enumerate().find(|(_, metric)| metric.id.as_str() == id)
}

fn member(index: usize, key: &str) -> JsonPath {
    at("metrics").index(index).key(key)
}
