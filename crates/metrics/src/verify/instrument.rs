//! Rules of the instrument's report: its reads, its delays, and the metrics that they may have bent.

use streamgauge_schema::{
    Calibration, Identifier, InstrumentReport, JsonPath, RunRecordV2, Spread,
};

use super::{Rules, at, same_bits, shown};
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
            check_spread(at("instrument").key(key), spread, 0.0, rules);
            check_said_twice(record, key, spread, rules);
        }
    }
    check_client_limited(record, rules);
    if let Some(calibration) = &instrument.calibration {
        check_calibration(calibration, rules);
    }
}

/// Errors may lie below 0, as two clocks are rounded; lags and costs may not.
fn check_calibration(calibration: &Calibration, rules: &mut Rules) {
    let within = |key: &str| at("instrument.calibration").key(key);
    let Calibration { streams, events, cpu_us_per_event, events_per_s, .. } = *calibration;
    rules.check(
        "calibration-in-range",
        streams > 0
            && events > 0
            && [cpu_us_per_event, events_per_s].iter().all(|it| (0.0..=f64::MAX).contains(it)),
        ["streams", "events", "cpu_us_per_event", "events_per_s"].map(within),
        format_args!(
            "instrument.calibration is taken from some streams ({streams}) and events ({events}), \
             at a cost ({cpu_us_per_event:?} us an event) and a rate ({events_per_s:?} a second) \
             from 0 up"
        ),
    );
    for (key, spread) in [
        ("arrival_error_ms", &calibration.arrival_error_ms),
        ("send_error_ms", &calibration.send_error_ms),
    ] {
        check_spread(within(key), spread, f64::MIN, rules);
    }
    if let Some(lag) = &calibration.observer_lag_ms {
        check_spread(within("observer_lag_ms"), lag, 0.0, rules);
    }
}

/// The metrics of a delay are of the same reads or requests.
fn check_said_twice(record: &RunRecordV2, key: &str, spread: &Spread, rules: &mut Rules) {
    let quantity = key.trim_end_matches("_ms");
    for (member, word, said) in
        [("median", "p50", spread.median), ("p99", "p99", spread.p99), ("max", "max", spread.max)]
    {
        let id = format!("{quantity}_{word}_ms");
        let found = record.metrics.iter().position(|metric| metric.id.as_str() == id);
        let Some(index) = found else { continue };
        let value = record.metrics[index].value;
        rules.check(
            "delays-said-twice",
            same_bits(value, Some(said)),
            [at("metrics").index(index).key("value"), at("instrument").key(key).key(member)],
            format_args!("{id} ({}) is instrument.{key}.{member} ({said:?})", shown(value)),
        );
    }
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
        format_args!(
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

pub(super) fn check_spread(path: JsonPath, spread: &Spread, least: f64, rules: &mut Rules) {
    let Spread { median, p99, max } = *spread;
    rules.check(
        "spreads-rise",
        [least, median, p99, max, f64::MAX].is_sorted(),
        ["median", "p99", "max"].map(|key| path.clone().key(key)),
        format_args!("{path} rises from {least:?}: median {median:?}, p99 {p99:?}, max {max:?}"),
    );
}
