//! The numbers of a run record, where they stand, to be changed one at a time.

use streamgauge_schema::{
    Calibration, Case, Counts, Deployment, Evidence, InstrumentReport, Interval, JsonPath,
    LoadReport, Metric, Millis, Performance, ReplicaReport, RunRecord, ShardReport, Spread,
    StageReport, Window,
};

use super::at;

/// One number, in its place.
pub(super) enum Number<'a> {
    Count(&'a mut u64),
    Float(&'a mut f64),
    Millis(&'a mut Millis),
}

/// What a visitor is shown: the path is made only where it is asked for.
pub(super) type Visit<'a> = dyn FnMut(&dyn Fn() -> JsonPath, Number<'_>) + 'a;

/// Shows every number of a record but its version, always in the same order.
pub(super) fn visit(record: &mut RunRecord, visit: &mut Visit<'_>) {
    match record {
        RunRecord::V1(record) => {
            cases(&mut record.cases, visit);
            counts(&mut record.counts, visit);
            deployment(&mut record.deployment, visit);
            evidence(&mut record.evidence, visit);
            performance(&mut record.performance, visit);
            for (index, metric) in record.metrics.iter_mut().enumerate() {
                let path = || at("metrics").index(index);
                float(&|| path().key("value"), &mut metric.value, visit);
                visit(&|| path().key("samples"), Number::Count(&mut metric.samples));
            }
        }
        RunRecord::V2(record) => {
            cases(record.cases.as_deref_mut().unwrap_or_default(), visit);
            counts(&mut record.counts, visit);
            deployment(&mut record.deployment, visit);
            evidence(&mut record.evidence, visit);
            performance(&mut record.performance, visit);
            for (index, metric) in record.metrics.iter_mut().enumerate() {
                self::metric(index, metric, visit);
            }
            instrument(&mut record.instrument, visit);
            load(&mut record.load, visit);
            for (place, found) in record.replicas.iter_mut().enumerate() {
                replica(&|| at("replicas").index(place), found, visit);
            }
            for (index, found) in record.shards.iter_mut().enumerate() {
                shard(index, found, visit);
            }
            for (name, window) in
                [("whole", &mut record.windows.whole), ("steady", &mut record.windows.steady)]
            {
                if let Some(window) = window {
                    self::window(&|| at("windows").key(name), window, visit);
                }
            }
        }
    }
}

fn float(path: &dyn Fn() -> JsonPath, number: &mut Option<f64>, visit: &mut Visit<'_>) {
    if let Some(number) = number {
        visit(path, Number::Float(number));
    }
}

fn count(path: &dyn Fn() -> JsonPath, number: &mut Option<u64>, visit: &mut Visit<'_>) {
    if let Some(number) = number {
        visit(path, Number::Count(number));
    }
}

fn cases(cases: &mut [Case], visit: &mut Visit<'_>) {
    for (index, case) in cases.iter_mut().enumerate() {
        if let Some(duration) = &mut case.duration_ms {
            let path = || at("cases").index(index).key("duration_ms");
            visit(&path, Number::Millis(duration));
        }
    }
}

fn counts(counts: &mut Counts, visit: &mut Visit<'_>) {
    visit(&|| at("counts.declared"), Number::Count(&mut counts.declared));
    for (outcome, count) in &mut counts.outcomes {
        let path = || at("counts.outcomes").key(outcome.as_str());
        visit(&path, Number::Count(count));
    }
    visit(&|| at("counts.primary_passes"), Number::Count(&mut counts.primary_passes));
}

fn deployment(deployment: &mut Deployment, visit: &mut Visit<'_>) {
    count(&|| at("deployment.concurrency"), &mut deployment.concurrency, visit);
    count(&|| at("deployment.context_limit"), &mut deployment.context_limit, visit);
    count(&|| at("deployment.node_count"), &mut deployment.node_count, visit);
}

fn evidence(evidence: &mut [Evidence], visit: &mut Visit<'_>) {
    for (index, file) in evidence.iter_mut().enumerate() {
        visit(&|| at("evidence").index(index).key("bytes"), Number::Count(&mut file.bytes));
    }
}

fn performance(cell: &mut Performance, visit: &mut Visit<'_>) {
    let within = |key: &'static str| move || at("performance").key(key);
    count(&within("target_input_tokens"), &mut cell.target_input_tokens, visit);
    count(&within("actual_input_tokens_min"), &mut cell.actual_input_tokens_min, visit);
    count(&within("actual_input_tokens_max"), &mut cell.actual_input_tokens_max, visit);
    let limit = &mut cell.client_concurrency_limit;
    visit(&within("client_concurrency_limit"), Number::Count(limit));
    count(&within("observed_peak_inflight"), &mut cell.observed_peak_inflight, visit);
    visit(&within("transport_successes"), Number::Count(&mut cell.transport_successes));
}

fn metric(index: usize, metric: &mut Metric, visit: &mut Visit<'_>) {
    let path = || at("metrics").index(index);
    float(&|| path().key("value"), &mut metric.value, visit);
    visit(&|| path().key("samples"), Number::Count(&mut metric.samples));
    visit(&|| path().key("missing"), Number::Count(&mut metric.missing));
    if let Some(Interval { level, lower, upper, .. }) = &mut metric.interval {
        let within = |key: &str| path().key("interval").key(key);
        visit(&|| within("level"), Number::Float(level));
        float(&|| within("lower"), lower, visit);
        float(&|| within("upper"), upper, visit);
    }
}

fn instrument(report: &mut InstrumentReport, visit: &mut Visit<'_>) {
    let within = |key: &'static str| move || at("instrument").key(key);
    for (key, counted) in [
        ("reads", &mut report.reads),
        ("coalesced_reads", &mut report.coalesced_reads),
        ("stale_connections", &mut report.stale_connections),
        ("resends", &mut report.resends),
    ] {
        visit(&within(key), Number::Count(counted));
    }
    for (key, found) in [
        ("observer_lag_ms", &mut report.observer_lag_ms),
        ("dispatch_lateness_ms", &mut report.dispatch_lateness_ms),
    ] {
        if let Some(found) = found {
            spread(&within(key), found, visit);
        }
    }
    if let Some(found) = &mut report.calibration {
        calibration(found, visit);
    }
}

fn calibration(found: &mut Calibration, visit: &mut Visit<'_>) {
    let within = |key: &'static str| move || at("instrument.calibration").key(key);
    visit(&within("streams"), Number::Count(&mut found.streams));
    visit(&within("events"), Number::Count(&mut found.events));
    spread(&within("arrival_error_ms"), &mut found.arrival_error_ms, visit);
    spread(&within("send_error_ms"), &mut found.send_error_ms, visit);
    if let Some(lag) = &mut found.observer_lag_ms {
        spread(&within("observer_lag_ms"), lag, visit);
    }
    visit(&within("cpu_us_per_event"), Number::Float(&mut found.cpu_us_per_event));
    visit(&within("events_per_s"), Number::Float(&mut found.events_per_s));
}

fn spread(path: &dyn Fn() -> JsonPath, found: &mut Spread, visit: &mut Visit<'_>) {
    visit(&|| path().key("median"), Number::Float(&mut found.median));
    visit(&|| path().key("p99"), Number::Float(&mut found.p99));
    visit(&|| path().key("max"), Number::Float(&mut found.max));
}

fn load(load: &mut LoadReport, visit: &mut Visit<'_>) {
    let within = |key: &'static str| move || at("load").key(key);
    for (key, counted) in [
        ("offered", &mut load.offered),
        ("succeeded", &mut load.succeeded),
        ("failed", &mut load.failed),
        ("timed_out", &mut load.timed_out),
        ("cancelled", &mut load.cancelled),
        ("not_sent", &mut load.not_sent),
        ("warmup", &mut load.warmup),
    ] {
        visit(&within(key), Number::Count(counted));
    }
    visit(&within("max_failure_ratio"), Number::Float(&mut load.max_failure_ratio));
    if let Some(late_after) = &mut load.late_after_ms {
        visit(&within("late_after_ms"), Number::Millis(late_after));
    }
    for (index, found) in load.stages.iter_mut().enumerate() {
        stage(index, found, visit);
    }
}

fn stage(index: usize, found: &mut StageReport, visit: &mut Visit<'_>) {
    for (key, counted) in [
        ("planned", &mut found.planned),
        ("sent", &mut found.sent),
        ("late", &mut found.late),
        ("unsent", &mut found.unsent),
    ] {
        let path = || at("load.stages").index(index).key(key);
        visit(&path, Number::Count(counted));
    }
}

fn replica(path: &dyn Fn() -> JsonPath, found: &mut ReplicaReport, visit: &mut Visit<'_>) {
    for (key, counted) in [
        ("weight", &mut found.weight),
        ("offered", &mut found.offered),
        ("succeeded", &mut found.succeeded),
        ("failed", &mut found.failed),
        ("timed_out", &mut found.timed_out),
        ("cancelled", &mut found.cancelled),
        ("not_sent", &mut found.not_sent),
    ] {
        visit(&|| path().key(key), Number::Count(counted));
    }
    float(&|| path().key("completion_tok_per_s"), &mut found.completion_tok_per_s, visit);
    for (key, found) in [("ttft_ms", &mut found.ttft_ms), ("e2e_ms", &mut found.e2e_ms)] {
        if let Some(found) = found {
            spread(&|| path().key(key), found, visit);
        }
    }
}

fn shard(index: usize, found: &mut ShardReport, visit: &mut Visit<'_>) {
    let within = |key: &'static str| move || at("shards").index(index).key(key);
    for (key, counted) in [
        ("number", &mut found.number),
        ("of", &mut found.of),
        ("offered", &mut found.offered),
        ("sent", &mut found.sent),
        ("taken_up", &mut found.taken_up),
    ] {
        visit(&within(key), Number::Count(counted));
    }
    if let Some(late) = &mut found.began_late_ms {
        visit(&within("began_late_ms"), Number::Millis(late));
    }
    if let Some(clock) = &mut found.clock {
        let path = || within("clock")().key("max_error_ms");
        visit(&path, Number::Millis(&mut clock.max_error_ms));
    }
    for (key, delay) in [
        ("observer_lag_ms", &mut found.observer_lag_ms),
        ("dispatch_lateness_ms", &mut found.dispatch_lateness_ms),
    ] {
        if let Some(delay) = delay {
            spread(&within(key), delay, visit);
        }
    }
}

fn window(path: &dyn Fn() -> JsonPath, window: &mut Window, visit: &mut Visit<'_>) {
    visit(&|| path().key("from_ms"), Number::Millis(&mut window.from_ms));
    visit(&|| path().key("to_ms"), Number::Millis(&mut window.to_ms));
    visit(&|| path().key("mean_inflight"), Number::Float(&mut window.mean_inflight));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use streamgauge_schema::{Document, Json};

    use super::super::leaves::{leaves, value_at};
    use super::*;

    #[test]
    fn no_number_is_left_out() {
        let documents: [&[u8]; 3] = [
            include_bytes!("../../../schema/tests/records/serving-performance-v1.json"),
            include_bytes!("../../../schema/tests/run/record.json"),
            include_bytes!("../../../schema/tests/run/open/record.json"),
        ];
        for bytes in documents {
            let mut tree: Json = serde_json::from_slice(bytes).unwrap();
            let is_number = |path: &JsonPath| {
                let value = value_at(&mut tree, path).cloned();
                matches!(value, Some(Json::Float(_) | Json::Int(_) | Json::Uint(_)))
            };
            let mut expected: BTreeSet<JsonPath> = leaves(&serde_json::from_slice(bytes).unwrap())
                .into_iter()
                .filter(is_number)
                .collect();
            expected.remove(&at("schema_version"));
            let Document::Run(mut record) = Document::read(bytes).unwrap() else { panic!("a run") };
            let mut found = BTreeSet::new();
            visit(&mut record, &mut |path, _| assert!(found.insert(path())));
            assert_eq!(found, expected);
        }
    }
}
