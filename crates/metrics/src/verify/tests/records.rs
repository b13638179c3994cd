//! Rules of run records, broken one by one.

use super::{at_metric, broken, built, edited, record};
use crate::sample_run::{plan, succeeded};

#[test]
fn every_rule_of_records_notices_its_fault() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("times-in-order", &[("completed_at", r#""2026-01-01T00:00:00.000000+00:00""#)]),
        ("counts-sum-to-declared", &[("counts.outcomes.error", "2")]),
        ("counts-leave-out-zeros", &[("counts.outcomes", r#"{"unverified": 24, "error": 0}"#)]),
        ("counts-match-cases", &[("cases[0].outcome", r#""fail""#)]),
        ("counts-match-cases", &[("counts.outcomes", r#"{"unverified": 24}"#)]),
        ("declared-matches-cases", &[("counts.declared", "25")]),
        ("primary-passes-match-cases", &[("counts.primary_passes", "1")]),
        ("primary-passes-passed", &[("counts.primary_passes", "1")]),
        ("case-ids-differ", &[("cases[1].case_id", r#""request-01""#)]),
        ("primary-outcome-fits", &[("cases[0].primary_outcome", r#""pass""#)]),
        ("primary-outcome-fits", &[("cases[23].primary_outcome", r#""fail""#)]),
        // What was not answered has no primary outcome, not even its own.
        ("primary-outcome-fits", &[("cases[23].primary_outcome", r#""error""#)]),
        (
            "passes-have-no-failure-stage",
            &[("cases[23].outcome", r#""pass""#), ("cases[23].failure_stage", r#""stream""#)],
        ),
        ("durations-are-whole-microseconds", &[("cases[0].duration_ms", "200.0001")]),
        ("completed-ran-all", &[("counts.outcomes", r#"{"unverified": 23, "not_run": 1}"#)]),
        ("successes-were-declared", &[("performance.transport_successes", "25")]),
        ("input-tokens-in-order", &[("performance.actual_input_tokens_max", "511")]),
        ("input-tokens-in-order", &[("performance.actual_input_tokens_min", "null")]),
        ("peak-within-limit", &[("performance.observed_peak_inflight", "3")]),
        ("offered-is-sum", &[("load.timed_out", "1")]),
        ("offered-was-declared", &[("load.offered", "25")]),
        ("successes-agree", &[("load.succeeded", "22")]),
        ("completions-match-outcomes", &[("load.failed", "0"), ("load.timed_out", "1")]),
        ("eligibility-follows", &[("load.performance_eligible", "false")]),
        ("eligibility-follows", &[("load.max_failure_ratio", "0.01")]),
        ("eligibility-follows", &[("status", r#""aborted""#)]),
        ("eligibility-follows", &[("cases[0].failure_stage", r#""contract""#)]),
        ("failure-ratio-in-range", &[("load.max_failure_ratio", "1.5")]),
        (
            "windows-run-forward",
            &[("windows.whole.to_ms", "0.0"), ("windows.whole.from_ms", "1.0")],
        ),
        ("windows-are-whole-microseconds", &[("windows.steady.from_ms", "100.0001")]),
        ("inflight-in-range", &[("windows.whole.mean_inflight", "-1.0")]),
        ("steady-window-inside", &[("windows.steady.to_ms", "1e6")]),
        ("steady-window-inside", &[("windows.whole", "null")]),
        ("batch-is-whole-window", &[("windows.whole.to_ms", "2303.001")]),
        ("coalesced-reads-are-reads", &[("instrument.coalesced_reads", "100000")]),
        ("spreads-rise", &[("instrument.observer_lag_ms.max", "0.0")]),
        ("client-limited-follows", &[("instrument.client_limited", r#"["other"]"#)]),
        ("client-limited-follows", &[("instrument.client_limited", r#"["ttft_p50_ms"]"#)]),
        ("client-limited-follows", &[("instrument.client_limited", "[]")]),
        ("client-limited-follows", &[("instrument.observer_lag_ms.p99", "0.9")]),
        ("client-limited-follows", &[("instrument.observer_lag_ms", "null")]),
    ];
    for (rule, edits) in cases {
        let found = broken(&edited(record(), edits));
        assert!(found.contains(rule), "{rule} by {edits:?}: {found:?}");
    }
}

#[test]
fn a_cache_that_served_a_cold_cell_makes_it_ineligible() {
    let ratio = at_metric(&record(), "cached_tokens_ratio", "value");
    let samples = at_metric(&record(), "cached_tokens_ratio", "samples");
    for (state, share, holds) in [
        ("cold_engine", "0.010000000000000002", false),
        ("cold_engine", "0.01", true),
        ("warm_engine_unique_prefixes", "0.5", false),
        ("warm_engine_shared_prefixes", "0.5", true),
    ] {
        let state = format!("{state:?}");
        let edits = [("performance.cache_state", state.as_str()), (&ratio, share), (&samples, "9")];
        let found = broken(&edited(record(), &edits));
        assert_eq!(!found.contains("eligibility-follows"), holds, "{edits:?}: {found:?}");
    }
}

#[test]
fn a_steady_window_and_its_metrics_go_together() {
    let found = broken(&edited(record(), &[("windows.steady", "null")]));
    assert!(found.contains("metric-windows-fit"), "{found:?}");
}

#[test]
fn where_every_request_succeeded_prompt_lengths_are_said_twice() {
    let lines = [succeeded(0, 0, &[100, 200], 5), succeeded(1, 300, &[100, 200], 5)];
    let record = built(&plan(2, 1), &lines);
    assert!(broken(&edited(record.clone(), &[])).is_empty());
    let found = broken(&edited(record, &[("performance.actual_input_tokens_max", "513")]));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["input-tokens-said-twice"]);
}

/// The windows, and whatever is made of durations, are held to the cases.
#[test]
fn windows_and_latencies_are_held_to_the_cases() {
    let cases = [
        ("windows.whole.mean_inflight", "1.9"),
        ("windows.whole.to_ms", "2400.001"),
        ("windows.steady.mean_inflight", "1.9"),
        ("windows.steady.from_ms", "100.001"),
        ("windows.steady.to_ms", "2299.999"),
        ("cases[3].duration_ms", "200.001"),
        ("performance.observed_peak_inflight", "3"),
    ];
    for (member, value) in cases {
        let found = broken(&edited(record(), &[(member, value)]));
        assert!(!found.is_empty(), "{member} = {value}");
    }
}

#[test]
fn every_rule_of_metrics_notices_its_fault() {
    let cases = [
        ("metric-ids-differ", "ttft_p95_ms", "id", r#""ttft_p50_ms""#),
        ("values-in-range", "ttft_mean_ms", "value", "-1.0"),
        ("values-in-range", "ttft_mean_ms", "unit", r#""ratio""#),
        ("value-where-samples", "ttft_p50_ms", "value", "null"),
        ("value-where-samples", "ttft_p50_ms", "samples", "0"),
        ("no-value-without-samples", "request_throughput_per_s", "samples", "0"),
        ("samples-were-declared", "ttft_p50_ms", "samples", "25"),
        ("one-batch-duration", "batch_duration_seconds", "samples", "2"),
        ("metrics-as-catalogued", "ttft_p50_ms", "direction", r#""neutral""#),
        ("metrics-as-catalogued", "tpot_p50_ms", "token_source", "null"),
        ("quantiles-share-samples", "completion_p95_ms", "samples", "23"),
        ("statistics-share-samples", "chunk_interval_p95_ms", "samples", "7"),
        ("statistics-share-samples", "chunk_interval_stddev_ms", "missing", "1"),
        ("statistics-rise", "chunk_interval_p95_ms", "value", "1.0"),
        ("statistics-rise", "ttft_mean_ms", "value", "99.0"),
        ("spread-where-two-samples", "ttft_stddev_ms", "value", "null"),
        ("spread-fits-extremes", "chunk_interval_stddev_ms", "value", "100.0"),
        ("spread-fits-extremes", "chunk_interval_stddev_ms", "value", "0.001"),
        ("statistics-of-whole-numbers", "chunk_interval_min_ms", "value", "20.0005"),
        ("statistics-of-whole-numbers", "chunk_interval_mean_ms", "value", "50.0001"),
        ("statistics-of-whole-numbers", "chunk_interval_p50_ms", "value", "50.0001"),
        ("bounds-are-samples", "chunk_interval_p50_ms", "interval.lower", "49.0005"),
        ("interval-is-of-order-statistics", "ttft_p50_ms", "interval.level", "0.9"),
        ("interval-beside-quantile", "ttft_p50_ms", "interval", "null"),
        ("bounds-by-rank", "ttft_p50_ms", "interval.upper", "null"),
        ("bounds-by-rank", "ttft_p95_ms", "interval.upper", "100.0"),
        ("bounds-within-extremes", "ttft_p50_ms", "interval.lower", "99.0"),
        ("shares-count-requests", "error_ratio", "value", "0.05"),
        ("share-interval-follows", "error_ratio", "interval.upper", "0.5"),
        ("shares-cover-population", "length_limited_ratio", "missing", "2"),
        ("shares-of-known-ends", "error_ratio", "value", "0.0"),
        ("finish-reasons-exclude-each-other", "tool_call_ratio", "value", "1.0"),
        ("token-shares-cover-sent", "cached_tokens_ratio", "missing", "3"),
        ("run-figures-have-all-requests", "inflight_mean_count", "samples", "23"),
        ("token-rates-are-tokens-over-length", "input_throughput_tok_per_s", "value", "50.1"),
        ("total-is-input-and-output", "total_throughput_tok_per_s", "value", "0.4166666666666667"),
        ("peaks-are-of-tiles", "request_throughput_peak_per_s", "value", "1.0"),
        (
            "peaks-are-of-tiles",
            "completion_throughput_peak_tok_per_s",
            "value",
            "0.8333333333333334",
        ),
        ("run-figures-have-all-requests", "inflight_mean_count", "missing", "1"),
        ("delays-said-twice", "observer_lag_max_ms", "value", "2.501"),
        ("inflight-said-twice", "inflight_mean_count", "value", "1.0"),
        ("inflight-said-twice", "inflight_peak_count", "value", "1.0"),
        ("steady-window-is-long", "e2e_p50_ms", "value", "900.0"),
        ("littles-law-follows", "inflight_steady_littles_count", "value", "2.0"),
        ("latency-matches-cases", "e2e_mean_ms", "value", "200.00000000000003"),
        ("latency-matches-cases", "e2e_p99_ms", "samples", "22"),
        ("latency-matches-cases", "e2e_p50_ms", "interval.upper", "200.001"),
        ("quantiles-rise", "completion_median_ms", "value", "201.0"),
        ("completion-matches-cases", "completion_median_ms", "value", "200.00000000000003"),
        ("completion-matches-cases", "completion_p95_ms", "value", "199.99999999999997"),
        ("completion-samples-match-cases", "completion_median_ms", "samples", "23"),
        ("cases-fit-into-batch", "batch_duration_seconds", "value", "0.1"),
        ("times-span-batch", "batch_duration_seconds", "value", "9.1"),
        ("throughput-is-tokens-over-duration", "completion_throughput_tps", "value", "50.1"),
        ("request-throughput-follows", "request_throughput_per_s", "value", "10.0"),
        ("population-is-covered", "ttft_p50_ms", "missing", "1"),
        ("population-is-covered", "first_generated_median_ms", "missing", "0"),
        ("population-is-covered", "chunk_interval_p50_ms", "missing", "24"),
        ("client-limited-follows", "e2e_p99_ms", "value", "1000.0"),
        ("client-limited-follows", "e2e_p99_ms", "value", "null"),
        ("gaps-in-order", "stream_chunk_interval_min_ms", "value", "74.5"),
        ("gaps-in-order", "stream_chunk_interval_min_ms", "value", "null"),
        ("gaps-in-order", "stream_chunk_interval_max_ms", "value", "20.0"),
        ("gaps-in-order", "stream_chunk_interval_max_ms", "samples", "45"),
        ("metric-windows-fit", "ttft_p50_ms", "window", r#""steady""#),
        ("metric-windows-fit", "ttft_steady_p50_ms", "window", r#""whole""#),
        ("steady-requests-agree", "ttft_steady_p50_ms", "missing", "1"),
        ("steady-requests-agree", "tpot_steady_p99_ms", "samples", "3"),
        ("steady-throughput-follows", "request_throughput_steady_per_s", "value", "10.5"),
        ("steady-tokens-over-length", "completion_throughput_steady_tok_per_s", "value", "50.1"),
        ("interval-level-in-range", "ttft_p50_ms", "interval.level", "1.0"),
        ("interval-holds-value", "ttft_p50_ms", "interval.lower", "100.5"),
        ("interval-holds-value", "ttft_p50_ms", "interval.upper", "99.5"),
    ];
    for (rule, id, member, value) in cases {
        let member = at_metric(&record(), id, member);
        let found = broken(&edited(record(), &[(&member, value)]));
        assert!(found.contains(rule), "{rule} by {id}.{member}: {found:?}");
    }
}
