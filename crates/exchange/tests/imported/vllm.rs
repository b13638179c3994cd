//! `vllm bench serve`.

use serde_json::{Value, json};
use streamgauge_exchange::Tool::Vllm;
use streamgauge_schema::{CaseOutcome, Completion, EvidenceMode, RunStatus};

use crate::bench::{assert_verifies, changed, figure, ids, read, runs, sample, says, words};

#[test]
fn single_requests_give_every_statistic() {
    let runs = runs(Vllm, "vllm-detailed.json");
    let [run] = runs.as_slice() else { panic!("one run") };
    let record = &run.record;
    assert_eq!(record.evidence_mode, EvidenceMode::Imported);
    assert_eq!(record.status, RunStatus::Completed);
    assert_eq!(record.deployment.model.as_str(), "example/small");
    assert_eq!((record.load.cell.as_str(), record.load.offered), ("c2", 4));
    assert_eq!((record.load.succeeded, record.load.failed), (3, 1));
    assert!(!record.load.performance_eligible);
    assert_eq!(record.completed_at.to_string(), "2026-11-30T10:15:00.000000+00:00");
    assert_eq!(record.started_at.to_string(), "2026-11-30T10:14:59.250000+00:00");
    for (id, expected) in [
        ("vllm_ttft_p50_ms", 250.0),
        ("vllm_ttft_min_ms", 200.0),
        ("vllm_ttft_max_ms", 310.0),
        ("vllm_itl_p50_ms", 11.0),
        ("vllm_e2el_p50_ms", 294.0),
        // 42 ms over three tokens after the first, 44 over five, 45 over seven.
        ("vllm_tpot_p50_ms", 8.8),
        ("vllm_tpot_max_ms", 14.0),
        ("vllm_request_throughput_per_s", 4.0),
        ("vllm_output_throughput_tok_per_s", 24.0),
    ] {
        let value = figure(record, id).unwrap();
        assert!((value - expected).abs() < 1e-9, "{id}: {value} and not {expected}");
    }
    // Those of the file agree with them.
    assert!(!says(record, "its single requests give"));
}

#[test]
fn prompts_of_which_nothing_is_told_are_said() {
    for (prompts, said) in [(4, false), (6, true)] {
        let bytes = changed("vllm.json", &[("num_prompts", Some(json!(prompts)))]);
        let runs = read(Vllm, &bytes).unwrap();
        let record = &runs[0].record;
        let limitation = "num_prompts is 6, and completed and failed come to 4";
        assert_eq!(says(record, limitation), said, "{prompts}");
        assert_eq!(record.load.offered, 4);
        assert_verifies(record);
    }
}

#[test]
fn a_request_is_what_the_lists_say_and_nothing_else() {
    let runs = runs(Vllm, "vllm-detailed.json");
    let requests = &runs[0].requests;
    let first = &requests[0];
    assert_eq!(first.completion, Completion::Succeeded);
    assert_eq!((first.started_us, first.elapsed_us), (Some(0), Some(242_000)));
    assert_eq!(first.first_output_us, Some(200_000));
    assert_eq!(first.intervals_us.as_deref(), Some(&[10_000, 12_000, 20_000][..]));
    assert_eq!((first.prompt_tokens, first.completion_tokens), (Some(512), Some(4)));
    // The tool writes zeros for a request that failed.
    let failed = &requests[2];
    assert_eq!(failed.completion, Completion::Failed);
    assert_eq!(failed.message.as_deref(), Some("Internal Server Error"));
    assert_eq!((failed.elapsed_us, failed.first_output_us), (None, None));
    assert_eq!((&failed.intervals_us, failed.completion_tokens), (&None, None));
    let record = &runs[0].record;
    let cases = record.cases.as_deref().unwrap();
    assert_eq!((cases[2].outcome, cases[2].duration_ms), (CaseOutcome::Error, None));
    assert_eq!((record.windows.whole, record.performance.observed_peak_inflight), (None, None));
    assert!(says(record, "duration the file does not tell: 1 of 4"));
}

#[test]
fn where_all_succeeded_their_overlap_is_known() {
    let list = |values: Value| Some(values);
    let bytes = changed(
        "vllm-detailed.json",
        &[
            ("errors", list(json!(["", "", "", ""]))),
            ("ttfts", list(json!([0.2, 0.25, 0.1, 0.31]))),
            ("latencies", list(json!([0.242, 0.294, 0.2, 0.355]))),
            ("output_lens", list(json!([4, 6, 2, 8]))),
            ("completed", list(json!(4))),
            ("failed", list(json!(0))),
            ("total_input_tokens", list(json!(2030))),
            ("total_output_tokens", list(json!(20))),
        ],
    );
    let runs = read(Vllm, &bytes).unwrap();
    let record = &runs[0].record;
    assert_verifies(record);
    assert!(record.load.performance_eligible);
    assert_eq!(record.performance.observed_peak_inflight, Some(2));
    assert_eq!(record.windows.whole.unwrap().to_ms.value(), 655.0);
    // The statistics that the file states are those of other requests now.
    assert!(says(record, "Mean of TTFT: the file states 253.33"));
}

#[test]
fn summaries_stand_as_they_are_stated() {
    let runs = runs(Vllm, "vllm.json");
    let record = &runs[0].record;
    assert!(runs[0].requests.is_empty());
    assert!(says(record, "The file has no single requests"));
    let found: Vec<&str> =
        ids(record).into_iter().filter(|id| id.starts_with("vllm_ttft_")).collect();
    let expected = [
        "vllm_ttft_p50_ms",
        "vllm_ttft_p90_ms",
        "vllm_ttft_p99_ms",
        "vllm_ttft_mean_ms",
        "vllm_ttft_pstddev_ms",
    ];
    assert_eq!(found, expected);
    let detailed = crate::bench::runs(Vllm, "vllm-detailed.json");
    for metric in record.metrics.iter().filter(|metric| !metric.id.as_str().contains("pstddev")) {
        let id = metric.id.as_str();
        let both = [record, &detailed[0].record].map(|record| figure(record, id).unwrap());
        assert!((both[0] - both[1]).abs() < 1e-9, "{id}: {both:?}");
    }
}

#[test]
fn zeros_that_stand_for_nothing_are_null() {
    let mut changes: Vec<(&str, Option<Value>)> = vec![
        ("completed", Some(json!(0))),
        ("failed", Some(json!(4))),
        ("mean_ttft_ms", Some(json!(0.0))),
    ];
    let none = read(Vllm, &changed("vllm.json", &changes)).unwrap();
    let record = &none[0].record;
    assert_verifies(record);
    assert!(!ids(record).contains(&"vllm_ttft_mean_ms"));
    // An endpoint that does not stream has latencies, and zeros for what it has not.
    changes.truncate(0);
    for key in ["mean_ttft_ms", "median_ttft_ms", "std_ttft_ms", "p90_ttft_ms", "p99_ttft_ms"] {
        changes.push((key, Some(json!(0.0))));
    }
    let whole = read(Vllm, &changed("vllm.json", &changes)).unwrap();
    assert!(!ids(&whole[0].record).iter().any(|id| id.starts_with("vllm_ttft")));
    assert!(figure(&whole[0].record, "vllm_e2el_mean_ms").is_some());
}

#[test]
fn older_files_and_several_in_one() {
    let older = changed("vllm.json", &[("failed", None), ("total_token_throughput", None)]);
    let runs = read(Vllm, &older).unwrap();
    assert_eq!(runs[0].record.load.failed, 1);
    let both = [older.as_slice(), b"\n", &older].concat();
    assert_eq!(read(Vllm, &both).unwrap().len(), 2);
}

#[test]
fn two_files_never_have_the_same_prompts() {
    let first = runs(Vllm, "vllm.json");
    let second = runs(Vllm, "vllm-detailed.json");
    assert_ne!(first[0].record.suite_sha256, second[0].record.suite_sha256);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let change =
        |key: &'static str, value: Value| changed("vllm-detailed.json", &[(key, Some(value))]);
    let cases = [
        (b"{\n \"duration\": 1,\n".to_vec(), "line 3"),
        (sample("README.md"), "it is no result of vLLM bench serve"),
        (b"[]".to_vec(), "what --save-result writes"),
        (changed("vllm.json", &[("completed", None)]), "missing field `completed`"),
        (change("duration", json!(-1.0)), "the file, duration is -1.0"),
        (change("ttfts", json!([0.1, "x", 0, 0.2])), "ttfts[1]"),
        (change("itls", json!([[], [0.1, -0.5], [], []])), "itls[1][1] is -0.5"),
        (change("itls", json!([[], []])), "itls has 2 entries, errors has 4"),
        (change("completed", json!(4)), "completed is 4, failed is 1"),
        (change("errors", json!(["", "Bad Gateway", "x", ""])), "2 of the 4 single requests"),
        (
            changed("vllm.json", &[("failed", None), ("num_prompts", None)]),
            "how many failed is not told",
        ),
        (change("total_output_tokens", json!(19)), "total_output_tokens is 19"),
        (
            changed("vllm.json", &[("p99_ttft_ms", Some(json!(1.0)))]),
            "quantiles-rise: vllm_ttft_p90_ms (298.0) is at most vllm_ttft_p99_ms (1.0), and does not",
        ),
    ];
    for (bytes, expected) in cases {
        let Err(error) = read(Vllm, &bytes) else { panic!("{expected:?} is not refused") };
        let said = words(&error);
        assert!(said.contains(expected), "{said:?} does not say {expected:?}");
    }
}
