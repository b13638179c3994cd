//! What people reported of other tools, as runs with the figures that they should have seen.

mod client;
mod server;

use streamgauge_schema::{
    Anomaly, AnomalyKind, Completion, EndReason, Ending, Failure, FailureClass, JournalTrailer,
    Metric, Observation, RequestLine, RunRecordV2, Timestamp, TokenSource, Usage,
};

use crate::record::{RunInput, build_record};
use crate::sample_run::{ended, header, plan, refused, silent, succeeded};

/// The record of requests that two clients sent.
fn record(lines: &[RequestLine]) -> RunRecordV2 {
    let plan = plan(lines.len() as u64, 2);
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_900_000_000),
        lines: lines.len() as u64,
        listed_models: None,
    };
    build_record(&RunInput {
        plan: &plan,
        header: &header(&plan),
        requests: lines,
        trailer: Some(&trailer),
        grades: None,
        evidence: Vec::new(),
    })
    .unwrap()
}

fn metric<'a>(record: &'a RunRecordV2, id: &str) -> &'a Metric {
    record.metrics.iter().find(|metric| metric.id.as_str() == id).unwrap()
}

/// One request from 0 with output at these milliseconds, changed.
fn one(outputs_ms: &[u64], tokens: u64, change: fn(&mut Observation)) -> Vec<RequestLine> {
    vec![changed(succeeded(0, 0, outputs_ms, tokens), change)]
}

fn changed(mut line: RequestLine, change: fn(&mut Observation)) -> RequestLine {
    change(line.observation.as_mut().unwrap());
    line
}

/// A metric with its value, its samples, and the requests without one.
type Expected = (&'static str, Option<f64>, u64, u64);

#[test]
fn figures() {
    let hidden = |seen: &mut Observation| {
        let kind = AnomalyKind::HiddenReasoning;
        seen.anomalies.push(Anomaly { kind, count: 1, first_offset: 0 });
    };
    let broke_off = |seen: &mut Observation| {
        (seen.ending, seen.usage) = (Some(Ending::Truncated), None);
    };
    let every_100_ms: Vec<u64> = (1..=10).map(|n| 100 * n).collect();
    let around = |middle: RequestLine| {
        vec![succeeded(0, 0, &[100, 1_000], 40), middle, succeeded(2, 3_000, &[100, 1_000], 40)]
    };
    let cases: [(&str, Vec<RequestLine>, &[Expected]); 17] = [
        (
            "vllm-project/vllm#3759: a chunk with a role alone at 5 ms, text at 214 ms",
            one(&[214], 1, |seen| seen.first_event_us = Some(5_000)),
            &[("ttft_p50_ms", Some(214.0), 1, 0)],
        ),
        (
            "vllm-project/vllm#15106: an empty chunk at 0.9 s, text from 2.2 s on",
            one(&[2_200, 2_220, 2_240, 2_260], 4, |seen| seen.first_event_us = Some(900_000)),
            &[
                ("ttft_p50_ms", Some(2_200.0), 1, 0),
                ("chunk_interval_mean_ms", Some(20.0), 3, 0),
                ("chunk_interval_p99_ms", Some(20.0), 3, 0),
            ],
        ),
        (
            "vllm-project/vllm#27485: ten chunks 100 ms apart hold forty tokens",
            one(&every_100_ms, 40, |_| ()),
            &[
                ("chunk_interval_p50_ms", Some(100.0), 9, 0),
                ("tpot_p50_ms", Some(900.0 / 39.0), 1, 0),
            ],
        ),
        (
            "sgl-project/sglang#24254: 512 tokens allowed, usage says 37",
            one(&[100, 1_000], 37, |_| ()),
            &[
                ("output_tokens_p50_tok", Some(37.0), 1, 0),
                ("tpot_p50_ms", Some(25.0), 1, 0),
                ("completion_throughput_tps", Some(37.0), 1, 0),
            ],
        ),
        (
            "sgl-project/sglang#10746: stopped at 100 tokens of 512, decoded in 0.99 s",
            one(&[200, 1_190], 100, |_| ()),
            &[("tpot_p50_ms", Some(10.0), 1, 0)],
        ),
        (
            "sgl-project/sglang#12389, LMCache/LMCache#3220: tokens billed and none streamed",
            vec![silent(0, 0, 30_000, 1_000)],
            &[
                ("ttft_p50_ms", None, 0, 0),
                ("first_generated_median_ms", None, 0, 1),
                ("chunk_interval_p50_ms", None, 0, 0),
                ("completion_throughput_tps", Some(0.0), 1, 0),
                ("request_throughput_per_s", Some(0.0), 1, 0),
            ],
        ),
        (
            "modelscope/evalscope#1694: a missing time is no 0 among the percentiles",
            vec![
                changed(succeeded(0, 0, &[100], 2), |seen| {
                    (seen.first_reasoning_us, seen.first_content_us) = (Some(100_000), None);
                }),
                succeeded(1, 0, &[9_600], 2),
            ],
            &[("ttfc_p50_ms", Some(9_600.0), 1, 1)],
        ),
        (
            "vllm-project/guidellm#737: reasoning at 100 ms, content at 4,100 ms",
            one(&[100, 4_100], 2, |seen| {
                seen.first_reasoning_us = Some(100_000);
                seen.first_content_us = Some(4_100_000);
            }),
            &[("ttft_p50_ms", Some(100.0), 1, 0), ("ttfc_p50_ms", Some(4_100.0), 1, 0)],
        ),
        (
            "kubernetes-sigs/inference-perf#559: cut by length while reasoning",
            one(&[100, 200], 2, |seen| {
                seen.first_reasoning_us = Some(100_000);
                seen.first_content_us = None;
                seen.finish_reasons = vec!["length".into()];
            }),
            &[("ttft_p50_ms", Some(100.0), 1, 0), ("ttfc_p50_ms", None, 0, 1)],
        ),
        (
            "sgl-project/genai-bench#81: reasoning billed and not streamed",
            one(&[4_000, 4_100], 400, hidden),
            &[("tpot_p50_ms", None, 0, 1), ("decode_rate_p50_tok_per_s", None, 0, 1)],
        ),
        (
            "sgl-project/genai-bench#44: one chunk at 80 ms, usage at 120 ms",
            vec![ended(succeeded(0, 0, &[80], 1), 120_000)],
            &[
                ("ttft_p50_ms", Some(80.0), 1, 0),
                ("e2e_p50_ms", Some(120.0), 1, 0),
                ("tpot_p50_ms", None, 0, 1),
            ],
        ),
        (
            "ray-project/llmperf#99: the wait for the first chunk is no gap",
            one(&[500, 510, 520], 3, |_| ()),
            &[("chunk_interval_mean_ms", Some(10.0), 2, 0)],
        ),
        (
            "vllm-project/vllm#9357: two choices, one usage for both",
            one(&[90, 100, 1_000], 40, |seen| seen.choices = 2),
            &[
                ("ttft_p50_ms", Some(90.0), 1, 0),
                ("tpot_p50_ms", None, 0, 1),
                ("completion_throughput_tps", Some(40.0), 1, 0),
            ],
        ),
        (
            "vllm-project/guidellm#444: a refusal is quick and is no latency",
            vec![succeeded(0, 0, &[100, 200], 2), refused(1, 0, 4)],
            &[
                ("e2e_p50_ms", Some(200.0), 1, 0),
                ("ttft_p50_ms", Some(100.0), 1, 0),
                ("completion_median_ms", Some(102.0), 2, 0),
            ],
        ),
        (
            "vllm-project/vllm#37666: a refusal in the middle moves no other token",
            around(refused(1, 2_000, 4)),
            &[
                ("completion_throughput_tps", Some(20.0), 3, 0),
                ("tpot_p50_ms", Some(900.0 / 39.0), 2, 0),
            ],
        ),
        (
            "vllm-project/vllm#37666: tokens of a response that broke off uncounted",
            around(RequestLine {
                completion: Completion::Failed,
                failure: Some(Failure {
                    class: FailureClass::PrematureEof,
                    message: "broke off".into(),
                }),
                ..changed(succeeded(1, 2_000, &[100, 200], 0), broke_off)
            }),
            &[("completion_throughput_tps", None, 0, 1), ("tpot_p50_ms", Some(900.0 / 39.0), 2, 0)],
        ),
        (
            "modelscope/evalscope#413: one body after 30 s instead of a stream",
            vec![ended(
                changed(succeeded(0, 0, &[], 60), |seen| seen.whole_body_output = true),
                30_000_000,
            )],
            &[
                ("ttft_p50_ms", None, 0, 1),
                ("e2e_p50_ms", Some(30_000.0), 1, 0),
                ("completion_throughput_tps", Some(2.0), 1, 0),
            ],
        ),
    ];
    for (report, lines, expected) in cases {
        let record = record(&lines);
        for (id, value, samples, missing) in expected {
            let found = metric(&record, id);
            let seen = (found.value, found.samples, found.missing);
            assert_eq!(seen, (*value, *samples, *missing), "{report}: {id}");
        }
    }
}

/// mlcommons/endpoints#144: "failed: 0" while the file held 20,999 connection errors.
#[test]
fn every_failure_is_counted() {
    let line = |index| match index {
        0..3_577 => succeeded(index, index, &[100, 200], 2),
        _ => refused(index, index, 1),
    };
    let record = record(&(0..24_576).map(line).collect::<Vec<_>>());
    let load = &record.load;
    assert_eq!((load.offered, load.succeeded, load.failed), (24_576, 3_577, 20_999));
    assert!(!load.performance_eligible);
    assert_eq!(metric(&record, "ttft_p50_ms").samples, 3_577);
    assert_eq!(
        record.limitations[0].as_str(),
        "Requests that did not succeed: 20999 of 24576 (none may fail); no gate on the \
         figures passes."
    );
}

/// vllm-project/tpu-inference#3447: a dead engine at 5.9 requests a second stayed green.
#[test]
fn a_run_without_output_is_not_eligible() {
    let record = record(&[silent(0, 0, 30_000, 0), silent(1, 0, 30_000, 0)]);
    assert_eq!((record.load.failed, record.load.performance_eligible), (2, false));
    assert_eq!(metric(&record, "request_throughput_per_s").value, Some(0.0));
}

/// NVIDIA/TensorRT-LLM#13638: one long request at the end drags the whole run down.
#[test]
fn the_steady_window_stands_beside_the_whole_run() {
    let mut lines: Vec<_> = (0..40).map(|n| succeeded(n, 50 * n, &[50, 100], 2)).collect();
    lines[39] = ended(lines[39].clone(), 8_050_000);
    let windows = record(&lines).windows;
    let (whole, steady) = (windows.whole.unwrap(), windows.steady.unwrap());
    assert_eq!((whole.from_ms.value(), whole.to_ms.value()), (0.0, 10_000.0));
    assert_eq!(whole.mean_inflight, (39.0 * 100.0 + 8_050.0) / 10_000.0);
    assert_eq!((steady.from_ms.value(), steady.to_ms.value()), (50.0, 1_950.0));
    assert_eq!(steady.mean_inflight, 2.0);
}

/// vllm-project/vllm#44708: prompts longer than asked for, as the server counts them.
#[test]
fn prompt_tokens_are_the_servers() {
    let lines = one(&[100], 2, |seen| {
        seen.usage = Some(Usage { prompt_tokens: Some(518), ..seen.usage.unwrap_or_default() });
    });
    let record = record(&lines);
    assert_eq!(metric(&record, "prompt_tokens_p50_tok").value, Some(518.0));
    let warning = "Prompts more than 1 percent off the target of 512 tokens by the server's count: \
                   1; more than 2 percent: 0.";
    assert!(record.limitations.iter().any(|limitation| limitation.as_str() == warning));
}

/// tenstorrent/tt-inference-server#4848: "decode TPS" was tokens over the whole run.
#[test]
fn every_figure_says_what_it_is_made_of() {
    for metric in record(&one(&[100, 200], 2, |_| ())).metrics {
        let texts = [&metric.label, &metric.definition, &metric.population];
        assert!(texts.iter().all(|text| !text.as_str().is_empty()), "{}", metric.id);
        let counts_tokens = ["tok/s", "tok"].contains(&metric.unit.as_str());
        assert!(metric.token_source.is_some() || !counts_tokens, "{}", metric.id);
    }
}

/// sgl-project/sglang#12064: with speculative decoding ITL said 8.72 ms where it was 3.42 ms. A hundred
/// gaps of 8.72 ms, with three tokens in 55 of the events and two in the others.
#[test]
fn tokens_that_the_server_counts_have_intervals_of_their_own() {
    let outputs: Vec<u64> = (0..=100).map(|n| 100_000 + 8_720 * n).collect();
    let counts: Vec<u64> = (0..=100).map(|n| if n <= 55 { 3 } else { 2 }).collect();
    let mut line = ended(succeeded(0, 0, &[], 258), 100_000 + 872_000);
    let mut seen = crate::sample_run::observation(&outputs, 258);
    seen.token_counts = Some(counts);
    line.observation = Some(seen);
    let counted = record(&[line.clone()]);
    let mean = metric(&counted, "token_interval_mean_ms");
    assert_eq!(((mean.value.unwrap() * 100.0).round(), mean.samples), (342.0, 255));
    assert_eq!(metric(&counted, "token_interval_p50_ms").value, Some(8.72 / 3.0));
    assert_eq!(metric(&counted, "chunk_interval_mean_ms").value, Some(8.72));
    // Without counts nothing is said of single tokens.
    line.observation.as_mut().unwrap().token_counts = None;
    let uncounted = record(&[line]);
    let interval = metric(&uncounted, "token_interval_p50_ms");
    assert_eq!((interval.value, interval.samples, interval.missing), (None, 0, 1));
    assert!(metric(&uncounted, "tpot_p50_ms").value.is_some());
}

/// vllm-project/vllm#12845: the mean in flight stands in the record, and beside it what Little's law asks
/// for, where the steady window is longer than 20 mean latencies.
#[test]
fn a_long_steady_window_shows_littles_law() {
    let lines =
        |count| -> Vec<_> { (0..count).map(|n| succeeded(n, 50 * n, &[50, 100], 2)).collect() };
    let long = record(&lines(60));
    assert_eq!(metric(&long, "inflight_steady_littles_count").value, Some(2.0));
    assert_eq!(metric(&long, "inflight_steady_mean_count").value, Some(2.0));
    assert_eq!(metric(&record(&lines(40)), "inflight_steady_littles_count").value, None);
}

/// tugot17/tokenomics#16, ai-dynamo/aiperf#716: completion tokens hold those of reasoning already; each
/// total has one source, and no two are added.
#[test]
fn reasoning_is_counted_once() {
    let lines = one(&[100, 1_000], 40, |seen| {
        seen.first_reasoning_us = Some(100_000);
        seen.usage = Some(Usage { reasoning_tokens: Some(30), ..seen.usage.unwrap_or_default() });
    });
    let record = record(&lines);
    for (id, value) in [
        ("output_tokens_p50_tok", 40.0),
        ("completion_throughput_tps", 40.0),
        ("tpot_p50_ms", 900.0 / 39.0),
    ] {
        let found = metric(&record, id);
        assert_eq!(
            (found.value, found.token_source),
            (Some(value), Some(TokenSource::ServerUsage)),
            "{id}"
        );
    }
}

/// CentML/flexible-inference-bench#66: a hundred blanks are seven tokens to a tokenizer that counts the
/// text again. Nothing here does.
#[test]
fn blanks_count_as_the_server_counts_them() {
    let every_10_ms: Vec<u64> = (1..=100).map(|n| 10 * n).collect();
    let record = record(&one(&every_10_ms, 100, |_| ()));
    assert_eq!(metric(&record, "tpot_p50_ms").value, Some(10.0));
    assert_eq!(metric(&record, "output_tokens_p50_tok").value, Some(100.0));
}
