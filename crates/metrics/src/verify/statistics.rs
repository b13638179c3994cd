//! Rules of the statistics of one quantity: they are taken from the same samples, so that none can be
//! just anything beside the others.

use std::collections::BTreeMap;

use streamgauge_schema::{JsonPath, Metric, RunRecordV2, Unit, WindowName};

use super::{Rules, at, same_bits, shown};
use crate::catalogue::{MetricSpec, spec};
use crate::interval;
use crate::statistic::Statistic;

/// Room for the rounding of sums.
const ROUNDING: f64 = 1e-9;

/// One metric of a quantity, where it stands in the record.
#[derive(Clone, Copy)]
struct Placed<'a> {
    index: usize,
    metric: &'a Metric,
    spec: &'static MetricSpec,
    statistic: Statistic,
}

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    let mut quantities: BTreeMap<(&str, bool), Vec<Placed<'_>>> = BTreeMap::new();
    for (index, metric) in record.metrics.iter().enumerate() {
        let Some(spec) = spec(metric.id.as_str()) else { continue };
        let Some(statistic) = spec.statistic else { continue };
        let key = (spec.quantity, spec.window == WindowName::Steady);
        quantities.entry(key).or_default().push(Placed { index, metric, spec, statistic });
    }
    for placed in quantities.values() {
        for one in placed {
            check_interval(one, placed, rules);
            check_whole(one, rules);
        }
        check_samples(placed, rules);
        check_order(placed, rules);
        check_spread(placed, rules);
    }
}

/// Where single gaps were not kept, only their mean has samples.
fn check_samples(all: &[Placed<'_>], rules: &mut Rules) {
    let is_summed_up = |one: &&Placed<'_>| {
        one.spec.is_pooled && one.statistic == Statistic::Mean && all[0].metric.samples == 0
    };
    let same: Vec<&Placed<'_>> = all.iter().filter(|one| !is_summed_up(one)).collect();
    let counts = |one: &Placed<'_>| (one.metric.samples, one.metric.missing);
    let first = counts(same[0]);
    rules.check(
        "statistics-share-samples",
        same.iter().all(|one| counts(one) == first),
        same.iter().flat_map(|one| ["samples", "missing"].map(|key| member(one, key))),
        format_args!(
            "the statistics of {} are taken from the same samples ({} samples, {} missing)",
            all[0].spec.quantity, first.0, first.1
        ),
    );
}

/// Extremes enclose quantiles, which rise, and the mean.
fn check_order(all: &[Placed<'_>], rules: &mut Rules) {
    use Statistic::{Max, Mean, Min, P50, P90, P95, P99};
    let value = |statistic| {
        let one = all.iter().find(|one| one.statistic == statistic)?;
        Some((one, one.metric.value?))
    };
    for row in [&[Min, P50, P90, P95, P99, Max][..], &[Min, Mean, Max]] {
        let known: Vec<_> = row.iter().filter_map(|statistic| value(*statistic)).collect();
        for pair in known.windows(2) {
            let [(lower, low), (upper, high)] = [pair[0], pair[1]];
            rules.check(
                "statistics-rise",
                low <= high,
                [member(lower, "value"), member(upper, "value")],
                format_args!(
                    "{} ({low:?}) is at most {} ({high:?})",
                    lower.metric.id, upper.metric.id
                ),
            );
        }
    }
}

/// The squared distances from the mean add up to at least those of the extremes, and to at most what
/// they would be with every sample at one of the extremes.
fn check_spread(all: &[Placed<'_>], rules: &mut Rules) {
    let find = |statistic| all.iter().find(|one| one.statistic == statistic);
    let wanted = [Statistic::Min, Statistic::Mean, Statistic::Max, Statistic::StandardDeviation];
    let [Some(min), Some(mean), Some(max), Some(spread)] = wanted.map(find) else { return };
    let n = spread.metric.samples;
    rules.check(
        "spread-where-two-samples",
        spread.metric.value.is_some() == (n > 1),
        [member(spread, "value"), member(spread, "samples")],
        format_args!(
            "{} ({}) has a value exactly where two samples entered ({n})",
            spread.metric.id,
            shown(spread.metric.value)
        ),
    );
    let values = [min, mean, max, spread].map(|one| one.metric.value);
    let [Some(low), Some(middle), Some(high), Some(stddev)] = values else { return };
    let squares = stddev * stddev * n.saturating_sub(1) as f64;
    let [below, above] = [middle - low, high - middle];
    let (least, most) = (below * below + above * above, n as f64 * below * above);
    // Sums of squares lose digits where the spread is small beside the values.
    let room = ROUNDING * (high * high * n as f64).max(least);
    rules.check(
        "spread-fits-extremes",
        least <= squares * (1.0 + ROUNDING) + room && squares <= most * (1.0 + ROUNDING) + room,
        [min, mean, max, spread].map(|one| member(one, "value")),
        format_args!(
            "{} ({stddev:?}) is possible for {n} samples from {low:?} to {high:?} with a mean of \
             {middle:?}",
            spread.metric.id
        ),
    );
}

/// Extremes, and the bounds of intervals, are samples, and the sum of whole numbers is one.
fn check_whole(one: &Placed<'_>, rules: &mut Rules) {
    let (metric, divisor) = (one.metric, divisor(one.spec));
    let Some(value) = metric.value.filter(|_| one.spec.is_whole) else { return };
    let is_sample = |value: f64| same_bits(Some((value * divisor).round() / divisor), Some(value));
    let n = metric.samples as f64;
    let holds = match one.statistic {
        Statistic::Max | Statistic::Min => is_sample(value),
        // However the sum was rounded on its way.
        Statistic::Mean => {
            let exact = (value * divisor * n).round() / n / divisor;
            (exact - value).abs() <= value * f64::EPSILON * 16.0
        }
        // The median of an even number lies half between two.
        Statistic::P50 => {
            is_sample(value)
                || metric.samples % 2 == 0 && {
                    let twice = (value * divisor * 2.0).round();
                    (twice / 2.0 / divisor - value).abs() <= value * f64::EPSILON * 2.0
                }
        }
        _ => true,
    };
    rules.check(
        "statistics-of-whole-numbers",
        holds,
        [member(one, "value"), member(one, "samples")],
        format_args!(
            "{} ({value:?}) is possible for {} whole numbers of {}",
            metric.id,
            metric.samples,
            if divisor == 1.0 { "tokens" } else { "microseconds" }
        ),
    );
    if let Some(interval) = &metric.interval {
        for (key, bound) in [("lower", interval.lower), ("upper", interval.upper)] {
            let Some(bound) = bound else { continue };
            rules.check(
                "bounds-are-samples",
                is_sample(bound),
                [member(one, "interval").key(key)],
                format_args!("the {key} bound ({bound:?}) of {} is a whole number", metric.id),
            );
        }
    }
}

/// Which of the samples bound an interval follows from their number alone.
fn check_interval(one: &Placed<'_>, all: &[Placed<'_>], rules: &mut Rules) {
    let metric = one.metric;
    let places = rules.known.bounds(metric.samples, one.statistic);
    let within = |key: &str| member(one, "interval").key(key);
    rules.check(
        "interval-beside-quantile",
        metric.interval.is_some() == places.is_some(),
        [member(one, "samples")],
        format_args!(
            "{} has an interval where it is a quantile and has samples ({})",
            metric.id, metric.samples
        ),
    );
    let Some((interval, (lower, upper))) = metric.interval.as_ref().zip(places) else { return };
    rules.check(
        "interval-is-of-order-statistics",
        same_bits(Some(interval.level), Some(interval::LEVEL))
            && interval.method.as_str() == interval::METHOD,
        [within("level"), within("method")],
        format_args!(
            "the interval of {} is of level {:?} by {} ({:?} by {})",
            metric.id,
            interval::LEVEL,
            interval::METHOD,
            interval.level,
            interval.method
        ),
    );
    let extreme = |statistic, is_extreme: bool| {
        let found = all.iter().find(|one| one.statistic == statistic).filter(|_| is_extreme)?;
        Some((found, found.metric.value?))
    };
    let last = metric.samples.saturating_sub(1);
    let bounds = [
        ("lower", interval.lower, lower, extreme(Statistic::Min, lower == Some(0))),
        (
            "upper",
            interval.upper,
            upper,
            extreme(Statistic::Max, upper.map(|place| place as u64) == Some(last)),
        ),
    ];
    for (key, bound, place, extreme) in bounds {
        let is_extreme = extreme.is_none_or(|(_, value)| same_bits(bound, Some(value)));
        let members = [within(key), member(one, "samples")];
        rules.check(
            "bounds-by-rank",
            bound.is_some() == place.is_some() && is_extreme,
            members.into_iter().chain(extreme.map(|(one, _)| member(one, "value"))),
            format_args!(
                "the {key} bound ({}) of {} is that of {} samples",
                shown(bound),
                metric.id,
                metric.samples
            ),
        );
    }
    check_inside(one, all, rules);
}

/// Bounds are samples, and so within the extremes.
fn check_inside(one: &Placed<'_>, all: &[Placed<'_>], rules: &mut Rules) {
    let Some(interval) = &one.metric.interval else { return };
    let find = |statistic| all.iter().find(|one| one.statistic == statistic);
    let row = [
        find(Statistic::Min).map(|one| (member(one, "value"), one.metric.value)),
        Some((member(one, "interval").key("lower"), interval.lower)),
        Some((member(one, "interval").key("upper"), interval.upper)),
        find(Statistic::Max).map(|one| (member(one, "value"), one.metric.value)),
    ];
    let known: Vec<(JsonPath, f64)> =
        row.into_iter().flatten().filter_map(|(path, value)| Some((path, value?))).collect();
    rules.check(
        "bounds-within-extremes",
        known.is_sorted_by(|one, next| one.1 <= next.1),
        known.iter().map(|(path, _)| path.clone()),
        format_args!("the bounds of {} lie within the extremes", one.metric.id),
    );
}

/// What samples are divided by to give the metric's unit.
fn divisor(spec: &MetricSpec) -> f64 {
    if spec.unit == Unit::Milliseconds { 1000.0 } else { 1.0 }
}

fn member(one: &Placed<'_>, key: &str) -> JsonPath {
    at("metrics").index(one.index).key(key)
}
