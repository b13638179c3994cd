//! Shards, and runs with a common start.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use streamgauge_client::{Access, Collected, RunSetup, run};
use streamgauge_schema::{
    Arrivals, EndReason, JournalTrailer, LoadShape, Plan, RateStage, Shard, Stage, Timestamp,
};
use streamgauge_sim::SimConfig;
use tokio::sync::watch;

use crate::plan::{never_stopped, plan, request, schedule, setup};
use crate::sim::server;

fn quick() -> SimConfig {
    SimConfig { ttft: Duration::ZERO, interval: Duration::ZERO, ..SimConfig::default() }
}

/// The wall clock after so long.
fn after(duration: Duration) -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + duration;
    Timestamp::from_unix_micros(since_1970.as_micros() as i64)
}

async fn begun(
    plan: &Plan,
    shard: Option<Shard>,
    start: Option<Timestamp>,
    stop: watch::Receiver<bool>,
) -> (JournalTrailer, Collected) {
    let mut schedule = schedule(plan);
    if let Some(shard) = shard {
        schedule = schedule.of_shard(shard).unwrap();
    }
    let access = Access::default();
    let setup = RunSetup { start, ..setup(plan, &schedule, &access, stop) };
    run(setup, |stage, index| request(stage, index, ""), Collected::default()).await.unwrap()
}

fn open_loop(plan: &mut Plan, per_s: f64) {
    let requests = plan.load.requests;
    plan.load.shape = LoadShape::OpenLoop {
        arrivals: Arrivals::Constant {},
        max_concurrency: None,
        stages: vec![RateStage { from_per_s: per_s, to_per_s: per_s, duration_ms: None, requests }],
    };
}

#[tokio::test]
async fn shards_send_what_the_plan_has_together() {
    let (_server, url) = server(quick());
    let mut plan = plan(&url, 11, 3);
    plan.load.warmup = 5;
    for workers in [1, 2] {
        plan.instrument.workers = workers;
        let mut sent = Vec::new();
        for number in 1..=3 {
            let shard = Shard::new(number, 3);
            let (trailer, run) = begun(&plan, shard, None, never_stopped()).await;
            assert_eq!(trailer.reason, EndReason::Finished);
            assert_eq!(run.header.unwrap().shard, shard);
            let begun = run.begun.unwrap();
            assert_eq!(begun.start_us, None);
            let measured = run.requests.iter().filter(|line| line.stage == Stage::Measured);
            assert!(measured.clone().count() > 2);
            assert!(measured.clone().all(|line| line.started_us >= begun.at_us));
            sent.extend(run.requests.iter().map(|line| (line.stage, line.index)));
        }
        sent.sort_unstable();
        let all = |stage, count| (0..count).map(move |index| (stage, index));
        let whole: Vec<_> = all(Stage::Measured, 11).chain(all(Stage::Warmup, 5)).collect();
        assert_eq!(sent, whole);
    }
}

#[tokio::test]
async fn a_run_without_shard_and_start_does_not_tell_how_it_began() {
    let (_server, url) = server(quick());
    let (_, run) = begun(&plan(&url, 2, 1), None, None, never_stopped()).await;
    assert_eq!(run.begun, None);
}

#[tokio::test]
async fn nothing_measured_begins_before_the_common_start() {
    let (_server, url) = server(quick());
    let mut closed = plan(&url, 6, 2);
    closed.load.warmup = 2;
    let mut open = closed.clone();
    open_loop(&mut open, 100.0);
    let mut on_threads = closed.clone();
    on_threads.instrument.workers = 2;
    for plan in [closed, open, on_threads] {
        let start = Some(after(Duration::from_secs(1)));
        let (_, run) = begun(&plan, Shard::new(1, 2), start, never_stopped()).await;
        let begun = run.begun.unwrap();
        assert!(begun.at_us > 0);
        assert_eq!(begun.start_us, Some(begun.at_us), "it was in time");
        for line in &run.requests {
            match line.stage {
                Stage::Warmup => assert!(line.started_us < begun.at_us),
                Stage::Measured => assert!(line.started_us >= begun.at_us),
            }
            // Due times count from exactly the start; a closed loop has none.
            if let Some(scheduled_us) = line.scheduled_us {
                assert!(scheduled_us.abs_diff(begun.at_us + line.index * 10_000) <= 1);
            }
        }
        let scheduled = run.requests.iter().filter(|line| line.scheduled_us.is_some()).count();
        assert_eq!(scheduled, if plan.load.shape.is_scheduled() { 3 } else { 0 });
    }
}

#[tokio::test]
async fn whoever_is_late_begins_at_once() {
    let (_server, url) = server(SimConfig { ttft: Duration::from_millis(60), ..quick() });
    let mut plan = plan(&url, 2, 1);
    plan.load.warmup = 1;
    for (start, told) in
        [(after(Duration::from_millis(20)), None), (after(Duration::ZERO), Some(0))]
    {
        let (_, run) = begun(&plan, None, Some(start), never_stopped()).await;
        let begun = run.begun.unwrap();
        let start_us = begun.start_us.unwrap();
        assert!(begun.at_us > start_us, "{begun:?}");
        assert!(told.is_none_or(|told| told == start_us), "{begun:?}");
    }
}

#[tokio::test]
async fn a_stop_ends_the_wait() {
    let (_server, url) = server(quick());
    let (stop, stopped) = watch::channel(false);
    let mut plan = plan(&url, 4, 2);
    plan.load.warmup = 1;
    let start = Some(after(Duration::from_secs(3_600)));
    let run = begun(&plan, None, start, stopped);
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.send(true).unwrap();
    };
    let ((trailer, run), ()) = tokio::join!(run, stopping);
    assert_eq!(trailer.reason, EndReason::Interrupted);
    assert_eq!(run.begun, None);
    assert!(run.requests.iter().all(|line| line.stage == Stage::Warmup));
}
