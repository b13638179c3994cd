//! Rules of the reports of several addresses: they share the requests of the run, and its tokens.

use streamgauge_schema::{
    Case, CaseOutcome, JsonPath, Millis, Replica, ReplicaReport, ReplicaTurns, RunRecordV2, Spread,
};

use super::figures::BATCH_DURATION;
use super::instrument::check_spread;
use super::{Rules, at, same_bits, shown};
use crate::statistic::Statistic;
use crate::whole::Whole;

/// What stands before the number in a case's id.
const CASE: &str = "request-";
/// Counts that addresses share; the first is the sum of the others.
const COUNTS: [&str; 6] = ["offered", "succeeded", "failed", "timed_out", "cancelled", "not_sent"];
/// Outcomes of requests that succeeded on the wire.
const SUCCEEDED: &[CaseOutcome] = &[CaseOutcome::Fail, CaseOutcome::Pass, CaseOutcome::Unverified];

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    if record.replicas.is_empty() {
        return;
    }
    check_names(record, rules);
    check_weights(record, rules);
    check_sums(record, rules);
    check_tokens(record, rules);
    for (key, metric) in [("ttft_ms", "ttft_max_ms"), ("e2e_ms", "e2e_max_ms")] {
        check_greatest(record, key, metric, rules);
    }
    check_cases(record, rules);
}

fn member(place: usize, key: &str) -> JsonPath {
    at("replicas").index(place).key(key)
}

fn each<'a>(record: &'a RunRecordV2, key: &'a str) -> impl Iterator<Item = JsonPath> + 'a {
    (0..record.replicas.len()).map(move |place| member(place, key))
}

fn check_names(record: &RunRecordV2, rules: &mut Rules) {
    for (place, replica) in record.replicas.iter().enumerate() {
        let expected = Replica::name(place);
        rules.check(
            "replicas-named-in-order",
            replica.name == expected,
            [member(place, "name")],
            format_args!("replicas[{place}].name ({}) is {expected}", replica.name),
        );
    }
}

fn check_weights(record: &RunRecordV2, rules: &mut Rules) {
    let count = record.replicas.len();
    rules.check(
        "replica-weights-make-a-round",
        count > 1 && turns(record).is_some(),
        each(record, "weight"),
        format_args!(
            "the replicas are several ({count}), and their weights are from 1 and come to at most {}",
            ReplicaTurns::MOST
        ),
    );
}

/// Those of an address.
fn counts(replica: &ReplicaReport) -> [u64; 6] {
    let ReplicaReport { offered, succeeded, failed, timed_out, cancelled, not_sent, .. } = *replica;
    [offered, succeeded, failed, timed_out, cancelled, not_sent]
}

fn turns(record: &RunRecordV2) -> Option<ReplicaTurns> {
    let weights: Vec<u64> = record.replicas.iter().map(|replica| replica.weight).collect();
    ReplicaTurns::new(&weights)
}

fn check_sums(record: &RunRecordV2, rules: &mut Rules) {
    let load = &record.load;
    let of_load =
        [load.offered, load.succeeded, load.failed, load.timed_out, load.cancelled, load.not_sent];
    for (row, (key, whole)) in COUNTS.into_iter().zip(of_load).enumerate() {
        let sum: u128 = record.replicas.iter().map(|it| u128::from(counts(it)[row])).sum();
        rules.check(
            "replicas-share-the-load",
            sum == u128::from(whole),
            each(record, key).chain([at("load").key(key)]),
            format_args!("replicas[].{key} come to {sum}, and load.{key} is {whole}"),
        );
    }
    for (place, replica) in record.replicas.iter().enumerate() {
        let sum: u128 = counts(replica)[1..].iter().map(|count| u128::from(*count)).sum();
        rules.check(
            "replica-offered-is-sum",
            sum == u128::from(replica.offered),
            COUNTS.map(|key| member(place, key)),
            format_args!(
                "replicas[{place}].offered ({}) is the sum of what became of its requests ({sum})",
                replica.offered
            ),
        );
    }
}

/// Rates are whole numbers of tokens over the duration of the whole batch, and come to its own.
fn check_tokens(record: &RunRecordV2, rules: &mut Rules) {
    let find = |id: &str| record.metrics.iter().position(|metric| metric.id.as_str() == id);
    let (Some(whole), Some(batch)) = (find("completion_throughput_tps"), find(BATCH_DURATION))
    else {
        return;
    };
    let [whole_value, seconds] = [whole, batch].map(|index| record.metrics[index].value);
    let tokens = |rate: f64| (rate * seconds.unwrap_or_default()).round();
    let value = |index: usize| at("metrics").index(index).key("value");
    for (place, replica) in record.replicas.iter().enumerate() {
        let Some(rate) = replica.completion_tok_per_s else { continue };
        let expected = seconds.map(|seconds| tokens(rate) / seconds);
        rules.check(
            "replica-rates-count-tokens",
            rate >= 0.0 && same_bits(Some(rate), expected),
            [member(place, "completion_tok_per_s"), value(batch)],
            format_args!(
                "replicas[{place}].completion_tok_per_s ({rate:?}) is a whole number of tokens over \
                 {BATCH_DURATION} ({})",
                shown(seconds)
            ),
        );
    }
    // One to which nothing was sent has no rate, and no tokens.
    let was_sent = |it: &&ReplicaReport| it.offered > it.not_sent;
    let rates = record.replicas.iter().filter(was_sent).map(|it| it.completion_tok_per_s);
    let sum = rates.map(|rate| rate.map(tokens)).sum::<Option<f64>>();
    let expected = whole_value.map(tokens);
    rules.check(
        "replicas-share-the-tokens",
        same_bits(sum, expected) || seconds.is_none(),
        each(record, "completion_tok_per_s").chain([value(whole), value(batch)]),
        format_args!(
            "the tokens of the replicas ({}) are those of the run ({})",
            shown(sum),
            shown(expected)
        ),
    );
}

/// The slowest of all is the slowest of some address.
fn check_greatest(record: &RunRecordV2, key: &str, metric: &str, rules: &mut Rules) {
    let mut greatest = None::<f64>;
    for (place, replica) in record.replicas.iter().enumerate() {
        let Some(spread) = spread_of(replica, key) else { continue };
        check_spread(member(place, key), &spread, 0.0, rules);
        greatest = Some(greatest.map_or(spread.max, |known| known.max(spread.max)));
    }
    let Some(index) = record.metrics.iter().position(|it| it.id.as_str() == metric) else { return };
    let value = record.metrics[index].value;
    let maxima = record.replicas.iter().enumerate().map(|(place, replica)| {
        let path = member(place, key);
        if spread_of(replica, key).is_some() { path.key("max") } else { path }
    });
    rules.check(
        "replicas-hold-the-slowest",
        same_bits(greatest, value),
        maxima.chain([at("metrics").index(index).key("value")]),
        format_args!(
            "the greatest {key} of a replica ({}) is {metric} ({})",
            shown(greatest),
            shown(value)
        ),
    );
}

fn spread_of(replica: &ReplicaReport, key: &str) -> Option<Spread> {
    if key == "ttft_ms" { replica.ttft_ms } else { replica.e2e_ms }
}

/// Where a record holds its cases, their numbers say to which address each request went.
fn check_cases(record: &RunRecordV2, rules: &mut Rules) {
    let (Some(cases), Some(turns)) = (&record.cases, turns(record)) else { return };
    let index =
        |case: &Case| case.case_id.as_str().strip_prefix(CASE)?.parse::<u64>().ok()?.checked_sub(1);
    let places: Option<Vec<usize>> =
        cases.iter().map(|case| index(case).map(|index| turns.of(index))).collect();
    let Some(places) = places else { return };
    for (place, replica) in record.replicas.iter().enumerate() {
        let own = || cases.iter().enumerate().filter(|(number, _)| places[*number] == place);
        let count = |kinds: &[CaseOutcome]| {
            own().filter(|(_, case)| kinds.contains(&case.outcome)).count() as u64
        };
        let rows: [(&[&str], u64, u64); 5] = [
            (&["offered"], replica.offered, own().count() as u64),
            (&["succeeded"], replica.succeeded, count(SUCCEEDED)),
            (&["failed"], replica.failed, count(&[CaseOutcome::Error])),
            (&["timed_out"], replica.timed_out, count(&[CaseOutcome::Timeout])),
            (
                &["cancelled", "not_sent"],
                replica.cancelled.saturating_add(replica.not_sent),
                count(&[CaseOutcome::NotRun]),
            ),
        ];
        for (keys, said, counted) in rows {
            rules.check(
                "replica-counts-match-cases",
                said == counted,
                keys.iter().map(|key| member(place, key)).chain(each(record, "weight")),
                format_args!(
                    "{} of replicas[{place}] ({said}) are cases whose turn is there ({counted})",
                    keys.join(" and ")
                ),
            );
        }
        let done = own().filter(|(_, case)| SUCCEEDED.contains(&case.outcome));
        let durations: Option<Whole> =
            done.filter_map(|(_, case)| case.duration_ms).map(Millis::to_micros).collect();
        let Some(durations) = durations else { continue };
        check_durations(place, replica, &durations, rules);
    }
}

fn check_durations(place: usize, replica: &ReplicaReport, durations: &Whole, rules: &mut Rules) {
    let summary = durations.summary(1000.0);
    let found = replica.e2e_ms;
    for (key, said, statistic) in [
        ("median", found.map(|it| it.median), Statistic::P50),
        ("p99", found.map(|it| it.p99), Statistic::P99),
        ("max", found.map(|it| it.max), Statistic::Max),
    ] {
        let expected = statistic.of(&summary);
        let path = member(place, "e2e_ms");
        rules.check(
            "replica-durations-match-cases",
            same_bits(said, expected),
            [if found.is_some() { path.key(key) } else { path }],
            format_args!(
                "replicas[{place}].e2e_ms.{key} ({}) is that of the durations of its cases ({})",
                shown(said),
                shown(expected)
            ),
        );
    }
}
