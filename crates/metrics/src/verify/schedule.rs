//! Rules of due times: what became of each stage, how late requests were, and the latencies that
//! count from the schedule.

use streamgauge_schema::{JsonPath, Metric, RunRecordV2, StageReport, WindowName};

use super::{Rules, at, shown};
use crate::catalogue::{Presence, spec};
use crate::statistic::Statistic;

/// Shapes of loads, and whether their requests have due times.
const SHAPES: [(&str, bool); 4] =
    [("closed_loop", false), ("closed_stages", false), ("open_loop", true), ("trace", true)];
/// Room for the rounding of interpolated quantiles.
const ROUNDING: f64 = 1e-9;

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    check_due_times(record, rules);
    for (index, stage) in record.load.stages.iter().enumerate() {
        check_stage(index, stage, rules);
    }
    if !record.load.stages.is_empty() {
        check_sums(record, rules);
    }
    check_lateness(record, rules);
    check_metrics(record, rules);
    check_latencies(record, rules);
}

/// Due times, stages, a tolerance and a lateness go together.
fn check_due_times(record: &RunRecordV2, rules: &mut Rules) {
    let load = &record.load;
    let (has_stages, late_after) = (!load.stages.is_empty(), load.late_after_ms);
    let by_shape = SHAPES.iter().find(|(shape, _)| *shape == load.shape.as_str());
    let fits_shape = by_shape.is_none_or(|(_, is_scheduled)| *is_scheduled == has_stages);
    rules.check(
        "stages-fit-shape",
        fits_shape && late_after.is_some() == has_stages,
        [at("load.shape"), at("load.late_after_ms"), stage_path(0, has_stages)],
        format_args!(
            "a load has stages ({}) and late_after_ms ({}) where its shape ({}) has due times",
            load.stages.len(),
            shown(late_after.map(|ms| ms.value())),
            load.shape
        ),
    );
    if let Some(ms) = late_after {
        rules.check(
            "late-after-is-whole-microseconds",
            ms.to_micros().is_some(),
            [at("load.late_after_ms")],
            format_args!("load.late_after_ms ({:?}) is a whole number of microseconds", ms.value()),
        );
    }
    let sent = load.offered.saturating_sub(load.not_sent);
    let lateness = record.instrument.dispatch_lateness_ms;
    rules.check(
        "lateness-fits-schedule",
        lateness.is_some() == (has_stages && sent > 0),
        [at("instrument.dispatch_lateness_ms"), stage_path(0, has_stages), at("load.offered")],
        format_args!(
            "instrument.dispatch_lateness_ms is {} exactly where requests of a schedule were sent \
             ({sent} sent, {} stages)",
            if lateness.is_some() { "there" } else { "null" },
            load.stages.len()
        ),
    );
}

fn check_stage(index: usize, stage: &StageReport, rules: &mut Rules) {
    let StageReport { planned, sent, late, unsent, valid } = *stage;
    let path = |key: &str| stage_path(index, true).key(key);
    rules.check(
        "stages-add-up",
        sent.checked_add(unsent) == Some(planned),
        ["planned", "sent", "unsent"].map(path),
        format_args!(
            "planned ({planned}) of stage {index} are sent ({sent}) and unsent ({unsent})"
        ),
    );
    rules.check(
        "late-were-sent",
        late <= sent,
        ["late", "sent"].map(path),
        format_args!("late ({late}) of stage {index} are at most sent ({sent})"),
    );
    rules.check(
        "valid-stages-sent-all",
        valid == (unsent == 0),
        ["valid", "unsent"].map(path),
        format_args!("stage {index} is valid ({valid}) where nothing is unsent ({unsent})"),
    );
}

/// The stages together are the load.
fn check_sums(record: &RunRecordV2, rules: &mut Rules) {
    let load = &record.load;
    let sum = |of: fn(&StageReport) -> u64| load.stages.iter().map(of).fold(0, u64::saturating_add);
    let sent = load.offered.saturating_sub(load.not_sent);
    let rows: [(&str, u64, u64, &[&str]); 3] = [
        ("planned", sum(|stage| stage.planned), load.offered, &["offered"]),
        ("sent", sum(|stage| stage.sent), sent, &["offered", "not_sent"]),
        ("unsent", sum(|stage| stage.unsent), load.not_sent, &["not_sent"]),
    ];
    for (key, sum, expected, members) in rows {
        let of_stages = (0..load.stages.len()).map(|index| stage_path(index, true).key(key));
        rules.check(
            "stages-sum-to-load",
            sum == expected,
            of_stages.chain(members.iter().map(|key| at("load").key(*key))),
            format_args!("{key} of all stages ({sum}) is what load says ({expected})"),
        );
    }
}

/// What the client itself was late is a part of how late requests were.
fn check_lateness(record: &RunRecordV2, rules: &mut Rules) {
    let load = &record.load;
    let Some(lateness) = record.instrument.dispatch_lateness_ms else { return };
    let within = |key: &str| at("instrument.dispatch_lateness_ms").key(key);
    if let Some(late_after) = load.late_after_ms {
        let late = load.stages.iter().map(|stage| stage.late).fold(0, u64::saturating_add);
        let paths = (0..load.stages.len()).map(|index| stage_path(index, true).key("late"));
        rules.check(
            "late-follows-lateness",
            lateness.max <= late_after.value() || late > 0,
            [within("max"), at("load.late_after_ms")].into_iter().chain(paths),
            format_args!(
                "with a lateness of up to {:?} ms and {:?} ms allowed, some requests are late \
                 ({late})",
                lateness.max,
                late_after.value()
            ),
        );
    }
    for (key, least, id) in [
        ("median", lateness.median, "queue_delay_p50_ms"),
        ("p99", lateness.p99, "queue_delay_p99_ms"),
    ] {
        let Some((index, Some(delay))) = value(record, id) else { continue };
        rules.check(
            "lateness-within-delay",
            at_most(least, delay),
            [within(key), metric_path(index)],
            format_args!("dispatch_lateness_ms.{key} ({least:?}) is at most {id} ({delay:?})"),
        );
    }
}

/// Latencies from the schedule stand exactly in records with due times, and none is below that from
/// the start.
fn check_metrics(record: &RunRecordV2, rules: &mut Rules) {
    let has_stages = !record.load.stages.is_empty();
    let needed = crate::catalogue::catalogue()
        .iter()
        .filter(|spec| spec.presence == Presence::Schedule && spec.window == WindowName::Whole);
    let has = |metric: &Metric| {
        spec(metric.id.as_str()).is_some_and(|spec| spec.presence == Presence::Schedule)
    };
    let missing: Vec<&str> = needed
        .map(|spec| spec.id.as_str())
        .filter(|id| has_stages && value(record, id).is_none())
        .collect();
    let found: Vec<usize> =
        (0..record.metrics.len()).filter(|at| has(&record.metrics[*at])).collect();
    rules.check(
        "schedule-metrics-fit",
        missing.is_empty() && (has_stages || found.is_empty()),
        [stage_path(0, has_stages)]
            .into_iter()
            .chain(found.iter().map(|index| at("metrics").index(*index).key("id"))),
        format_args!(
            "metrics from the schedule stand where requests have due times ({} stages, {} such \
             metrics, missing: {})",
            record.load.stages.len(),
            found.len(),
            if missing.is_empty() { "none".to_owned() } else { missing.join(", ") }
        ),
    );
}

fn check_latencies(record: &RunRecordV2, rules: &mut Rules) {
    for (index, metric) in record.metrics.iter().enumerate() {
        let id = metric.id.as_str();
        // Waiting may even out how latencies are spread.
        if spec(id).and_then(|spec| spec.statistic) == Some(Statistic::StandardDeviation) {
            continue;
        }
        let Some(id_from_start) = id.find(FROM_SCHEDULE).map(|_| id.replace(FROM_SCHEDULE, ""))
        else {
            continue;
        };
        let Some((start_index, Some(from_start))) = value(record, &id_from_start) else { continue };
        let Some(from_schedule) = metric.value else { continue };
        rules.check(
            "schedule-comes-first",
            at_most(from_start, from_schedule),
            [metric_path(start_index), metric_path(index)],
            format_args!("{id_from_start} ({from_start:?}) is at most {id} ({from_schedule:?})"),
        );
    }
}

/// What the name of a latency from the schedule has more than that from the start.
const FROM_SCHEDULE: &str = "_from_schedule";

/// Quantiles are interpolated, so that the last digits of a smaller one may come out larger.
fn at_most(less: f64, more: f64) -> bool {
    less <= more + ROUNDING * more.abs()
}

/// A metric's place and its value.
fn value(record: &RunRecordV2, id: &str) -> Option<(usize, Option<f64>)> {
    let index = record.metrics.iter().position(|metric| metric.id.as_str() == id)?;
    Some((index, record.metrics[index].value))
}

fn metric_path(index: usize) -> JsonPath {
    at("metrics").index(index).key("value")
}

/// A stage; the empty list where there is none.
fn stage_path(index: usize, is_there: bool) -> JsonPath {
    let stages = at("load.stages");
    if is_there { stages.index(index) } else { stages }
}
