//! Rules of the shards of a run: how they stand beside each other, and beside the whole.

use streamgauge_schema::{JsonPath, RunRecordV2, RunStatus, ShardReport, Spread};

use super::instrument::check_spread;
use super::{Rules, at, same_bits, shown};

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    if record.shards.is_empty() {
        return;
    }
    check_numbers(&record.shards, rules);
    check_sums(record, rules);
    check_status(record, rules);
    for (index, shard) in record.shards.iter().enumerate() {
        check_shard(index, shard, rules);
    }
    type Delay = fn(&ShardReport) -> Option<Spread>;
    let delays: [(&str, Option<Spread>, Delay); 2] = [
        ("observer_lag_ms", record.instrument.observer_lag_ms, |it| it.observer_lag_ms),
        ("dispatch_lateness_ms", record.instrument.dispatch_lateness_ms, |it| {
            it.dispatch_lateness_ms
        }),
    ];
    for (key, whole, of) in delays {
        check_delay(&record.shards, (key, whole), of, rules);
    }
}

fn member(index: usize, key: &str) -> JsonPath {
    at("shards").index(index).key(key)
}

fn each<'a>(shards: &[ShardReport], key: &'a str) -> impl Iterator<Item = JsonPath> + use<'a> {
    (0..shards.len()).map(move |index| member(index, key))
}

fn check_numbers(shards: &[ShardReport], rules: &mut Rules) {
    let of = shards[0].of;
    let numbers: Vec<u64> = shards.iter().map(|shard| shard.number).collect();
    let rise = numbers.is_sorted_by(|one, next| one < next);
    rules.check(
        "shards-are-numbered",
        rise && shards.iter().all(|it| it.of == of && (1..=of).contains(&it.number)),
        each(shards, "number").chain(each(shards, "of")),
        format_args!(
            "the numbers of shards rise, from 1 to at most as many as all say there are ({of})"
        ),
    );
}

/// Requests of shards that are missing are in the load, and were not sent.
fn check_sums(record: &RunRecordV2, rules: &mut Rules) {
    let (load, shards) = (&record.load, &record.shards);
    let sum =
        |of: fn(&ShardReport) -> u64| shards.iter().map(|it| u128::from(of(it))).sum::<u128>();
    let (offered, sent) = (sum(|it| it.offered), sum(|it| it.sent));
    let lacks_some = shards.len() as u64 != shards[0].of && record.status == RunStatus::Aborted;
    let offered_fits = match lacks_some {
        true => offered <= u128::from(load.offered),
        false => offered == u128::from(load.offered),
    };
    rules.check(
        "shards-offer-the-load",
        offered_fits,
        each(shards, "offered").chain([at("load.offered")]),
        format_args!(
            "the requests of the shards ({offered}) are those of the load ({})",
            load.offered
        ),
    );
    let parts = [load.succeeded, load.failed, load.timed_out, load.cancelled];
    let all: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    let members = ["succeeded", "failed", "timed_out", "cancelled"].map(|key| at("load").key(key));
    rules.check(
        "shards-sent-the-load",
        sent == all,
        each(shards, "sent").chain(members),
        format_args!(
            "the requests that shards sent ({sent}) are those of the load that were sent ({all})"
        ),
    );
}

fn check_status(record: &RunRecordV2, rules: &mut Rules) {
    let completed = record.shards.iter().all(|shard| shard.status == RunStatus::Completed);
    rules.check(
        "completed-by-shards",
        record.status != RunStatus::Completed || completed,
        each(&record.shards, "status").chain([at("status")]),
        format_args!(
            "a completed run (status {}) is one whose shards all completed",
            record.status
        ),
    );
}

fn check_shard(index: usize, shard: &ShardReport, rules: &mut Rules) {
    let ShardReport { offered, sent, status, .. } = shard;
    rules.check(
        "shard-sent-what-it-had",
        sent <= offered && (*status != RunStatus::Completed || sent == offered),
        ["sent", "offered", "status"].map(|key| member(index, key)),
        format_args!("shard {} ({status}) sent {sent} of {offered} requests", shard.number),
    );
    for (key, spread) in [
        ("observer_lag_ms", &shard.observer_lag_ms),
        ("dispatch_lateness_ms", &shard.dispatch_lateness_ms),
    ] {
        if let Some(spread) = spread {
            check_spread(member(index, key), spread, 0.0, rules);
        }
    }
}

/// The whole has the worst of the shards, and is one where there is no other.
fn check_delay(
    shards: &[ShardReport],
    (key, whole): (&str, Option<Spread>),
    of: fn(&ShardReport) -> Option<Spread>,
    rules: &mut Rules,
) {
    type Figure = fn(Spread) -> f64;
    let figures: [(&str, Figure); 3] =
        [("median", |it| it.median), ("p99", |it| it.p99), ("max", |it| it.max)];
    for (name, figure) in figures {
        if shards.len() > 1 && name != "max" {
            continue;
        }
        let said = |index: usize| match of(&shards[index]) {
            Some(_) => member(index, key).key(name),
            None => member(index, key),
        };
        let worst = shards.iter().filter_map(of).map(figure).reduce(f64::max);
        let path = at("instrument").key(key);
        let path = if whole.is_some() { path.key(name) } else { path };
        rules.check(
            "delay-is-the-worst-shards",
            same_bits(worst, whole.map(figure)),
            (0..shards.len()).map(said).chain([path]),
            format_args!(
                "instrument.{key}.{name} ({}) is the greatest of the shards ({})",
                shown(whole.map(figure)),
                shown(worst)
            ),
        );
    }
}
