//! Several workers: the load stays one load.

use std::collections::HashSet;
use std::time::Duration;

use streamgauge_client::Access;
use streamgauge_schema::{Arrivals, Completion, EndReason, LoadShape, RateStage, Stage};
use streamgauge_sim::SimConfig;

use crate::plan::{lines, lines_with, plan, request};
use crate::shapes::peak;
use crate::sim::server;

fn quick() -> SimConfig {
    SimConfig {
        ttft: Duration::from_millis(5),
        interval: Duration::from_millis(1),
        ..SimConfig::default()
    }
}

#[tokio::test]
async fn each_request_is_sent_once_and_no_more_are_under_way_than_asked() {
    let (server, url) = server(quick());
    for (concurrency, warmup) in [(1, 0), (2, 2), (7, 9)] {
        let mut plan = plan(&url, 60, concurrency);
        plan.load.warmup = warmup;
        plan.instrument.workers = 3;
        let (lines, trailer) = lines(&plan).await;
        assert_eq!((trailer.reason, trailer.lines), (EndReason::Finished, 60 + warmup));
        let sent: HashSet<_> = lines.iter().map(|line| (line.stage, line.index)).collect();
        assert_eq!(sent.len() as u64, 60 + warmup);
        assert!(lines.iter().all(|line| line.completion == Completion::Succeeded));
        let (measured, warmed): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| line.stage == Stage::Measured);
        assert_eq!(peak(&measured) as u64, concurrency);
        let warm = warmed.iter().map(|line| line.started_us + line.elapsed_us).max();
        assert!(measured.iter().all(|line| warm.is_none_or(|end| line.started_us >= end)));
    }
    let ids: HashSet<_> = server.shutdown().into_iter().map(|request| request.id).collect();
    assert_eq!(ids.len(), 60 + 9, "no request of a stage was sent to the server twice");
}

#[tokio::test]
async fn due_requests_go_out_in_their_order_below_the_limit_of_all_workers() {
    let (_server, url) = server(quick());
    for max_concurrency in [None, Some(4)] {
        let mut plan = plan(&url, 200, 1);
        plan.instrument.workers = 3;
        plan.load.shape = LoadShape::OpenLoop {
            arrivals: Arrivals::Poisson { seed: 1 },
            max_concurrency,
            stages: vec![RateStage {
                from_per_s: 500.0,
                to_per_s: 500.0,
                duration_ms: None,
                requests: 200,
            }],
        };
        let (lines, _) = lines(&plan).await;
        assert_eq!(lines.len(), 200);
        for line in &lines {
            assert_eq!(line.completion, Completion::Succeeded, "{:?}", line.failure);
            assert!(line.started_us >= line.scheduled_us.unwrap());
        }
        assert!(lines.is_sorted_by_key(|line| line.scheduled_us));
        assert!(max_concurrency.is_none_or(|most| peak(&lines) as u64 <= most));
    }
}

#[tokio::test]
async fn too_many_failures_stop_every_worker() {
    let (_server, url) = server(quick());
    let mut plan = plan(&url, 100_000, 6);
    plan.instrument.workers = 3;
    plan.limits.max_error_ratio = Some(0.0);
    let (lines, trailer) = lines_with(&plan, &Access::default(), |stage, index| {
        request(stage, index, r#","sim":{"fault":"status:503"}"#)
    })
    .await;
    assert_eq!(trailer.reason, EndReason::ErrorRate);
    assert!((20..40).contains(&lines.len()), "{} lines", lines.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_may_be_a_task_of_any_runtime() {
    let (_server, url) = server(quick());
    for workers in [1, 2] {
        let mut plan = plan(&url, 40, 8);
        plan.instrument.workers = workers;
        let (lines, _) = tokio::spawn(async move { lines(&plan).await }).await.unwrap();
        assert_eq!(lines.len(), 40);
        assert!(lines.iter().all(|line| line.completion == Completion::Succeeded));
    }
}
