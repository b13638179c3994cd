//! Due times and lags that no client can have written, and those that one can.

use streamgauge_schema::{KernelStamps, LoadShape, RateStage};

use super::*;

type Change = fn(&mut Run);

/// Three requests due at 100, 200 and 300 ms, two under way at most, with kernel stamps.
fn scheduled() -> Run {
    let mut plan = open_loop(3, 10.0, Some(2));
    plan.instrument.kernel_stamps = KernelStamps::All;
    let line = |n: u64| {
        let line = due(succeeded(n, 100 * n + 105, &[10, 20], 5), 100 * n + 100, Some(4));
        RequestLine {
            observer_lag_us: Some(vec![50, 70, 20]),
            output_lags_us: Some(vec![50, 70]),
            end_lag_us: Some(20),
            ..line
        }
    };
    Run { plan, lines: (0..3).map(line).collect(), ended: true }
}

/// The plan's other shapes, for the same lines.
fn closed(run: &mut Run) {
    run.plan.load.shape = LoadShape::ClosedLoop { concurrency: 2 };
}

fn uncapped(run: &mut Run) {
    run.plan.load.shape = LoadShape::Trace { max_concurrency: None, span_ms: 300 };
}

#[test]
fn lines_against_their_schedule() {
    assert_sound(&scheduled().record());
    let cases: [(Change, &str); 16] = [
        (closed, "scheduled_us is 100000, the load is closed_loop"),
        (|run| run.lines[0].scheduled_us = None, "scheduled_us is null, the load is open_loop"),
        (uncapped, "queued_us is 4000, the load is trace with no limit under way"),
        (
            |run| run.lines[0].queued_us = None,
            "queued_us is null, the load is open_loop with a limit under way",
        ),
        (
            |run| run.lines[0].scheduled_us = Some(101_001),
            "scheduled_us with queued_us is 105001, above started_us: 105000",
        ),
        (
            |run| run.lines[0].queued_us = Some(u64::MAX),
            "scheduled_us and queued_us have no sum within 64 bits",
        ),
        (
            |run| run.plan.instrument.kernel_stamps = KernelStamps::Off,
            "observer_lag_us is there, the plan has kernel_stamps off",
        ),
        (
            |run| run.lines[0].observer_lag_us = Some(vec![1_000_001]),
            "observer_lag_us has 1000001, above 1000000",
        ),
        (|run| run.lines[0].end_lag_us = None, "output_lags_us is there, end_lag_us is null"),
        (|run| run.lines[0].output_lags_us = None, "output_lags_us is null, end_lag_us is 20"),
        (
            |run| run.lines[0].output_lags_us = Some(vec![50]),
            "output_lags_us in number is 1, output_events is 2",
        ),
        (
            |run| run.lines[0].output_lags_us = Some(vec![50, 71]),
            "the greatest of output_lags_us and end_lag_us is 71, above the greatest of \
             observer_lag_us: 70",
        ),
        (
            |run| run.lines[0].end_lag_us = Some(71),
            "the greatest of output_lags_us and end_lag_us is 71, above the greatest of \
             observer_lag_us: 70",
        ),
        (
            |run| run.lines[0].observer_lag_us = None,
            "the greatest of output_lags_us and end_lag_us is 70, above the greatest of \
             observer_lag_us: null",
        ),
        (
            |run| {
                run.lines[0] = due(refused(0, 105, 4), 100, Some(4));
                (run.lines[0].output_lags_us, run.lines[0].end_lag_us) = (Some(vec![]), Some(0));
            },
            "output_lags_us in number is 0, output_events is null",
        ),
        (
            |run| {
                (run.lines[0].scheduled_us, run.lines[0].queued_us) = (None, None);
                run.plan.load.warmup = 1;
                run.lines.push(RequestLine { stage: Stage::Warmup, ..run.lines[0].clone() });
            },
            "scheduled_us is null, the load is open_loop",
        ),
    ];
    for (change, contradiction) in cases {
        let mut run = scheduled();
        change(&mut run);
        let (stage, contradiction) = (Stage::Measured, contradiction.to_owned());
        let expected = RecordError::Contradiction { stage, index: 0, contradiction };
        assert_eq!(run.build().map(|record| record.run_id), Err(expected));
    }
}

#[test]
fn what_clients_write() {
    let cases: [Change; 4] = [
        uncapped_without_queue,
        // Warm-up is a closed loop before the schedule.
        |run| {
            run.plan.load.warmup = 1;
            let line = succeeded(0, 0, &[10, 20], 5);
            run.lines.push(RequestLine { stage: Stage::Warmup, ..line });
        },
        // A clock was set while the response came: the lag reaches back beyond the start.
        |run| {
            run.lines[0].observer_lag_us = Some(vec![900_000]);
            run.lines[0].output_lags_us = Some(vec![900_000; 2]);
        },
        |run| {
            run.lines[1] = due(refused(1, 205, 4), 200, Some(0));
            run.plan.max_failure_ratio = 0.5;
        },
    ];
    for change in cases {
        let mut run = scheduled();
        change(&mut run);
        match run.build() {
            Ok(record) => assert_sound(&record),
            Err(error) => panic!("{error}"),
        }
    }
}

fn uncapped_without_queue(run: &mut Run) {
    uncapped(run);
    run.lines.iter_mut().for_each(|line| line.queued_us = None);
}

#[test]
fn requests_are_due_in_their_order() {
    let mut run = scheduled();
    run.lines[2].scheduled_us = Some(199_999);
    assert_eq!(
        run.build().unwrap_err().to_string(),
        "measured request 2 of the journal contradicts itself: scheduled_us is 199999, that of \
         request 1 before it is 200000"
    );
    run.lines[2].scheduled_us = Some(200_000);
    assert!(run.build().is_ok());
}

#[test]
fn plans_that_contradict_themselves() {
    use streamgauge_schema::{Goal, GoalQuantity};
    let cases: [(Change, &str); 5] = [
        (
            |run| {
                let more = RateStage { requests: 4, ..stages(run)[0] };
                stages(run).push(more);
            },
            "the requests of the stages are 7 together, load.requests is 3",
        ),
        (
            |run| stages(run)[0].requests = 2,
            "the requests of the stages are 2 together, load.requests is 3",
        ),
        (
            |run| {
                let last = RateStage { requests: u64::MAX, ..stages(run)[0] };
                stages(run).push(last);
            },
            "the requests of the stages are more than 64 bits hold together, load.requests is 3",
        ),
        (
            |run| {
                let goal = |limit_ms| Goal { quantity: GoalQuantity::Ttft, limit_ms };
                run.plan.goals = vec![goal(1.0), goal(2.0)];
            },
            "ttft has two goals",
        ),
        (
            |run| run.plan.goals = vec![Goal { quantity: GoalQuantity::E2e, limit_ms: -1.0 }],
            "the goal for e2e is -1.0 ms",
        ),
    ];
    for (change, contradiction) in cases {
        let mut run = scheduled();
        change(&mut run);
        let error = run.build().unwrap_err().to_string();
        assert_eq!(error, format!("the plan contradicts itself: {contradiction}"));
    }
    let mut run = scheduled();
    run.plan.load.requests = 0;
    stages(&mut run).clear();
    run.lines.clear();
    let error = run.build().unwrap_err().to_string();
    assert_eq!(error, "the plan contradicts itself: an open loop has no stage");
}

fn stages(run: &mut Run) -> &mut Vec<RateStage> {
    let LoadShape::OpenLoop { stages, .. } = &mut run.plan.load.shape else {
        panic!("an open loop")
    };
    stages
}
