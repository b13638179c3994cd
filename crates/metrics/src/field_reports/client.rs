//! Reports about clients: schedules that are not kept, queues that nobody sees, streams that
//! something on the way bends.

use streamgauge_schema::{
    CacheState, Digest, Goal, GoalQuantity, LoadShape, Plan, RateStage, RunRecord, Stage,
};

use super::*;
use crate::compare::{InsecureRuns, compare_point};
use crate::gate::{GateOutcome, verdict};
use crate::request::{e2e_from_schedule_ms, e2e_ms, queue_delay_ms};
use crate::sample_run::{due, observation, open_loop};

/// Requests of `service_ms` each, due every `every_ms`, of which `clients` are under way at most.
fn served(count: u64, every_ms: u64, service_ms: u64, clients: usize) -> Vec<RequestLine> {
    let mut free_at_ms = vec![0; clients];
    let line = |n: u64| {
        let due_ms = every_ms * n;
        let client = (0..clients).min_by_key(|client| free_at_ms[*client]).unwrap();
        let start_ms = due_ms.max(free_at_ms[client]);
        free_at_ms[client] = start_ms + service_ms;
        let outputs = [service_ms / 2, service_ms];
        due(succeeded(n, start_ms, &outputs, 2), due_ms, Some(start_ms - due_ms))
    };
    (0..count).map(line).collect()
}

fn record_of(plan: &Plan, lines: &[RequestLine]) -> RunRecordV2 {
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_900_000_000),
        lines: lines.len() as u64,
        listed_models: None,
    };
    build_record(&RunInput {
        plan,
        header: &header(plan),
        requests: lines,
        trailer: Some(&trailer),
        grades: None,
        evidence: Vec::new(),
    })
    .unwrap()
}

fn value(record: &RunRecordV2, id: &str) -> Option<f64> {
    metric(record, id).value
}

/// vllm-project/vllm#54101: with a cap, E2E reads 506 ms; from the schedule it is 1,932 ms.
#[test]
fn a_cap_hides_the_queue_from_latencies_that_count_from_the_start() {
    let record = record_of(&open_loop(8, 10.0, Some(1)), &served(8, 100, 500, 1));
    assert_eq!(value(&record, "queue_delay_mean_ms"), Some(1_400.0));
    assert_eq!(value(&record, "e2e_mean_ms"), Some(500.0));
    assert_eq!(value(&record, "e2e_from_schedule_mean_ms"), Some(1_900.0));
    // The queue is the server's, so to say: the instrument was never late.
    assert_eq!(record.instrument.dispatch_lateness_ms.unwrap().max, 0.0);
    assert!(record.instrument.client_limited.is_empty());
    assert_eq!((record.load.stages[0].sent, record.load.stages[0].late), (8, 7));
}

/// vllm-project/guidellm#1048: tail latency improves exactly when the generator falls behind.
#[test]
fn from_the_schedule_is_delay_and_latency_of_each_request() {
    for (count, every, service, clients) in [(8, 100, 500, 1), (50, 7, 90, 3), (5, 100, 20, 1)] {
        for line in served(count, every, service, clients) {
            let delay = queue_delay_ms(&line).unwrap();
            assert_eq!(e2e_from_schedule_ms(&line), Some(delay + e2e_ms(&line)));
        }
    }
    let closed = succeeded(0, 250, &[100, 200], 2);
    assert_eq!((queue_delay_ms(&closed), e2e_from_schedule_ms(&closed)), (None, None));
    let of_schedule = |it: &Metric| it.id.as_str().contains("_from_schedule_");
    assert!(!record(&[closed]).metrics.iter().any(of_schedule));
}

/// triton-inference-server/server#3113: the previous request made this one late.
#[test]
fn one_worker_that_cannot_keep_up() {
    let lines = served(5, 100, 150, 1);
    let from_schedule: Vec<f64> = lines.iter().filter_map(e2e_from_schedule_ms).collect();
    assert_eq!(from_schedule, [150.0, 200.0, 250.0, 300.0, 350.0]);
    let record = record_of(&open_loop(5, 10.0, Some(1)), &lines);
    assert_eq!(value(&record, "e2e_from_schedule_p50_ms"), Some(250.0));
    assert_eq!(value(&record, "e2e_p50_ms"), Some(150.0));
}

/// kubernetes-sigs/inference-perf#245: stages "complete" while 8,288 items still sit in a queue.
#[test]
fn a_stage_whose_requests_never_went_out_is_invalid() {
    let mut plan = open_loop(20_000, 1_000.0, Some(64));
    plan.max_failure_ratio = 1.0;
    plan.load.duration_ms = Some(20_000);
    let LoadShape::OpenLoop { stages, .. } = &mut plan.load.shape else { panic!("an open loop") };
    let half = RateStage { duration_ms: Some(10_000), requests: 10_000, ..stages[0] };
    *stages = vec![half, half];
    let line = |n| due(succeeded(n, n, &[1, 2], 2), n, Some(0));
    let record = record_of(&plan, &(0..20_000 - 8_288).map(line).collect::<Vec<_>>());
    let seen = record.load.stages.iter();
    let seen: Vec<_> = seen.map(|it| (it.planned, it.sent, it.unsent, it.valid)).collect();
    assert_eq!(seen, [(10_000, 10_000, 0, true), (10_000, 1_712, 8_288, false)]);
    assert!(!record.load.performance_eligible);
    let said = "Stages of the schedule that were not offered: 1 of 2; requests never sent in them: \
                8288 of 10000.";
    assert!(record.limitations.iter().any(|limitation| limitation.as_str() == said));
}

/// triton-inference-server/perf_analyzer#312: requests flagged late by 0.1 to 0.8 ms at start.
#[test]
fn a_request_within_the_stated_tolerance_is_not_late() {
    let line = |n: u64| {
        let mut line = due(succeeded(n, 10 * n, &[5, 8], 2), 10 * n, None);
        line.started_us += 100 * (n + 1);
        line.last_attempt_started_us = line.started_us;
        line
    };
    let record = record_of(&open_loop(8, 100.0, None), &(0..8).map(line).collect::<Vec<_>>());
    assert_eq!(record.load.late_after_ms.unwrap().value(), 1.0);
    assert_eq!((record.load.stages[0].sent, record.load.stages[0].late), (8, 0));
    assert_eq!(record.instrument.dispatch_lateness_ms.unwrap().max, 0.8);
}

/// hatoo/oha#211: a correction turns 2.8 s into 31.7 s, and nobody can tell why.
#[test]
fn both_clocks_are_shown_by_name() {
    let record = record_of(&open_loop(200, 100.0, Some(1)), &served(200, 10, 300, 1));
    for (id, says) in [("e2e_p50_ms", "request's start"), ("e2e_from_schedule_p50_ms", "due time")]
    {
        assert!(metric(&record, id).definition.as_str().contains(says), "{id}");
    }
    assert_eq!(value(&record, "e2e_p99_ms"), Some(300.0));
    let from_schedule = value(&record, "e2e_from_schedule_p99_ms").unwrap();
    assert_eq!(from_schedule, 300.0 + value(&record, "queue_delay_p99_ms").unwrap());
}

/// kubernetes-sigs/inference-perf#364: twice the TPOT on streams of 8,192 events.
#[test]
fn long_streams_have_the_gaps_that_were_stamped() {
    let outputs: Vec<u64> = (0..8_192).map(|n| 500 + 10 * n).collect();
    let record = record(&(0..64).map(|n| succeeded(n, n, &outputs, 8_192)).collect::<Vec<_>>());
    for id in ["chunk_interval_p50_ms", "chunk_interval_p99_ms", "tpot_p50_ms"] {
        assert_eq!(value(&record, id), Some(10.0), "{id}");
    }
    assert_eq!(metric(&record, "chunk_interval_p50_ms").samples, 64 * 8_191);
}

/// confidential-dot-ai/c8s#140: behind a proxy ITL falls while TTFT rises.
#[test]
fn bundled_events_are_no_gain() {
    let side = |first_ms: u64, gap_us: u64, bundled: bool| {
        let line = |n: u64| {
            let outputs: Vec<u64> = (0..100).map(|k| first_ms * 1000 + gap_us * k).collect();
            let mut line = succeeded(n, 1_000 * n, &[], 100);
            line.elapsed_us = outputs[99];
            line.headers_us = Some(outputs[0]);
            let mut seen = observation(&outputs, 100);
            if bundled {
                let kind = AnomalyKind::CoalescedStream;
                seen.anomalies.push(Anomaly { kind, count: 96, first_offset: 0 });
            }
            line.observation = Some(seen);
            line
        };
        record(&(0..20).map(line).collect::<Vec<_>>())
    };
    let (direct, proxied) = (side(22, 5_490, false), side(287, 1_580, true));
    assert_eq!(value(&direct, "chunk_interval_p50_ms"), Some(5.49));
    assert_eq!(value(&proxied, "chunk_interval_p50_ms"), Some(1.58));
    let said = "Responses whose output came mostly in bundles: 20 (events in bundles: 1920);";
    assert!(proxied.limitations.iter().any(|it| it.as_str().starts_with(said)));
    let v2 = |record| [RunRecord::V2(Box::new(record))];
    let comparison = compare_point(&v2(direct), &v2(proxied), &[], InsecureRuns::Refused).unwrap();
    assert_eq!(verdict(&comparison), GateOutcome::Failed);
}

/// vllm-project/guidellm#197: errors count against, time-limit cuts do not, n/a is not 0.
#[test]
fn goodput_counts_what_ended() {
    let mut plan = plan(100, 100);
    plan.goals = vec![
        Goal { quantity: GoalQuantity::Ttft, limit_ms: 500.0 },
        Goal { quantity: GoalQuantity::E2e, limit_ms: 5_000.0 },
    ];
    plan.load.duration_ms = Some(9_000);
    let line = |n| match n {
        0..80 => succeeded(n, 0, &[500, 5_000], 10),
        80..85 => succeeded(n, 0, &[501, 5_000], 10),
        85..95 => refused(n, 0, 4),
        _ => RequestLine {
            completion: Completion::Cancelled,
            ..ended(succeeded(n, 0, &[400], 10), 10_000_000)
        },
    };
    let record = record_of(&plan, &(0..100).map(line).collect::<Vec<_>>());
    let share = metric(&record, "goodput_ratio");
    assert_eq!((share.value, share.samples), (Some(80.0 / 95.0), 95));
    assert_eq!(value(&record, "goodput_req_per_s"), Some(8.0));
}

/// mlcommons/inference#1788: "constraints satisfied" beside a first-token latency of 0.
#[test]
fn a_goal_on_what_was_not_observed_is_missed() {
    let mut plan = plan(2, 2);
    plan.goals = vec![Goal { quantity: GoalQuantity::Ttft, limit_ms: 500.0 }];
    let whole = |n| {
        let line = ended(succeeded(n, 0, &[], 60), 30_000_000);
        changed(line, |seen| seen.whole_body_output = true)
    };
    let record = record_of(&plan, &[whole(0), whole(1)]);
    assert_eq!(value(&record, "ttft_p50_ms"), None);
    let share = metric(&record, "goodput_ratio");
    assert_eq!((share.value, share.samples, share.missing), (Some(0.0), 2, 2));
}

/// vllm-project/vllm#54227: a fixed seed and a prefix cache make TTFT 49 times better.
#[test]
fn a_cold_run_that_was_served_from_a_cache_passes_no_gate() {
    let mut plan = plan(4, 2);
    plan.cache_state = CacheState::WarmEngineUniquePrefixes;
    let run = |cached_tokens| {
        let line = |n| {
            let mut line = succeeded(n, 1_000 * n, &[10, 20], 2);
            let usage = line.observation.as_mut().unwrap().usage.as_mut().unwrap();
            usage.cached_tokens = Some(cached_tokens);
            line
        };
        record_of(&plan, &(0..4).map(line).collect::<Vec<_>>())
    };
    for (cached_tokens, eligible) in [(0, true), (5, true), (6, false), (496, false)] {
        let record = run(cached_tokens);
        assert_eq!(record.load.performance_eligible, eligible, "{cached_tokens} of 512");
        assert_eq!(value(&record, "cached_tokens_ratio"), Some(cached_tokens as f64 / 512.0));
    }
}

/// sgl-project/sglang#13934, LMCache/LMBenchmark#35: warm-up replays a sample of the measurement.
#[test]
fn warm_up_that_shares_prompts_is_said() {
    let mut plan = plan(2, 2);
    plan.load.warmup = 1;
    let mut lines = vec![succeeded(0, 500, &[10, 20], 2), succeeded(1, 500, &[10, 20], 2)];
    lines.push(RequestLine { stage: Stage::Warmup, ..succeeded(0, 0, &[10], 2) });
    let said = |lines: &[RequestLine]| {
        let record = record_of(&plan, lines);
        let limitations = record.limitations.iter();
        limitations.filter(|it| it.as_str().contains("already sent in the warm-up: 1;")).count()
    };
    assert_eq!(said(&lines), 1);
    lines[2].prompt_sha256 = Digest::of(b"another");
    assert_eq!(said(&lines), 0);
}

/// NVIDIA/TensorRT-LLM#13638: one long request drags 2,446 tok/s down to 637.
#[test]
fn throughput_of_the_whole_run_and_of_the_steady_window() {
    let mut lines: Vec<_> = (0..40).map(|n| succeeded(n, 50 * n, &[50, 100], 100)).collect();
    lines[39] = ended(lines[39].clone(), 8_050_000);
    let record = record(&lines);
    assert_eq!(value(&record, "completion_throughput_tps"), Some(400.0));
    // From the second request to the last: 38 requests in 1.9 s.
    let steady = value(&record, "completion_throughput_steady_tok_per_s");
    assert_eq!(steady, Some(2_000.0));
    assert_eq!(value(&record, "request_throughput_steady_per_s"), Some(20.0));
}
