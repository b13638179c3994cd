//! Figures that the record's own cases determine: whatever is made of the durations alone.

use streamgauge_schema::{Case, CaseOutcome, Interval, JsonPath, Millis, RunRecordV2};

use super::load::seconds_of;
use super::{Rules, at, same_bits, shown};
use crate::catalogue::{catalogue, spec};
use crate::interval::interval_of;
use crate::sorted::Sorted;
use crate::whole::{Summary, Whole};

/// A metric of the quantity that is the duration of a succeeded request, and one of that of any.
const E2E: &str = "e2e_p50_ms";
const COMPLETION: &str = "completion_median_ms";

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    let Some(cases) = &record.cases else { return };
    let Some(durations) = durations(cases, |_| true) else { return };
    check_inflight(record, cases, &durations, rules);
    let of_all = durations.iter().copied().collect::<Whole>().summary(1000.0);
    check_latency(record, COMPLETION, (&of_all, cases.len() - durations.len()), rules);
    // Which cases succeeded on the wire, their outcomes say.
    let succeeded = |case: &Case| {
        matches!(case.outcome, CaseOutcome::Fail | CaseOutcome::Pass | CaseOutcome::Unverified)
    };
    let Some(of_succeeded) = self::durations(cases, succeeded) else { return };
    let summary = of_succeeded.iter().copied().collect::<Whole>().summary(1000.0);
    let missing = cases.iter().filter(|case| succeeded(case)).count() - of_succeeded.len();
    check_latency(record, E2E, (&summary, missing), rules);
}

/// Whole microseconds, in the order of the cases; `None` where one is none, which is a fault of its
/// own.
fn durations(cases: &[Case], counts: impl Fn(&Case) -> bool) -> Option<Vec<u64>> {
    let durations = cases.iter().filter(|case| counts(case)).filter_map(|case| case.duration_ms);
    durations.map(Millis::to_micros).collect()
}

/// Every statistic of a quantity, its interval included, is recomputed to the last bit.
fn check_latency(
    record: &RunRecordV2,
    of: &str,
    (summary, missing): (&Summary, usize),
    rules: &mut Rules,
) {
    let Some(family) = spec(of).map(|spec| spec.quantity) else { return };
    let bits = |interval: &Option<Interval>| {
        interval.as_ref().map(|it| [it.lower, it.upper].map(|bound| bound.map(f64::to_bits)))
    };
    for spec in catalogue().iter().filter(|spec| spec.quantity == family) {
        let Some(statistic) = spec.statistic.filter(|_| spec.window.as_str() == "whole") else {
            continue;
        };
        let index = record.metrics.iter().position(|metric| metric.id == spec.id);
        let Some(index) = index else { continue };
        let metric = &record.metrics[index];
        let expected = statistic.of(summary);
        let interval = statistic.quantile().and_then(|q| interval_of(summary, q));
        let samples = summary.count() as u64;
        let member = |key: &str| at("metrics").index(index).key(key);
        let bounds = metric
            .interval
            .iter()
            .flat_map(|_| ["lower", "upper"].map(|key| member("interval").key(key)));
        rules.check(
            "latency-matches-cases",
            same_bits(metric.value, expected)
                && (metric.samples, metric.missing) == (samples, missing as u64)
                && bits(&metric.interval) == bits(&interval),
            ["value", "samples", "missing"]
                .map(member)
                .into_iter()
                .chain(bounds)
                .chain(duration_members(record)),
            format_args!(
                "{} ({}, {} samples, {} missing) is the {} of the durations of its cases ({}, \
                 {samples} samples, {missing} missing), and its interval is theirs",
                spec.id,
                shown(metric.value),
                metric.samples,
                metric.missing,
                statistic.label(),
                shown(expected)
            ),
        );
    }
}

/// All spans lie in the whole window: their sum is the time under way in it.
fn check_inflight(record: &RunRecordV2, cases: &[Case], durations: &[u64], rules: &mut Rules) {
    let Some(whole) = &record.windows.whole else { return };
    let sent = record.load.offered.saturating_sub(record.load.not_sent);
    let is_complete = durations.len() as u64 == sent && cases.len() as u64 == record.load.offered;
    let Some(length_us) = seconds_of(whole).map(|seconds| (seconds * 1e6).round()) else { return };
    if !is_complete || length_us <= 0.0 {
        return;
    }
    let busy_us: u128 = durations.iter().map(|us| u128::from(*us)).sum();
    let expected = busy_us as f64 / length_us;
    rules.check(
        "inflight-matches-cases",
        same_bits(Some(whole.mean_inflight), Some(expected)),
        ["from_ms", "to_ms", "mean_inflight"]
            .map(|key| at("windows.whole").key(key))
            .into_iter()
            .chain([at("load.offered"), at("load.not_sent")])
            .chain(duration_members(record)),
        format_args!(
            "windows.whole.mean_inflight ({:?}) is the sum of the cases' durations ({busy_us} us) \
             over its length ({length_us} us)",
            whole.mean_inflight
        ),
    );
}

fn duration_members(record: &RunRecordV2) -> impl Iterator<Item = JsonPath> {
    let cases = record.cases.as_ref().map_or(0, Vec::len);
    (0..cases).map(|index| at("cases").index(index).key("duration_ms"))
}
