//! Every shape of load against the simulated server: what is sent, when, and what is not.

use std::time::Duration;

use streamgauge_client::Access;
use streamgauge_schema::{
    Arrivals, ClientStage, Completion, EndReason, LoadShape, Plan, RateStage, RequestLine, Stage,
};
use streamgauge_sim::SimConfig;
use streamgauge_workload::Schedule;

use crate::plan::{carry_out, lines, lines_with, plan, request};
use crate::sim::server;

/// One answer after so many milliseconds, all at once.
fn answers_after(ms: u64) -> SimConfig {
    SimConfig {
        ttft: Duration::from_millis(ms),
        interval: Duration::ZERO,
        answer_tokens: 1,
        ..SimConfig::default()
    }
}

fn open_loop(plan: &mut Plan, per_s: f64, max_concurrency: Option<u64>) {
    let requests = plan.load.requests;
    plan.load.shape = LoadShape::OpenLoop {
        arrivals: Arrivals::Constant {},
        max_concurrency,
        stages: vec![RateStage { from_per_s: per_s, to_per_s: per_s, duration_ms: None, requests }],
    };
}

/// From the schedule and from the send to the end, in milliseconds.
fn latencies_ms(lines: &[RequestLine]) -> Vec<(f64, f64)> {
    let ms = |us: u64| us as f64 / 1000.0;
    lines
        .iter()
        .map(|line| {
            let delay = line.started_us - line.scheduled_us.unwrap();
            (ms(delay + line.elapsed_us), ms(line.elapsed_us))
        })
        .collect()
}

/// The most requests that were under way at once.
pub(crate) fn peak(lines: &[RequestLine]) -> i64 {
    let mut edges: Vec<(u64, i64)> = lines
        .iter()
        .flat_map(|line| [(line.started_us, 1), (line.started_us + line.elapsed_us, -1)])
        .collect();
    edges.sort_unstable();
    let mut under_way = 0;
    edges
        .iter()
        .map(|(_, change)| {
            under_way += change;
            under_way
        })
        .max()
        .unwrap_or(0)
}

#[tokio::test]
async fn an_open_loop_sends_at_its_times_whatever_the_server_does() {
    let (_server, url) = server(answers_after(400));
    let mut plan = plan(&url, 10, 1);
    open_loop(&mut plan, 50.0, None);
    let (lines, trailer) = lines(&plan).await;
    assert_eq!(trailer.reason, EndReason::Finished);
    assert_eq!(lines.len(), 10);
    let origin = lines[0].scheduled_us.unwrap();
    for (number, line) in (0..).zip(&lines) {
        assert_eq!(line.completion, Completion::Succeeded);
        assert!(line.scheduled_us.unwrap().abs_diff(origin + number * 20_000) <= 1);
        assert!(line.started_us >= line.scheduled_us.unwrap());
        assert_eq!(line.queued_us, None, "no limit, no waiting for it");
    }
    // All ten are due within 200 ms, and none is answered before 400.
    assert_eq!(peak(&lines), 10);
    let connected_late = lines.iter().filter(|line| line.connect_us.is_none()).count();
    assert_eq!(connected_late, 0, "each had a connection of its own");
}

/// vllm#54101: a stub of 500 ms, 10 requests a second, 8 requests, one at a time.
#[tokio::test]
async fn waiting_for_a_place_is_in_the_latency_from_schedule_alone() {
    let (_server, url) = server(answers_after(500));
    let mut plan = plan(&url, 8, 1);
    open_loop(&mut plan, 10.0, Some(1));
    let (lines, _) = lines(&plan).await;
    assert_eq!(peak(&lines), 1);
    for (number, line) in (0..).zip(&lines) {
        // The n-th is due at n × 100 ms and cannot begin before n × 500 ms.
        let queued_us = line.queued_us.unwrap();
        assert!(queued_us >= number * 395_000, "request {number} waited {queued_us} us");
        assert!(line.started_us - line.scheduled_us.unwrap() >= queued_us);
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let (from_schedule, from_send): (Vec<f64>, Vec<f64>) = latencies_ms(&lines).into_iter().unzip();
    let delay = mean(from_schedule.clone()) - mean(from_send.clone());
    for (found, expected) in
        [(delay, 1_400.0), (mean(from_send), 500.0), (mean(from_schedule), 1_900.0)]
    {
        assert!((expected - 5.0..expected + 250.0).contains(&found), "{found}, not {expected}");
    }
}

/// server#3113: 150 ms of service, a plan of one request each 100 ms, one at a time, 5 requests.
#[tokio::test]
async fn a_late_answer_makes_the_next_request_late_and_that_is_told() {
    let (_server, url) = server(answers_after(150));
    let mut plan = plan(&url, 5, 1);
    open_loop(&mut plan, 10.0, Some(1));
    let (lines, _) = lines(&plan).await;
    let expected = [150.0, 200.0, 250.0, 300.0, 350.0];
    for ((from_schedule, _), expected) in latencies_ms(&lines).into_iter().zip(expected) {
        let range = expected - 2.0..expected + 100.0;
        assert!(range.contains(&from_schedule), "{from_schedule}, not {expected}");
    }
}

#[tokio::test]
async fn when_time_is_up_what_waits_is_not_sent_and_what_runs_has_its_grace() {
    for (grace_ms, completion) in [(20_000, Completion::Succeeded), (0, Completion::Cancelled)] {
        let (_server, url) = server(answers_after(700));
        let mut plan = plan(&url, 10, 1);
        plan.load.duration_ms = Some(1_000);
        plan.limits.grace_ms = grace_ms;
        open_loop(&mut plan, 10.0, Some(1));
        let (lines, trailer) = lines(&plan).await;
        // The first ends after 700 ms; the second is under way when time is up; eight are unsent.
        let completions: Vec<_> = lines.iter().map(|line| line.completion).collect();
        assert_eq!(completions, [Completion::Succeeded, completion], "grace {grace_ms}");
        assert_eq!((trailer.reason, trailer.lines), (EndReason::Finished, 2));
    }
}

#[tokio::test]
async fn a_closed_loop_ends_with_its_time() {
    let (_server, url) = server(answers_after(100));
    let mut plan = plan(&url, 1_000, 2);
    plan.load.duration_ms = Some(550);
    let (lines, trailer) = lines(&plan).await;
    // Each of the two clients begins one at 0, 100, … 500 ms, if nothing is late.
    assert!((2..=12).contains(&lines.len()), "{} lines", lines.len());
    assert!(lines.iter().all(|line| line.completion == Completion::Succeeded));
    assert!(lines.iter().all(|line| line.scheduled_us.is_none()));
    assert_eq!(peak(&lines), 2);
    assert_eq!(trailer.reason, EndReason::Finished);
    let first = lines.iter().map(|line| line.started_us).min().unwrap();
    assert!(lines.iter().all(|line| line.started_us < first + 550_000));
}

#[tokio::test]
async fn clients_of_stages_come_and_go() {
    let (_server, url) = server(answers_after(40));
    let mut plan = plan(&url, 1_000, 1);
    let stage =
        |clients| ClientStage { from_clients: clients, to_clients: clients, duration_ms: 400 };
    plan.load.shape = LoadShape::ClosedStages { stages: vec![stage(1), stage(4), stage(1)] };
    plan.load.duration_ms = Some(1_200);
    let (lines, _) = lines(&plan).await;
    assert_eq!(peak(&lines), 4);
    let origin = lines[0].started_us;
    let of = |from_ms: u64, to_ms: u64| -> Vec<RequestLine> {
        let within = |line: &&RequestLine| {
            (from_ms * 1_000..to_ms * 1_000).contains(&(line.started_us - origin))
        };
        lines.iter().filter(within).cloned().collect()
    };
    assert_eq!(peak(&of(0, 395)), 1);
    // The three clients too many finish what they have begun.
    assert_eq!(peak(&of(900, 1_200)), 1);
}

/// perf_analyzer#312: what is made ready before the first request must not make it late.
#[tokio::test]
async fn making_requests_ready_makes_none_late() {
    let (_server, url) = server(answers_after(1));
    let mut plan = plan(&url, 10, 1);
    open_loop(&mut plan, 100.0, None);
    let (lines, _) = lines_with(&plan, &Access::default(), |stage, index| {
        // All ten are due within 100 ms, and making them ready takes 400.
        std::thread::sleep(Duration::from_millis(40));
        request(stage, index, "")
    })
    .await;
    for line in &lines {
        let late_us = line.started_us - line.scheduled_us.unwrap();
        assert!(late_us < 200_000, "request {} was {late_us} us late", line.index);
    }
}

#[tokio::test]
async fn a_trace_is_sent_at_the_times_of_its_dataset() {
    let (_server, url) = server(answers_after(1));
    let mut plan = plan(&url, 4, 1);
    plan.load.shape = LoadShape::Trace { max_concurrency: None, span_ms: 90 };
    let due_us = [0, 10_000, 10_000, 90_000];
    let schedule = Schedule::new(&plan.load, Some(due_us.into())).unwrap();
    let request_of = |stage, index| request(stage, index, "");
    let (lines, _) = carry_out(&plan, &schedule, &Access::default(), request_of).await.unwrap();
    let origin = lines[0].scheduled_us.unwrap();
    for (line, due_us) in lines.iter().zip(due_us) {
        assert!(line.scheduled_us.unwrap().abs_diff(origin + due_us) <= 1);
        assert!(line.started_us >= line.scheduled_us.unwrap());
    }
}

#[tokio::test]
async fn a_warmup_comes_before_and_is_no_part_of_the_schedule() {
    let (_server, url) = server(answers_after(30));
    let mut plan = plan(&url, 4, 1);
    plan.load.warmup = 20;
    open_loop(&mut plan, 100.0, None);
    let (lines, _) = lines(&plan).await;
    let (measured, warmup): (Vec<_>, Vec<_>) =
        lines.into_iter().partition(|line| line.stage == Stage::Measured);
    assert_eq!((measured.len(), warmup.len()), (4, 20));
    assert_eq!(peak(&warmup), 8);
    assert!(warmup.iter().all(|line| line.scheduled_us.is_none()));
    let warm = warmup.iter().map(|line| line.started_us + line.elapsed_us).max().unwrap();
    assert!(measured.iter().all(|line| line.scheduled_us.unwrap() >= warm));
}

#[tokio::test]
async fn too_many_failures_stop_the_run_and_keep_what_there_is() {
    let (_server, url) = server(answers_after(1));
    for (every, max_error_ratio, reason, least, most) in [
        (4, Some(0.2), EndReason::ErrorRate, 20, 30),
        (4, Some(0.5), EndReason::Finished, 100, 100),
        (1, None, EndReason::Finished, 100, 100),
        // Fewer than twenty are not judged.
        (1, Some(0.0), EndReason::ErrorRate, 20, 20),
    ] {
        let mut plan = plan(&url, 100, 1);
        plan.limits.max_error_ratio = max_error_ratio;
        let (lines, trailer) = lines_with(&plan, &Access::default(), |stage, index| {
            let fails = index % every == 0;
            request(stage, index, if fails { r#","sim":{"fault":"status:503"}"# } else { "" })
        })
        .await;
        assert_eq!(trailer.reason, reason);
        assert!((least..=most).contains(&lines.len()), "{} lines", lines.len());
        assert_eq!(trailer.lines, lines.len() as u64);
    }
}
