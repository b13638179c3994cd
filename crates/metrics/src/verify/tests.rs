//! Every rule, broken on purpose: a document that holds, one edit, and the rule that must notice.

use std::collections::BTreeSet;

use streamgauge_schema::{
    Document, EndReason, Identifier, JournalTrailer, Json, JsonPath, Layout, RunRecord, Timestamp,
    file_bytes,
};

use super::leaves::value_at;
use super::{unproven, verify};
use crate::record::{RunInput, build_record};
use crate::sample_run::{header, plan, refused, succeeded};

const COMPARISON: &[u8] =
    include_bytes!("../../../schema/tests/records/runtime-profile-comparison-v1.json");

/// Lateness that bends latencies up to 150 ms.
const LATE: &str = r#"{"median": 0.0, "p99": 1.5, "max": 9.0}"#;

/// A run of 24 requests, the last of them refused, with a steady window and receive stamps.
fn record() -> Json {
    let mut plan = plan(24, 2);
    plan.max_failure_ratio = 0.1;
    let mut lines: Vec<_> =
        (0..23).map(|n| succeeded(n, 100 * n, &[100, 150 + n, 200], 5)).collect();
    lines.push(refused(23, 2300, 3));
    lines[0].observer_lag_us = Some(vec![100, 200, 2500]);
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_009_000_000),
        lines: 24,
    };
    let input = RunInput {
        plan: &plan,
        header: &header(&plan),
        requests: &lines,
        trailer: Some(&trailer),
        evidence: Vec::new(),
    };
    Json::from_value(&build_record(&input).unwrap()).unwrap()
}

fn comparison() -> Json {
    serde_json::from_slice(COMPARISON).unwrap()
}

/// `cases[3].outcome` as a path.
fn path(text: &str) -> JsonPath {
    text.split(['.', '[']).fold(JsonPath::root(), |path, step| match step.strip_suffix(']') {
        Some(index) => path.index(index.parse().unwrap()),
        None => path.key(step),
    })
}

/// The document with some members replaced by values given as JSON text.
fn edited(mut tree: Json, edits: &[(&str, &str)]) -> Document {
    for (member, text) in edits {
        let member = path(member);
        let value = value_at(&mut tree, &member).unwrap_or_else(|| panic!("{member} is there"));
        *value = serde_json::from_str(text).unwrap();
    }
    Document::read(&file_bytes(&tree, Layout::AsGiven).unwrap()).unwrap()
}

/// The rules that an edit breaks, the digest's left out.
fn broken(document: &Document) -> BTreeSet<&'static str> {
    verify(document)
        .broken()
        .map(|finding| finding.rule)
        .filter(|rule| *rule != "run-id-is-digest")
        .collect()
}

/// The place of a metric in the record's list.
fn at_metric(id: &str, member: &str) -> String {
    let record = record();
    let Some(Json::Array(metrics)) = record.member("metrics") else { panic!("metrics are a list") };
    let has_id = |metric: &Json| metric.member("id").and_then(Json::as_str) == Some(id);
    let index = metrics.iter().position(has_id).unwrap_or_else(|| panic!("{id} is there"));
    format!("metrics[{index}].{member}")
}

#[test]
fn built_records_hold() {
    let document = edited(record(), &[]);
    let verification = verify(&document);
    let broken: Vec<_> = verification.broken().collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(verification.notes.is_empty());
}

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
        (
            "client-limited-follows",
            &[("instrument.observer_lag_ms", "null"), ("instrument.dispatch_lateness_ms", LATE)],
        ),
    ];
    for (rule, edits) in cases {
        let found = broken(&edited(record(), edits));
        assert!(found.contains(rule), "{rule} by {edits:?}: {found:?}");
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
        ("quantiles-share-samples", "chunk_interval_p95_ms", "samples", "7"),
        ("quantiles-rise", "chunk_interval_p95_ms", "value", "1.0"),
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
        ("interval-level-in-range", "ttft_p50_ms", "interval.level", "1.0"),
        ("interval-holds-value", "ttft_p50_ms", "interval.lower", "100.5"),
        ("interval-holds-value", "ttft_p50_ms", "interval.upper", "99.5"),
    ];
    for (rule, id, member, value) in cases {
        let member = at_metric(id, member);
        let found = broken(&edited(record(), &[(&member, value)]));
        assert!(found.contains(rule), "{rule} by {id}.{member}: {found:?}");
    }
}

#[test]
fn every_rule_of_comparisons_notices_its_fault() {
    let ttft = |member: &str| format!("cells.capacity-4k.metrics.ttft_p50_ms.{member}");
    let first = |member: &str| format!("candidate_turnover.failures[0].{member}");
    let run = |member: &str| format!("candidate_turnover.{member}");
    let cases = [
        ("median-of-counts", "cells.capacity-4k.median_prompt_tokens".to_owned(), "2970.25"),
        ("compared-values-in-range", ttft("baseline"), "-496.0"),
        ("delta-follows", ttft("delta_percent"), "-5.19"),
        ("delta-follows", ttft("delta_percent"), "null"),
        ("delta-follows", ttft("baseline"), "null"),
        ("delta-follows", ttft("baseline"), "0.0"),
        ("flag-follows", ttft("no_more_than_5_percent_regression"), "false"),
        ("flag-follows", ttft("candidate"), "521.0"),
        ("flag-follows", ttft("candidate"), "null"),
        ("performance-gate-follows", "performance_gate_passed".to_owned(), "false"),
        ("performance-gate-follows", ttft("no_more_than_5_percent_regression"), "false"),
        (
            "performance-gate-follows",
            "cells.capacity-4k.candidate_performance_eligible".to_owned(),
            "false",
        ),
        ("performance-gate-follows", "cells".to_owned(), "{}"),
        ("strict-turnover-gate-follows", "strict_turnover_gate_passed".to_owned(), "true"),
        ("turnover-adds-up", run("exact_output_passed"), "57"),
        ("turnover-adds-up", run("failed"), "18446744073709551615"),
        ("failures-are-listed", run("failures"), "[]"),
        ("responses-in-range", run("responses_received"), "61"),
        ("responses-in-range", run("responses_received"), "59"),
        ("failed-turnover-ineligible", run("performance_eligible"), "true"),
        ("failure-indexes-differ", first("request_index"), "35"),
        ("failure-index-in-range", first("request_index"), "60"),
        ("canary-fits-class", first("canary_passed"), "false"),
        ("canary-fits-class", first("canary_passed"), "null"),
        ("canary-fits-class", first("failure_class"), r#""request_canary_failed""#),
    ];
    for (rule, member, value) in cases {
        let found = broken(&edited(comparison(), &[(&member, value)]));
        assert!(found.contains(rule), "{rule} by {member} = {value}: {found:?}");
    }
}

#[test]
fn what_breaks_no_rule() {
    let zero = "cells.capacity-4k.metrics.ttft_p50_ms";
    let comparisons: &[&[(&str, &str)]] = &[
        // Not evaluated: no delta, no pass, and the gate falls with it.
        &[
            (
                zero,
                r#"{"baseline": 0.0, "candidate": 1.0, "delta_percent": null,
                "no_more_than_5_percent_regression": false}"#,
            ),
            ("performance_gate_passed", "false"),
        ],
        // A request that was never answered has no canary.
        &[
            ("candidate_turnover.failures[0].failure_class", r#""request_error""#),
            ("candidate_turnover.failures[0].canary_passed", "null"),
            ("candidate_turnover.responses_received", "59"),
        ],
        &[
            ("candidate_turnover.failures[0].failure_class", r#""request_canary_failed""#),
            ("candidate_turnover.failures[0].canary_passed", "false"),
        ],
    ];
    for edits in comparisons {
        assert!(broken(&edited(comparison(), edits)).is_empty(), "{edits:?}");
    }
    let records: &[&[(&str, &str)]] = &[
        // Lateness bends as lag does; the worse of the two counts.
        &[("instrument.dispatch_lateness_ms", LATE)],
        &[
            ("instrument.observer_lag_ms", "null"),
            ("instrument.dispatch_lateness_ms", r#"{"median": 0.0, "p99": 2.5, "max": 9.0}"#),
        ],
        // Above 10,000 requests the cases stand in a file of their own.
        &[("cases", "null")],
        &[("cases[0].primary_outcome", r#""unverified""#)],
        &[("phase", r#""soak""#)],
        // Everything was answered, but the run was cut off before it could say so.
        &[("status", r#""aborted""#)],
    ];
    for edits in records {
        assert!(broken(&edited(record(), edits)).is_empty(), "{edits:?}");
    }
}

#[test]
fn unknown_words_are_noted() {
    let document =
        edited(record(), &[("phase", r#""soak""#), ("cases[23].failure_stage", r#""power""#)]);
    let notes = verify(&document).notes;
    let notes: Vec<(String, &str)> =
        notes.iter().map(|note| (note.member.to_string(), note.word.as_str())).collect();
    let expected = [("phase".to_owned(), "soak"), ("cases[23].failure_stage".to_owned(), "power")];
    assert_eq!(notes, expected);
}

#[test]
fn a_run_id_is_a_name_and_the_digest() {
    let Document::Run(RunRecord::V2(mut record)) = edited(record(), &[]) else {
        panic!("a record of version 2");
    };
    let mut names = Vec::new();
    for name in ["sample", "sample-000000000000"] {
        record.run_id = Identifier::new(name).unwrap();
        let verification = verify(&Document::Run(RunRecord::V2(record.clone())));
        let finding = verification.broken().next().unwrap();
        assert_eq!(finding.rule, "run-id-is-digest");
        names.push(finding.statement.clone());
        // Every member takes part.
        assert!(finding.members.len() > 300, "{}", finding.members.len());
    }
    assert!(names[0].ends_with("; it has no such ending"), "{}", names[0]);
    assert!(names[1].contains("(sample-000000000000)"), "{}", names[1]);
    record.schema_version = 3;
    assert!(broken(&Document::Run(RunRecord::V2(record.clone()))).contains("schema-version"));
    // A number that JSON does not know has no digest.
    record.load.max_failure_ratio = f64::NAN;
    let verification = verify(&Document::Run(RunRecord::V2(record)));
    let finding = verification.broken().find(|it| it.rule == "run-id-is-digest").unwrap();
    assert!(finding.statement.contains("there is no digest: NaN"), "{}", finding.statement);
}

#[test]
fn statements_hold_the_values_seen() {
    let document = edited(record(), &[("load.timed_out", "1")]);
    let verification = verify(&document);
    let finding = verification.broken().find(|it| it.rule == "offered-is-sum").unwrap();
    assert_eq!(
        finding.statement,
        "load.offered (24) equals succeeded + failed + timed_out + cancelled + not_sent (25)"
    );
    let members: Vec<String> = finding.members.iter().map(JsonPath::to_string).collect();
    assert_eq!(members[0], "load.offered");
    assert_eq!(members.len(), 6);
}

#[test]
fn members_without_a_smallest_step_are_unproven_unless_a_rule_covers_them() {
    let edits = [
        ("candidate_turnover.failures[0].words", "null"),
        ("candidate_turnover.failures[0].finish_reasons", "[]"),
        ("candidate_turnover.failures[0].failure_class", r#""request_error""#),
        ("candidate_turnover.failures[0].canary_passed", "null"),
        ("cells.capacity-4k.metrics.ttft_p50_ms.baseline", "null"),
        ("cells.capacity-4k.metrics.ttft_p50_ms.delta_percent", "null"),
    ];
    let unproven: Vec<String> =
        unproven(&edited(comparison(), &edits)).iter().map(JsonPath::to_string).collect();
    for (member, _) in &edits[..2] {
        assert!(unproven.iter().any(|path| path == member), "{member}");
    }
    for (member, _) in &edits[4..] {
        assert!(!unproven.iter().any(|path| path == member), "{member}");
    }
}
