//! Rules of the instrument's report: its reads, its delays, and the metrics that they may have bent.

use streamgauge_schema::{Identifier, InstrumentReport, JsonPath, RunRecordV2, Spread};

use super::{Rules, at, shown};
use crate::client_limited::{client_limited, delay_ms, is_latency};

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    let instrument = &record.instrument;
    rules.at_most(
        "coalesced-reads-are-reads",
        [
            (instrument.coalesced_reads, "instrument.coalesced_reads"),
            (instrument.reads, "instrument.reads"),
        ],
    );
    for (key, spread) in [
        ("observer_lag_ms", &instrument.observer_lag_ms),
        ("dispatch_lateness_ms", &instrument.dispatch_lateness_ms),
    ] {
        if let Some(spread) = spread {
            check_spread(at("instrument").key(key), spread, rules);
        }
    }
    check_client_limited(record, rules);
}

fn check_client_limited(record: &RunRecordV2, rules: &mut Rules) {
    let InstrumentReport { observer_lag_ms, dispatch_lateness_ms, client_limited: listed, .. } =
        &record.instrument;
    let delay = delay_ms(*observer_lag_ms, *dispatch_lateness_ms);
    let expected = client_limited(&record.metrics, delay);
    let instrument = |key: &str| at("instrument").key(key);
    let p99 = |key: &str, spread: &Option<Spread>| match spread {
        Some(_) => instrument(key).key("p99"),
        None => instrument(key),
    };
    let mut members = vec![
        p99("observer_lag_ms", observer_lag_ms),
        p99("dispatch_lateness_ms", dispatch_lateness_ms),
    ];
    match listed.len() {
        0 => members.push(instrument("client_limited")),
        count => members.extend((0..count).map(|at| instrument("client_limited").index(at))),
    }
    let latencies = record.metrics.iter().enumerate().filter(|(_, metric)| is_latency(metric));
    members.extend(latencies.map(|(index, _)| at("metrics").index(index).key("value")));
    rules.check(
        "client-limited-follows",
        *listed == expected,
        members,
        format!(
            "instrument.client_limited ({}) lists the latencies against which the client's delay \
             (p99 {} ms) exceeds the larger of 1 ms and 1 percent ({})",
            names(listed),
            shown(delay),
            names(&expected)
        ),
    );
}

fn names(ids: &[Identifier]) -> String {
    let names: Vec<&str> = ids.iter().map(Identifier::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn check_spread(path: JsonPath, spread: &Spread, rules: &mut Rules) {
    let Spread { median, p99, max } = *spread;
    rules.check(
        "spreads-rise",
        [0.0, median, p99, max, f64::MAX].is_sorted(),
        ["median", "p99", "max"].map(|key| path.clone().key(key)),
        format!("{path} rises from 0: median {median:?}, p99 {p99:?}, max {max:?}"),
    );
}
