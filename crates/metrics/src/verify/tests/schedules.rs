//! Rules of due times, stages, goals and calibration, broken one by one.

use streamgauge_schema::{Calibration, Goal, GoalQuantity, Json, LoadShape, Spread};

use super::{at_metric, broken, built, edited};
use crate::sample_run::{due, open_loop, refused, succeeded};

/// A calibration whose errors lie around 0.
const CALIBRATION: Calibration = Calibration {
    streams: 2,
    events: 100,
    arrival_error_ms: Spread { median: 0.1, p99: 0.4, max: 0.9 },
    send_error_ms: Spread { median: -0.001, p99: 0.1, max: 0.2 },
    observer_lag_ms: Some(Spread { median: 0.0, p99: 0.3, max: 0.3 }),
    cpu_us_per_event: 6.5,
    events_per_s: 2500.0,
};

/// A run of two stages of 12 requests with goals, ten a second, three under way at most. Each starts
/// 2 ms behind its due time, every fourth 50 ms; the last was refused.
pub(super) fn record() -> Json {
    let mut plan = open_loop(24, 10.0, Some(3));
    plan.max_failure_ratio = 0.1;
    plan.instrument.calibration = Some(CALIBRATION);
    plan.goals = vec![
        Goal { quantity: GoalQuantity::Ttft, limit_ms: 100.0 },
        Goal { quantity: GoalQuantity::E2e, limit_ms: 210.0 },
    ];
    let LoadShape::OpenLoop { stages, .. } = &mut plan.load.shape else { panic!("an open loop") };
    stages[0].requests = 12;
    stages.push(stages[0]);
    let line = |n: u64| {
        let wait = if n.is_multiple_of(4) { 50 } else { 2 };
        let queued = if n.is_multiple_of(4) { 48 } else { 0 };
        let line = match n {
            23 => refused(n, 2302, 3),
            // Two of them miss their goals.
            5 | 9 => succeeded(n, 100 * n + wait, &[101, 150, 200], 5),
            _ => succeeded(n, 100 * n + wait, &[100, 150, 200], 5),
        };
        due(line, 100 * n, Some(queued))
    };
    built(&plan, &(0..24).map(line).collect::<Vec<_>>())
}

/// The same as one stage, so that it has a steady window.
fn steady_record() -> Json {
    let mut plan = open_loop(24, 10.0, None);
    plan.goals = vec![Goal { quantity: GoalQuantity::Ttft, limit_ms: 100.0 }];
    let line = |n: u64| {
        let outputs: &[u64] = if n == 7 { &[130, 200] } else { &[100, 200] };
        due(succeeded(n, 100 * n + 2, outputs, 5), 100 * n, None)
    };
    built(&plan, &(0..24).map(line).collect::<Vec<_>>())
}

#[test]
fn every_rule_of_schedules_notices_its_fault() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("stages-fit-shape", &[("load.shape", r#""closed_loop""#)]),
        ("stages-fit-shape", &[("load.stages", "[]")]),
        ("stages-fit-shape", &[("load.late_after_ms", "null")]),
        ("late-after-is-whole-microseconds", &[("load.late_after_ms", "1.0001")]),
        ("lateness-fits-schedule", &[("instrument.dispatch_lateness_ms", "null")]),
        ("stages-add-up", &[("load.stages[0].planned", "13")]),
        ("stages-add-up", &[("load.stages[1].sent", "18446744073709551615")]),
        ("late-were-sent", &[("load.stages[0].late", "13")]),
        ("valid-stages-sent-all", &[("load.stages[0].valid", "false")]),
        ("valid-stages-sent-all", &[("load.stages[1].unsent", "1")]),
        ("stages-sum-to-load", &[("load.stages[0].planned", "13"), ("load.stages[0].sent", "13")]),
        ("stages-sum-to-load", &[("load.stages[0].unsent", "18446744073709551615")]),
        ("stages-sum-to-load", &[("load.offered", "25")]),
        ("late-follows-lateness", &[("load.stages[0].late", "0"), ("load.stages[1].late", "0")]),
        ("lateness-within-delay", &[("instrument.dispatch_lateness_ms.median", "2.001")]),
        ("lateness-within-delay", &[("instrument.dispatch_lateness_ms.p99", "51.0")]),
        ("calibration-in-range", &[("instrument.calibration.streams", "0")]),
        ("calibration-in-range", &[("instrument.calibration.events", "0")]),
        ("calibration-in-range", &[("instrument.calibration.cpu_us_per_event", "-1.0")]),
        ("calibration-in-range", &[("instrument.calibration.events_per_s", "-1.0")]),
        ("spreads-rise", &[("instrument.calibration.arrival_error_ms.p99", "1.0")]),
        ("spreads-rise", &[("instrument.calibration.send_error_ms.median", "0.15")]),
        ("spreads-rise", &[("instrument.calibration.observer_lag_ms.median", "-0.001")]),
        ("client-limited-follows", &[("instrument.dispatch_lateness_ms.p99", "1.0")]),
    ];
    for (rule, edits) in cases {
        let found = broken(&edited(record(), edits));
        assert!(found.contains(rule), "{rule} by {edits:?}: {found:?}");
    }
}

#[test]
fn every_rule_of_their_metrics_notices_its_fault() {
    let cases = [
        ("schedule-metrics-fit", "e2e_from_schedule_p95_ms", "id", r#""other""#),
        ("schedule-comes-first", "ttft_from_schedule_p50_ms", "value", "99.0"),
        ("schedule-comes-first", "e2e_from_schedule_mean_ms", "value", "199.0"),
        ("population-is-covered", "queue_delay_p50_ms", "missing", "1"),
        ("goodput-stands-in-pairs", "goodput_ratio", "id", r#""other""#),
        ("goodput-counts-ended", "goodput_ratio", "samples", "23"),
        ("goodput-counts-ended", "goodput_ratio", "missing", "24"),
        ("attainment-counts-requests", "goodput_ratio", "value", "0.9"),
        ("attainment-counts-requests", "goodput_ratio", "value", "1.0"),
        ("attainment-counts-requests", "goodput_ratio", "missing", "3"),
        ("goodput-follows", "goodput_req_per_s", "value", "9.5"),
        ("goodput-follows", "goodput_req_per_s", "missing", "1"),
    ];
    for (rule, id, member, value) in cases {
        let member = at_metric(&record(), id, member);
        let found = broken(&edited(record(), &[(&member, value)]));
        assert!(found.contains(rule), "{rule} by {id}.{member}: {found:?}");
    }
    let of_the_window = [
        ("schedule-comes-first", "ttft_from_schedule_steady_p50_ms", "value", "99.0"),
        ("goodput-stands-in-pairs", "goodput_steady_ratio", "id", r#""other""#),
        ("goodput-counts-ended", "goodput_steady_ratio", "samples", "25"),
        ("attainment-counts-requests", "goodput_steady_ratio", "value", "0.9"),
        ("goodput-follows", "goodput_steady_req_per_s", "value", "9.5"),
    ];
    assert!(broken(&edited(steady_record(), &[])).is_empty());
    for (rule, id, member, value) in of_the_window {
        let member = at_metric(&steady_record(), id, member);
        let found = broken(&edited(steady_record(), &[(&member, value)]));
        assert!(found.contains(rule), "{rule} by {id}.{member}: {found:?}");
    }
}

#[test]
fn lateness_bends_latencies_as_lag_does() {
    // Of 2 ms at the 99th percentile: TTFT of 100 ms and E2E of 200 ms are not far from it.
    let listed = "instrument.client_limited";
    let found = broken(&edited(record(), &[(listed, "[]")]));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["client-limited-follows"]);
}

#[test]
fn a_closed_loop_has_no_latencies_from_a_schedule() {
    let cases: [&[(&str, &str)]; 1] = [&[
        ("load.shape", r#""closed_loop""#),
        ("load.stages", "[]"),
        ("load.late_after_ms", "null"),
        ("instrument.dispatch_lateness_ms", "null"),
        ("instrument.client_limited", "[]"),
    ]];
    for edits in cases {
        let found: Vec<&str> = broken(&edited(record(), edits)).into_iter().collect();
        assert_eq!(found, ["schedule-metrics-fit"]);
    }
}
