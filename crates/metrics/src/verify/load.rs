//! Rules of version 2's own load: what was offered, what became of it, and its windows.

use streamgauge_schema::{CaseOutcome, FailureStage, Millis, RunRecordV2, RunStatus, Window};

use super::figures::BATCH_DURATION;
use super::{Rules, at, same_bits, shown};
use crate::cached::is_contaminated;
use crate::gate::{Grounds, performance_eligible};

/// The metric that says how much of the prompts came from a cache.
const CACHED_SHARE: &str = "cached_tokens_ratio";

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    check_completions(record, rules);
    check_outcomes(record, rules);
    check_request_throughput(record, rules);
    check_eligibility(record, rules);
    check_windows(record, rules);
}

fn check_completions(record: &RunRecordV2, rules: &mut Rules) {
    let load = &record.load;
    let parts = [
        ("succeeded", load.succeeded),
        ("failed", load.failed),
        ("timed_out", load.timed_out),
        ("cancelled", load.cancelled),
        ("not_sent", load.not_sent),
    ];
    let sum: u128 = parts.iter().map(|(_, count)| u128::from(*count)).sum();
    let part_paths = parts.iter().map(|(key, _)| at("load").key(*key));
    rules.check(
        "offered-is-sum",
        u128::from(load.offered) == sum,
        [at("load.offered")].into_iter().chain(part_paths),
        format_args!(
            "load.offered ({}) equals succeeded + failed + timed_out + cancelled + not_sent \
             ({sum})",
            load.offered
        ),
    );
    rules.equal(
        "offered-was-declared",
        [(load.offered, "load.offered"), (record.counts.declared, "counts.declared")],
    );
    rules.equal(
        "successes-agree",
        [
            (load.succeeded, "load.succeeded"),
            (record.performance.transport_successes, "performance.transport_successes"),
        ],
    );
}

/// What became of requests on the wire and what became of the cases are two vocabularies for the
/// same requests.
fn check_outcomes(record: &RunRecordV2, rules: &mut Rules) {
    use CaseOutcome::{Error, Fail, NotRun, Pass, Timeout, Unverified};
    let load = &record.load;
    let outcomes = &record.counts.outcomes;
    let rows: [(&[&str], u64, &[CaseOutcome]); 4] = [
        (&["succeeded"], load.succeeded, &[Fail, Pass, Unverified]),
        (&["failed"], load.failed, &[Error]),
        (&["timed_out"], load.timed_out, &[Timeout]),
        (&["cancelled", "not_sent"], load.cancelled.saturating_add(load.not_sent), &[NotRun]),
    ];
    for (keys, requests, kinds) in rows {
        let recorded = kinds.iter().filter(|kind| outcomes.contains_key(kind));
        let cases = kinds
            .iter()
            .filter_map(|kind| outcomes.get(kind))
            .fold(0_u64, |sum, count| sum.saturating_add(*count));
        let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        rules.check(
            "completions-match-outcomes",
            requests == cases,
            keys.iter()
                .map(|key| at("load").key(*key))
                .chain(recorded.map(|kind| at("counts.outcomes").key(kind.as_str()))),
            format_args!(
                "requests {} ({requests}) are the cases with outcome {} ({cases})",
                keys.join(" or "),
                words.join(", ")
            ),
        );
    }
}

fn check_request_throughput(record: &RunRecordV2, rules: &mut Rules) {
    let find = |id: &str| record.metrics.iter().position(|metric| metric.id.as_str() == id);
    let (Some(rate), Some(batch)) = (find("request_throughput_per_s"), find(BATCH_DURATION)) else {
        return;
    };
    let succeeded = record.load.succeeded;
    let recorded = record.metrics[rate].value;
    let expected = record.metrics[batch].value.map(|seconds| succeeded as f64 / seconds);
    rules.check(
        "request-throughput-follows",
        same_bits(recorded, expected),
        [
            at("metrics").index(rate).key("value"),
            at("metrics").index(batch).key("value"),
            at("load.succeeded"),
        ],
        format_args!(
            "request_throughput_per_s ({}) is load.succeeded ({succeeded}) over {BATCH_DURATION} \
             ({})",
            shown(recorded),
            shown(expected)
        ),
    );
}

/// A contract that was not met makes a run ineligible, and so do a cache that served a cold cell and
/// an end that came before its time; where the cases do not stand in the record,
/// it does not show whether one was.
fn check_eligibility(record: &RunRecordV2, rules: &mut Rules) {
    let load = &record.load;
    let broken: Vec<usize> = record
        .cases
        .iter()
        .flatten()
        .enumerate()
        .filter(|(_, case)| case.failure_stage == Some(FailureStage::Contract))
        .map(|(index, _)| index)
        .collect();
    let cached = record.metrics.iter().position(|metric| metric.id.as_str() == CACHED_SHARE);
    let cached_ratio = cached.and_then(|index| record.metrics[index].value);
    let grounds = Grounds {
        completed: record.status == RunStatus::Completed,
        contaminated: is_contaminated(&record.performance.cache_state, cached_ratio),
        contracts_met: broken.is_empty(),
    };
    let expected = performance_eligible(load, grounds);
    let fails = record.counts.outcomes.contains_key(&CaseOutcome::Fail);
    let undetermined = record.cases.is_none() && fails && !load.performance_eligible;
    let members = [
        "performance_eligible",
        "offered",
        "succeeded",
        "cancelled",
        "not_sent",
        "max_failure_ratio",
    ]
    .map(|key| at("load").key(key));
    let members = members.into_iter().chain([at("status"), at("performance.cache_state")]);
    let members = members.chain(cached.map(|index| at("metrics").index(index).key("value")));
    let contracts = broken.iter().map(|index| at("cases").index(*index).key("failure_stage"));
    rules.check(
        "eligibility-follows",
        load.performance_eligible == expected || undetermined,
        members.chain(contracts),
        format_args!(
            "load.performance_eligible ({}) follows from status {}, {} of {} succeeded, at most \
             {:?} allowed not to, {} cancelled, {} not sent, {} contracts not met, and a cached \
             share of {} with cache state {}",
            load.performance_eligible,
            record.status,
            load.succeeded,
            load.offered,
            load.max_failure_ratio,
            load.cancelled,
            load.not_sent,
            broken.len(),
            shown(cached_ratio),
            record.performance.cache_state
        ),
    );
    rules.check(
        "failure-ratio-in-range",
        (0.0..=1.0).contains(&load.max_failure_ratio),
        [at("load.max_failure_ratio")],
        format_args!("load.max_failure_ratio ({:?}) is from 0 to 1", load.max_failure_ratio),
    );
}

fn check_windows(record: &RunRecordV2, rules: &mut Rules) {
    let windows = &record.windows;
    for (name, window) in [("whole", &windows.whole), ("steady", &windows.steady)] {
        if let Some(window) = window {
            check_window(name, window, rules);
        }
    }
    let length = windows.whole.map(|whole| seconds_of(&whole));
    if let Some(index) =
        record.metrics.iter().position(|metric| metric.id.as_str() == BATCH_DURATION)
    {
        let duration = record.metrics[index].value;
        rules.check(
            "batch-is-whole-window",
            same_bits(duration, length.flatten()),
            [
                at("windows.whole.from_ms"),
                at("windows.whole.to_ms"),
                at("metrics").index(index).key("value"),
            ],
            format_args!(
                "{BATCH_DURATION} ({}) is the length of windows.whole ({})",
                shown(duration),
                shown(length.flatten())
            ),
        );
    }
    if let Some(steady) = &windows.steady {
        let inside = windows
            .whole
            .is_some_and(|whole| whole.from_ms <= steady.from_ms && steady.to_ms <= whole.to_ms);
        rules.check(
            "steady-window-inside",
            inside,
            [
                at("windows.whole.from_ms"),
                at("windows.whole.to_ms"),
                at("windows.steady.from_ms"),
                at("windows.steady.to_ms"),
            ],
            "windows.steady lies within windows.whole".to_owned(),
        );
    }
}

fn check_window(name: &str, window: &Window, rules: &mut Rules) {
    let within = |key: &str| at("windows").key(name).key(key);
    let (from, to) = (window.from_ms, window.to_ms);
    rules.check(
        "windows-run-forward",
        from <= to,
        [within("from_ms"), within("to_ms")],
        format_args!(
            "windows.{name} does not end ({:?}) before it begins ({:?})",
            to.value(),
            from.value()
        ),
    );
    for (key, bound) in [("from_ms", from), ("to_ms", to)] {
        rules.check(
            "windows-are-whole-microseconds",
            bound.to_micros().is_some(),
            [within(key)],
            format_args!(
                "windows.{name}.{key} ({:?}) is a whole number of microseconds",
                bound.value()
            ),
        );
    }
    rules.check(
        "inflight-in-range",
        (0.0..=f64::MAX).contains(&window.mean_inflight),
        [within("mean_inflight")],
        format_args!(
            "windows.{name}.mean_inflight ({:?}) is finite and not negative",
            window.mean_inflight
        ),
    );
}

/// The length of a window in seconds, by way of whole microseconds.
pub(super) fn seconds_of(window: &Window) -> Option<f64> {
    let [from, to] = [window.from_ms, window.to_ms].map(Millis::to_micros);
    Some(to?.checked_sub(from?)? as f64 / 1e6)
}
