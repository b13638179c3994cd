//! Every rule, broken on purpose: a document that holds, one edit, and the rule that must notice.

mod answers;
mod blocks;
mod decisions;
mod determinism;
mod graded;
mod ledgers;
mod records;
mod replicas;
mod runs;
mod schedules;
mod server;
mod turnovers;

use std::collections::BTreeSet;

use streamgauge_schema::{
    Document, EndReason, Grades, Identifier, JournalTrailer, Json, JsonPath, Layout, Plan,
    RequestLine, RunRecord, Timestamp, file_bytes,
};

use super::leaves::value_at;
use super::{unproven, verify};
use crate::record::{RunInput, build_record};
use crate::sample_run::{header, plan, refused, succeeded};

const COMPARISON: &[u8] =
    include_bytes!("../../../schema/tests/records/runtime-profile-comparison-v1.json");

/// A run of 24 requests, the last of them refused, with a steady window and receive stamps.
fn record() -> Json {
    let mut plan = plan(24, 2);
    plan.max_failure_ratio = 0.1;
    let mut lines: Vec<_> =
        (0..23).map(|n| succeeded(n, 100 * n, &[100, 150 + n, 200], 5)).collect();
    lines.push(refused(23, 2300, 3));
    lines[0].observer_lag_us = Some(vec![100, 200, 2500]);
    built(&plan, &lines)
}

fn built(plan: &Plan, lines: &[RequestLine]) -> Json {
    built_with(plan, lines, None)
}

fn built_with(plan: &Plan, lines: &[RequestLine], grades: Option<&Grades>) -> Json {
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_009_000_000),
        lines: lines.len() as u64,
        listed_models: None,
    };
    let input = RunInput {
        plan,
        header: &header(plan),
        requests: lines,
        trailer: Some(&trailer),
        grades,
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

/// The place of a metric in a record's list.
fn at_metric(record: &Json, id: &str, member: &str) -> String {
    let Some(Json::Array(metrics)) = record.member("metrics") else { panic!("metrics are a list") };
    let has_id = |metric: &Json| metric.member("id").and_then(Json::as_str) == Some(id);
    let index = metrics.iter().position(has_id).unwrap_or_else(|| panic!("{id} is there"));
    format!("metrics[{index}].{member}")
}

#[test]
fn built_records_hold() {
    for record in [record(), schedules::record()] {
        let verification = verify(&edited(record, &[]));
        let broken: Vec<_> = verification.broken().collect();
        assert!(broken.is_empty(), "{broken:#?}");
        assert!(verification.notes.is_empty());
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
        // Above 10,000 requests the cases stand in a file of their own.
        &[("cases", "null")],
        &[("cases[0].primary_outcome", r#""unverified""#)],
        &[("phase", r#""soak""#)],
        // Everything was answered, but the run was cut off before it could say so.
        &[("status", r#""aborted""#), ("load.performance_eligible", "false")],
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
fn counts_beyond_what_an_integer_holds_do_not_add_up() {
    let most = "18446744073709551615";
    let broken = broken(&edited(
        record(),
        &[
            ("load.offered", most),
            ("load.failed", most),
            ("counts.declared", most),
            ("counts.outcomes.error", most),
        ],
    ));
    for rule in ["offered-is-sum", "counts-sum-to-declared"] {
        assert!(broken.contains(rule), "{rule}: {broken:?}");
    }
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
