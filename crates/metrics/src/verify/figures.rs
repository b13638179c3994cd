//! Rules of metrics: figures that the cases determine are recomputed to the last bit, the others
//! are held to what their name and unit promise.

use std::collections::BTreeMap;

use streamgauge_schema::{
    Case, JsonPath, Metric, MetricV1, Millis, RunRecord, RunRecordV2, Unit, WindowName,
};

use super::{Rules, at, same_bits, shown};
use crate::catalogue::{MetricSpec, Population, spec};
use crate::quantile::{median, quantile};
use crate::statistic::Statistic;

pub(super) const BATCH_DURATION: &str = "batch_duration_seconds";
const THROUGHPUT: &str = "completion_throughput_tps";

/// Beginning of the names of metrics of the run that are taken from all its gaps.
const OF_ALL_GAPS: &str = "stream_chunk_interval_";

pub(super) fn check(record: &RunRecord, rules: &mut Rules) {
    let metrics = Metrics(record.metrics());
    let ids = metrics
        .0
        .iter()
        .enumerate()
        .map(|(index, metric)| (metric.id.to_string(), member(index, "id")));
    rules.distinct("metric-ids-differ", "metric ids", ids.collect());
    for (index, metric) in metrics.0.iter().enumerate() {
        check_value(index, metric, rules);
        check_samples(index, metric, record.counts().declared, rules);
    }
    check_families(&metrics, rules);
    check_extremes(&metrics, rules);
    if let Some(cases) = record.cases() {
        check_completion(&metrics, cases, rules);
    }
    if let Some(duration) = metrics.find(BATCH_DURATION) {
        check_batch(record, duration, rules);
        if let Some(throughput) = metrics.find(THROUGHPUT) {
            check_throughput(throughput, duration, rules);
        }
    }
    if let RunRecord::V2(record) = record {
        for (index, metric) in record.metrics.iter().enumerate() {
            check_spec(index, metric, rules);
            check_interval(index, metric, rules);
            check_population(index, metric, record, rules);
        }
    }
}

/// The record's metrics, to be found by name.
struct Metrics(Vec<MetricV1>);

impl Metrics {
    fn find(&self, id: &str) -> Option<(usize, &MetricV1)> {
        self.0.iter().enumerate().find(|(_, metric)| metric.id.as_str() == id)
    }
}

fn check_value(index: usize, metric: &MetricV1, rules: &mut Rules) {
    let Some(value) = metric.value else { return };
    let most = if metric.unit == Unit::Ratio { 1.0 } else { f64::MAX };
    let range = if metric.unit == Unit::Ratio { "from 0 to 1" } else { "finite and not negative" };
    rules.check(
        "values-in-range",
        (0.0..=most).contains(&value),
        [member(index, "value"), member(index, "unit")],
        format_args!("{} ({value:?} {}) is {range}", metric.id, metric.unit),
    );
}

fn check_samples(index: usize, metric: &MetricV1, declared: u64, rules: &mut Rules) {
    let (id, samples) = (metric.id.as_str(), metric.samples);
    let members = || [member(index, "value"), member(index, "samples")];
    let seen = format!("value {}, samples {samples}", shown(metric.value));
    let statistic = spec(id).and_then(|spec| spec.statistic);
    if statistic.is_some_and(|statistic| statistic != Statistic::StandardDeviation) {
        rules.check(
            "value-where-samples",
            metric.value.is_some() == (samples > 0),
            members(),
            format_args!("{id} has a value exactly where samples entered ({seen})"),
        );
    } else {
        rules.check(
            "no-value-without-samples",
            metric.value.is_none() || samples > 0,
            members(),
            format_args!("{id} has no value where no sample entered ({seen})"),
        );
    }
    if adds_one_a_request(id) {
        rules.check(
            "samples-were-declared",
            samples <= declared,
            [member(index, "samples"), at("counts.declared")],
            format_args!(
                "{id} has at most one sample a declared request ({samples} of {declared})"
            ),
        );
    }
    if id == BATCH_DURATION {
        rules.check(
            "one-batch-duration",
            samples <= 1,
            [member(index, "samples")],
            format_args!("{id} is taken from one run (samples {samples})"),
        );
    }
}

/// Whether a metric is known to have at most one value a request.
pub(super) fn adds_one_a_request(id: &str) -> bool {
    let of_requests =
        |spec: &MetricSpec| !spec.is_pooled && spec.population != Population::ServerAnswers;
    spec(id).is_some_and(of_requests) && !id.starts_with(OF_ALL_GAPS)
}

/// The rank, in percent, that a word of a metric's name stands for.
fn percent(word: &str) -> Option<u8> {
    match word {
        "median" => Some(50),
        _ => word.strip_prefix('p').filter(|digits| digits.len() == 2)?.parse().ok(),
    }
}

/// Quantiles of the same samples rise with their rank: of metrics that the catalogue does not know, and
/// of the golden ones. The others have rules of their own.
fn check_families(metrics: &Metrics, rules: &mut Rules) {
    let mut families: BTreeMap<Vec<&str>, Vec<(u8, usize)>> = BTreeMap::new();
    for (index, metric) in metrics.0.iter().enumerate() {
        if spec(metric.id.as_str()).is_some_and(|spec| !spec.in_version_1) {
            continue;
        }
        let words = || metric.id.as_str().split('_');
        if let Some(rank) = words().find_map(percent) {
            let family = words().filter(|word| percent(word).is_none()).collect();
            families.entry(family).or_default().push((rank, index));
        }
    }
    for mut family in families.into_values() {
        family.sort_unstable();
        for pair in family.windows(2) {
            let [(_, lower), (_, upper)] = [pair[0], pair[1]];
            let (low, high) = (&metrics.0[lower], &metrics.0[upper]);
            rules.check(
                "quantiles-share-samples",
                low.samples == high.samples,
                [member(lower, "samples"), member(upper, "samples")],
                format_args!(
                    "{} ({} samples) and {} ({} samples) are taken from the same samples",
                    low.id, low.samples, high.id, high.samples
                ),
            );
            if let (Some(below), Some(above)) = (low.value, high.value) {
                rules.check(
                    "quantiles-rise",
                    below <= above,
                    [member(lower, "value"), member(upper, "value")],
                    format_args!("{} ({below:?}) is at most {} ({above:?})", low.id, high.id),
                );
            }
        }
    }
}

/// The extremes of the gaps enclose their median, and are taken of the same gaps.
fn check_extremes(metrics: &Metrics, rules: &mut Rules) {
    let gaps =
        ["min", "median", "max"].map(|it| metrics.find(&format!("stream_chunk_interval_{it}_ms")));
    let [Some((least, _)), _, Some((greatest, _))] = gaps else { return };
    // Where single gaps were not kept the median has no value.
    let known = gaps.into_iter().flatten().filter(|(_, gap)| gap.value.is_some());
    let (places, gaps): (Vec<usize>, Vec<&MetricV1>) = known.unzip();
    let values: Vec<f64> = gaps.iter().filter_map(|gap| gap.value).collect();
    let has_both = metrics.0[least].value.is_some() == metrics.0[greatest].value.is_some();
    rules.check(
        "gaps-in-order",
        has_both
            && values.is_sorted()
            && gaps.windows(2).all(|pair| pair[0].samples == pair[1].samples),
        [member(least, "value"), member(greatest, "value")]
            .into_iter()
            .chain(places.iter().map(|index| member(*index, "value")))
            .chain(places.iter().map(|index| member(*index, "samples"))),
        format_args!("least, median and greatest stream chunk interval rise ({values:?} ms)"),
    );
}

/// The metrics of request completion are functions of the cases' durations.
fn check_completion(metrics: &Metrics, cases: &[Case], rules: &mut Rules) {
    let durations: Vec<f64> =
        cases.iter().filter_map(|case| case.duration_ms.map(Millis::value)).collect();
    let duration_members: Vec<JsonPath> =
        (0..cases.len()).map(|index| at("cases").index(index).key("duration_ms")).collect();
    let determined = [
        ("completion_median_ms", "median", median(&durations)),
        ("completion_p95_ms", "type 7 p95", quantile(&durations, 0.95)),
    ];
    for (id, statistic, expected) in determined {
        let Some((index, metric)) = metrics.find(id) else { continue };
        rules.check(
            "completion-matches-cases",
            same_bits(metric.value, expected),
            [member(index, "value")].into_iter().chain(duration_members.iter().cloned()),
            format_args!(
                "{id} ({}) is the {statistic} of the cases' durations ({})",
                shown(metric.value),
                shown(expected)
            ),
        );
        rules.check(
            "completion-samples-match-cases",
            metric.samples == durations.len() as u64,
            [member(index, "samples")].into_iter().chain(duration_members.iter().cloned()),
            format_args!(
                "samples of {id} ({}) are the cases with a duration ({})",
                metric.samples,
                durations.len()
            ),
        );
    }
    if let Some((index, Some(seconds))) =
        metrics.find(BATCH_DURATION).map(|(index, metric)| (index, metric.value))
    {
        let longest = durations.iter().copied().fold(0.0, f64::max);
        rules.check(
            "cases-fit-into-batch",
            // In whole microseconds, which is what both are made of.
            (longest * 1e3).round() <= (seconds * 1e6).round(),
            [member(index, "value")].into_iter().chain(duration_members),
            format_args!(
                "no case ({longest:?} ms) is longer than {BATCH_DURATION} ({seconds:?} s)"
            ),
        );
    }
}

/// The wall clock labels at least the time that the monotonic clock measured.
fn check_batch(record: &RunRecord, (index, duration): (usize, &MetricV1), rules: &mut Rules) {
    let Some(seconds) = duration.value else { return };
    let micros = record.completed_at().unix_micros() - record.started_at().unix_micros();
    let span = micros as f64 / 1e6;
    rules.check(
        "times-span-batch",
        span >= seconds,
        [at("started_at"), at("completed_at"), member(index, "value")],
        format_args!(
            "completed_at − started_at ({span:?} s) is at least {BATCH_DURATION} ({seconds:?} s)"
        ),
    );
}

/// A throughput is a whole number of tokens over the batch duration.
fn check_throughput(
    (index, throughput): (usize, &MetricV1),
    (duration_index, duration): (usize, &MetricV1),
    rules: &mut Rules,
) {
    let (Some(rate), Some(seconds)) = (throughput.value, duration.value) else { return };
    let tokens = (rate * seconds).round();
    rules.check(
        "throughput-is-tokens-over-duration",
        same_bits(Some(tokens / seconds), Some(rate)),
        [member(index, "value"), member(duration_index, "value")],
        format_args!(
            "{THROUGHPUT} ({rate:?}) is a whole number of tokens over {BATCH_DURATION} \
             ({tokens} / {seconds:?} = {:?})",
            tokens / seconds
        ),
    );
}

/// What an id stands for never changes; its words may.
fn check_spec(index: usize, metric: &Metric, rules: &mut Rules) {
    let Some(spec) = spec(metric.id.as_str()) else { return };
    rules.check(
        "metrics-as-catalogued",
        (metric.unit, metric.direction, metric.token_source)
            == (spec.unit, spec.direction, spec.token_source),
        ["unit", "direction", "token_source"].map(|key| member(index, key)),
        format_args!(
            "{} is in {}, its direction is {} and its token source {}",
            metric.id,
            spec.unit,
            spec.direction,
            spec.token_source.map_or("null", |source| source.as_str())
        ),
    );
}

fn check_interval(index: usize, metric: &Metric, rules: &mut Rules) {
    let Some(interval) = &metric.interval else { return };
    let within = |key: &str| member(index, "interval").key(key);
    rules.check(
        "interval-level-in-range",
        interval.level > 0.0 && interval.level < 1.0,
        [within("level")],
        format_args!(
            "the interval's level ({:?}) of {} lies between 0 and 1",
            interval.level, metric.id
        ),
    );
    let bounds = [interval.lower, metric.value, interval.upper];
    let known: Vec<f64> = bounds.into_iter().flatten().collect();
    rules.check(
        "interval-holds-value",
        metric.value.is_some() && known.is_sorted(),
        [within("lower"), member(index, "value"), within("upper")],
        format_args!(
            "the interval of {} holds its value ({} ≤ {} ≤ {})",
            metric.id,
            shown(interval.lower),
            shown(metric.value),
            shown(interval.upper)
        ),
    );
}

/// Every request of the population has a value or is missing.
fn check_population(index: usize, metric: &Metric, record: &RunRecordV2, rules: &mut Rules) {
    let id = metric.id.as_str();
    let load = &record.load;
    let (size, path) = match spec(id) {
        Some(MetricSpec { statistic: Some(_), window: WindowName::Whole, population, .. }) => {
            match population {
                Population::Ended | Population::ServerAnswers => return,
                Population::Declared | Population::EveryResponse => (load.offered, "load.offered"),
                Population::Sent => (load.offered.saturating_sub(load.not_sent), "load.not_sent"),
                Population::Succeeded => (load.succeeded, "load.succeeded"),
            }
        }
        _ => return,
    };
    let (samples, missing) = (metric.samples, metric.missing);
    let holds = if adds_one_a_request(id) {
        samples.checked_add(missing) == Some(size)
    } else {
        missing <= size
    };
    rules.check(
        "population-is-covered",
        holds,
        [member(index, "samples"), member(index, "missing"), at(path)],
        format_args!(
            "samples ({samples}) and missing ({missing}) of {id} account for its population, the \
             {size} requests by {path}"
        ),
    );
}

fn member(index: usize, key: &str) -> JsonPath {
    at("metrics").index(index).key(key)
}
