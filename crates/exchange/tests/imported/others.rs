//! AIPerf, GuideLLM and SGLang's `bench_serving`.

use serde_json::json;
use streamgauge_exchange::Tool::{Aiperf, Guidellm, Sglang};
use streamgauge_schema::{Completion, RunRecordV2, RunStatus};

use crate::bench::{MODIFIED, changed, figure, ids, read, runs, sample, says, words};

fn assert_figures(record: &RunRecordV2, expected: &[(&str, f64)]) {
    for (id, expected) in expected {
        let value = figure(record, id).unwrap_or_else(|| panic!("{id} is null"));
        assert!((value - expected).abs() < 1e-9, "{id}: {value} and not {expected}");
    }
}

#[test]
fn aiperf_lines() {
    let runs = runs(Aiperf, "aiperf.jsonl");
    let [run] = runs.as_slice() else { panic!("one run") };
    let record = &run.record;
    let load = &record.load;
    assert_eq!((load.succeeded, load.failed, load.cancelled), (3, 1, 1));
    // As of a run of ours: one that left requests without an end did not come to its own.
    assert_eq!(record.status, RunStatus::Aborted);
    assert_eq!(load.cell.as_str(), "imported");
    assert_figures(
        record,
        &[
            ("aiperf_ttft_p50_ms", 60.0),
            ("aiperf_request_latency_max_ms", 300.0),
            // All chunks of all answers: 30, 40, 50, 80, 100, 120.
            ("aiperf_inter_chunk_latency_p50_ms", 65.0),
            ("aiperf_inter_token_latency_p50_ms", 40.0),
            ("aiperf_benchmark_duration_s", 0.4),
            ("aiperf_request_throughput_per_s", 7.5),
            ("aiperf_output_token_throughput_tok_per_s", 32.5),
        ],
    );
    assert!(says(record, "Lines of the warm-up, left out: 1."));
    let of = |at: usize| {
        let request = &run.requests[at];
        (request.completion, request.started_us, request.elapsed_us)
    };
    assert_eq!(of(0), (Completion::Succeeded, Some(0), Some(200_000)));
    assert_eq!(of(2), (Completion::Failed, Some(200_500), Some(30_000)));
    assert_eq!(run.requests[2].message.as_deref(), Some("503 HTTPError Service Unavailable"));
    assert_eq!(record.performance.observed_peak_inflight, Some(3));
}

#[test]
fn aiperf_summary() {
    let runs = runs(Aiperf, "aiperf.json");
    let record = &runs[0].record;
    assert!(record.instrument.version.as_str().starts_with("AIPerf 0.14.0, read by"));
    assert_eq!(record.deployment.model.as_str(), "example/small");
    assert_eq!((record.load.cell.as_str(), record.load.failed), ("c2", 1));
    assert_eq!(record.completed_at.to_string(), "2026-11-30T10:15:00.650000+00:00");
    assert_figures(
        record,
        &[
            ("aiperf_request_latency_p99_ms", 298.0),
            ("aiperf_ttft_pstddev_ms", 10.0),
            ("aiperf_request_throughput_per_s", 7.5),
        ],
    );
}

#[test]
fn guidellm_benchmarks() {
    let runs = runs(Guidellm, "guidellm.json");
    let [full, part] = runs.as_slice() else { panic!("two runs") };
    let load = &full.record.load;
    assert_eq!((load.succeeded, load.failed, load.cancelled), (4, 1, 1));
    assert_eq!((load.cell.as_str(), part.record.load.cell.as_str()), ("r4", "c8"));
    // Of four values the tool takes the second for their median.
    assert_figures(
        &full.record,
        &[("guidellm_ttft_p50_ms", 115.0), ("guidellm_request_latency_p50_ms", 575.0)],
    );
    assert_figures(
        &part.record,
        &[
            ("guidellm_ttft_p50_type1_ms", 110.0),
            ("guidellm_request_latency_p50_type1_ms", 550.0),
            ("guidellm_ttft_mean_ms", 120.0),
            ("guidellm_requests_per_second_mean_per_s", 3.2),
        ],
    );
    assert!(!ids(&part.record).contains(&"guidellm_ttft_p50_ms"));
    assert!(part.requests.is_empty() && says(&part.record, "keeps a sample"));
    let completions: Vec<Completion> = full.requests.iter().map(|it| it.completion).collect();
    assert_eq!(completions.iter().filter(|it| **it == Completion::Cancelled).count(), 1);
    assert_eq!(full.requests[3].message.as_deref(), Some("HTTP 500 Internal Server Error"));
    assert!(!says(&full.record, "its single requests give"));
}

#[test]
fn sglang_lines() {
    let runs = runs(Sglang, "sglang.jsonl");
    let [detailed, summary] = runs.as_slice() else { panic!("two runs") };
    assert_eq!(detailed.record.deployment.model.as_str(), "small");
    assert_eq!(summary.record.deployment.model.as_str(), "not told");
    // `Infinity`, which is no JSON, is an unlimited rate.
    assert_eq!(detailed.record.load.cell.as_str(), "c4");
    assert_eq!(summary.record.load.cell.as_str(), "r3.5-max4");
    assert_figures(
        &detailed.record,
        &[
            ("sglang_ttft_p50_ms", 220.0),
            ("sglang_ttft_max_ms", 290.0),
            ("sglang_e2e_latency_p50_ms", 290.0),
            ("sglang_itl_max_ms", 21.0),
            ("sglang_concurrency_count", 0.45),
        ],
    );
    assert_eq!((detailed.record.load.failed, summary.record.load.failed), (1, 0));
    let refused = detailed.requests[2].message.as_deref();
    assert_eq!(refused, Some("ClientConnectorError: refused"));
    // The file tells no time, so that its own stands there.
    assert_eq!(summary.record.started_at.unix_micros(), MODIFIED);
    assert!(says(&summary.record, "The file tells no time"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let lines = String::from_utf8(sample("aiperf.jsonl")).unwrap();
    let aiperf = |from: &str, to: &str| lines.replace(from, to).into_bytes();
    let sglang = String::from_utf8(sample("sglang.jsonl")).unwrap();
    let sglang = |from: &str, to: &str| sglang.replacen(from, to, 1).into_bytes();
    let guidellm = String::from_utf8(sample("guidellm.json")).unwrap();
    let guidellm = |from: &str, to: &str| guidellm.replacen(from, to, 1).into_bytes();
    let cases = [
        (Aiperf, b"{}".to_vec(), "missing field `request_latency`"),
        (Aiperf, Vec::new(), "it is no result of AIPerf"),
        (
            Aiperf,
            aiperf("\"value\": 60.0", "\"value\": -60.0"),
            "line 2, metrics.time_to_first_token",
        ),
        (Aiperf, aiperf("\"unit\": \"ms\"", "\"unit\": \"fortnights\""), "is \"fortnights\""),
        (
            Aiperf,
            aiperf("\"request_end_ns\": 1790000000200000000", "\"request_end_ns\": 1"),
            "line 3",
        ),
        (
            Aiperf,
            changed("aiperf.json", &[("request_count", Some(json!({"avg": 2.5})))]),
            "request_count.avg is 2.5",
        ),
        (Guidellm, b"{\"benchmarks\": []}".to_vec(), "no result in it"),
        (
            Guidellm,
            guidellm("\"successful\": 4", "\"successful\": \"4\""),
            "benchmarks[0].metrics.request_totals",
        ),
        (
            Guidellm,
            guidellm("\"request_latency\": 0.5", "\"request_latency\": -0.5"),
            "benchmarks[0].requests.successful[0], request_latency is -0.5",
        ),
        (Sglang, b"\n\n".to_vec(), "no result in it"),
        (Sglang, sglang("\"backend\"", "\"frontend\""), "missing field `backend`"),
        (Sglang, sglang("\"completed\": 3", "\"completed\": 2"), "completed is 2, and 3 of the 4"),
        (
            Sglang,
            sglang("[0.18, 0.29, 0.0, 0.22]", "[0.18]"),
            "line 1 contradicts itself: ttfts has 1",
        ),
        (Sglang, b"{}\n{\"backend\": 1}".to_vec(), "missing field `backend`"),
    ];
    for (tool, bytes, expected) in cases {
        let Err(error) = read(tool, &bytes) else { panic!("{tool}: {expected:?} is not refused") };
        let said = words(&error);
        assert!(said.contains(expected), "{tool}: {said:?} does not say {expected:?}");
    }
}
