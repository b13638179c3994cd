//! What a reader says of broken documents: path, line, column, value and rule.

use streamgauge_schema::{Document, JournalLine, Position, ReadError, RunRecordV1, read_typed};

const RECORD: &str = include_str!("records/serving-performance-v1.json");
const COMPARISON: &str = include_str!("records/runtime-profile-comparison-v1.json");

/// Replaces the first `from` in a golden document; the reader must name `path`, begin with
/// `message`, and stand where the value at `path` begins.
fn check(golden: &str, [from, to, path, message]: [&str; 4]) {
    let case = format!("{from:?} -> {to:?}");
    assert!(golden.contains(from), "{case}");
    let text = golden.replacen(from, to, 1);
    match Document::read(text.as_bytes()) {
        Err(ReadError::Shape { path: named, position, message: said }) => {
            assert_eq!(named.to_string(), path, "{case}");
            assert!(said.starts_with(message), "{case}: {said}");
            assert_eq!(Some(position), Position::of(&text, &named), "{case}");
        }
        other => panic!("{case}: {other:?}"),
    }
}

#[test]
fn a_doubled_member_is_named_where_it_stands_again() {
    let text =
        RECORD.replacen(r#""primary_passes": 6"#, r#""primary_passes": 6, "primary_passes": 6"#, 1);
    let error = Document::read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "counts: duplicate field `primary_passes` (line 151 column 41)");
}

#[test]
fn broken_records_are_named_to_the_member() {
    let cases = [
        // Unknown, missing and doubled members.
        (r#""boundary":"#, r#""bounds": 1, "boundary":"#, "bounds", "unknown field `bounds`"),
        (r#""case_id": "request-01","#, "", "cases[0]", "missing field `case_id`"),
        (r#""comparison_key": null,"#, "", "(document)", "missing field `comparison_key`"),
        // Wrong types.
        (
            r#""declared": 8"#,
            r#""declared": "8""#,
            "counts.declared",
            r#"invalid type: string "8", expected u64"#,
        ),
        (
            r#""declared": 8"#,
            r#""declared": 8.0"#,
            "counts.declared",
            "invalid type: floating point `8.0`, expected u64",
        ),
        (
            r#""declared": 8"#,
            r#""declared": -8"#,
            "counts.declared",
            "invalid value: integer `-8`, expected u64",
        ),
        (
            r#""declared": 8"#,
            r#""declared": null"#,
            "counts.declared",
            "invalid type: null, expected u64",
        ),
        (
            r#""duration_ms": 3923.377"#,
            r#""duration_ms": true"#,
            "cases[0].duration_ms",
            "invalid type: boolean `true`, expected f64",
        ),
        (
            r#""limitations": ["#,
            r#""limitations": [[],"#,
            "limitations[0]",
            "invalid type: sequence, expected a string",
        ),
        // Values that break the rule of their type.
        (
            r#""duration_ms": 3923.377"#,
            r#""duration_ms": -0.001"#,
            "cases[0].duration_ms",
            "-0.001 is not a duration in milliseconds from 0 up",
        ),
        (
            r#""case_id": "request-01""#,
            r#""case_id": "request 01""#,
            "cases[0].case_id",
            r#""request 01" is not an identifier"#,
        ),
        (
            r#""evaluator_sha256": "1f2d"#,
            r#""evaluator_sha256": "1F2D"#,
            "evaluator_sha256",
            r#""1F2D6733c17c647c"#,
        ),
        (
            r#""suite_sha256": "7604"#,
            r#""suite_sha256": "760"#,
            "suite_sha256",
            r#""760be858e8b928dd"#,
        ),
        (
            "36.083421+00:00",
            "36.083421Z",
            "started_at",
            r#""2026-09-20T14:31:36.083421Z" is not an instant"#,
        ),
        (
            "36.083421+00:00",
            "36.083+00:00",
            "started_at",
            r#""2026-09-20T14:31:36.083+00:00" is not an instant"#,
        ),
        (
            "2026-09-20T14:31",
            "2026-09-31T14:31",
            "started_at",
            r#""2026-09-31T14:31:36.083421+00:00" is not an instant"#,
        ),
        // Words outside a closed vocabulary, and what is no word of an open one.
        (
            r#""outcome": "pass""#,
            r#""outcome": "passed""#,
            "cases[0].outcome",
            "unknown variant `passed`",
        ),
        (r#""fail": 2"#, r#""failed": 2"#, "counts.outcomes", "unknown variant `failed`"),
        (
            r#""status": "completed""#,
            r#""status": "done""#,
            "status",
            "unknown variant `done`, expected `aborted` or `completed`",
        ),
        (r#""unit": "ms""#, r#""unit": "msec""#, "metrics[1].unit", "unknown variant `msec`"),
        (
            r#""phase": "performance""#,
            r#""phase": "Performance""#,
            "phase",
            r#""Performance" is not a lower-case identifier"#,
        ),
        // Texts that must not be published.
        (
            r#""summary": null"#,
            r#""summary": "see https://example.org/""#,
            "cases[0].summary",
            r#""see https://example.org/": a published text holds no URLs"#,
        ),
        (
            r#""summary": null"#,
            r#""summary": "from /srv/prompts""#,
            "cases[0].summary",
            r#""from /srv/prompts": a published text holds no file paths"#,
        ),
        (
            r#""summary": null"#,
            r#""summary": "Bearer abcdef0123456789""#,
            "cases[0].summary",
            "a published text holds no credentials",
        ),
        (
            r#""summary": null"#,
            r#""summary": "a\u0007b""#,
            "cases[0].summary",
            r#""a\u{7}b": a published text has no control characters"#,
        ),
        (
            r#""summary": null"#,
            r#""summary": """#,
            "cases[0].summary",
            r#""": a published text has 1 to 240 characters"#,
        ),
        (
            "https://huggingface.co/",
            "https://intranet.example/",
            "deployment.source_url",
            r#""https://intranet.example/zai-org/GLM-5.3-Flash" is not a public https address"#,
        ),
    ];
    for case in cases {
        check(RECORD, case.into());
    }
}

#[test]
fn broken_comparisons_are_named_to_the_member() {
    let cases = [
        (
            r#""capacity-120k""#,
            r#""capacity 120k""#,
            r#"cells["capacity 120k"]"#,
            r#""capacity 120k" is not an identifier"#,
        ),
        (
            r#""candidate": 470.34554300080345,"#,
            "",
            "cells.capacity-4k.metrics.ttft_p50_ms",
            "missing field `candidate`",
        ),
        (
            r#""canary_passed": true"#,
            r#""canary_passed": "yes""#,
            "baseline_turnover.failures[0].canary_passed",
            r#"invalid type: string "yes", expected a boolean"#,
        ),
        (
            r#""failure_class": "controlled_output_failed""#,
            r#""failure_class": "other""#,
            "baseline_turnover.failures[0].failure_class",
            "unknown variant `other`",
        ),
        (
            r#""baseline_image": "ghcr.io"#,
            r#""baseline_image": "docker://ghcr.io"#,
            "baseline_image",
            r#""docker://ghcr.io"#,
        ),
        (r#""human_decision""#, r#""decision""#, "decision", "unknown field `decision`"),
    ];
    for case in cases {
        check(COMPARISON, case.into());
    }
}

#[test]
fn errors_read_as_path_value_rule_and_position() {
    let cases = [
        (
            COMPARISON,
            r#""capacity-120k""#,
            r#""capacity-4k""#,
            "cells: capacity-4k stands here twice (line 5 column 12)",
        ),
        (
            RECORD,
            r#""suite_sha256": "7604be858e8b928d"#,
            r#""suite_sha256": "7604be858e8b928D"#,
            "suite_sha256: \"7604be858e8b928Dd7c2acb188dd25ec8b46bf26d544872220e18c20344db1d6\" is \
             not a SHA-256 digest of 64 lower-case hexadecimal digits (line 264 column 19)",
        ),
        (
            RECORD,
            r#""case_id": "request-01","#,
            "",
            "cases[0]: missing field `case_id` (line 4 column 5)",
        ),
        (
            RECORD,
            r#""duration_ms": 3923.377"#,
            r#""duration_ms": -0.001"#,
            "cases[0].duration_ms: -0.001 is not a duration in milliseconds from 0 up \
             (line 6 column 22)",
        ),
        (
            RECORD,
            r#""case_id": "request-01""#,
            r#""case_id": "request 01""#,
            "cases[0].case_id: \"request 01\" is not an identifier (a letter or digit, then \
             letters, digits, '.', '_' or '-'; at most 120 bytes) (line 5 column 18)",
        ),
        (
            RECORD,
            r#""outcome": "pass""#,
            r#""outcome": "passed""#,
            "cases[0].outcome: unknown variant `passed`, expected one of `error`, `fail`, \
             `not_run`, `pass`, `timeout`, `unverified` (line 8 column 18)",
        ),
        (
            RECORD,
            r#""summary": null"#,
            r#""summary": "see https://example.org/""#,
            "cases[0].summary: \"see https://example.org/\": a published text holds no URLs \
             (line 10 column 18)",
        ),
        // The last members of an object, behind which the line ends.
        (
            RECORD,
            r#""title": "Synthetic request 01""#,
            r#""title": 1"#,
            "cases[0].title: invalid type: integer `1`, expected a string (line 11 column 16)",
        ),
        (
            RECORD,
            r#""suite_version": "serving-performance-v1""#,
            r#""suite_version": []"#,
            "suite_version: invalid type: sequence, expected a string (line 265 column 20)",
        ),
        // An unknown member is where its value is.
        (
            RECORD,
            r#""boundary":"#,
            r#""bounds": 1, "boundary":"#,
            "bounds: unknown field `bounds`, expected one of `schema_version`, `run_id`, \
             `status`, `started_at`, `completed_at`, `phase`, `role`, `boundary`, \
             `evidence_mode`, `deployment`, `suite_version`, `suite_sha256`, \
             `evaluator_sha256`, `comparison_key`, `conditions`, `limitations`, `performance`, \
             `cases`, `counts`, `metrics`, `evidence` (line 2 column 13)",
        ),
    ];
    for (golden, from, to, expected) in cases {
        let error = Document::read(golden.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn what_is_no_document_of_ours_is_told_apart() {
    let cases = [
        ("", "not JSON: EOF while parsing a value at line 1 column 0"),
        ("{\"schema_version\": 1", "not JSON: EOF while parsing an object at line 1 column 20"),
        ("{\"schema_version\": 1} x", "not JSON: trailing characters at line 1 column 23"),
        ("{\"schema_version\": NaN}", "not JSON: expected value at line 1 column 20"),
        ("[]", r#"not a document of Streamgauge: neither "schema" nor "schema_version""#),
        ("{}", r#"not a document of Streamgauge: neither "schema" nor "schema_version""#),
        ("{\"schema_version\": 3}", r#"not a document of Streamgauge: "schema_version" is 3"#),
        (
            "{\"schema_version\": \"1\"}",
            r#"not a document of Streamgauge: "schema_version" is "1""#,
        ),
        (
            "{\"schema\": \"runtime-profile-comparison/v9\"}",
            r#"not a document of Streamgauge: "schema" is "runtime-profile-comparison/v9""#,
        ),
    ];
    for (text, expected) in cases {
        let error = Document::read(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text:?}");
        assert!(matches!(error, ReadError::NotJson { .. } | ReadError::UnknownKind { .. }));
    }
}

#[test]
fn typed_reading_wants_one_value_and_no_more() {
    let twice = format!("{RECORD}\n{RECORD}");
    let error = read_typed::<RunRecordV1>(twice.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "not JSON: trailing characters at line 267 column 1");
}

#[test]
fn lines_of_a_journal_are_named_to_the_member() {
    let cases = [
        (
            r#"{"trailer": {"reason": "finished", "lines": "4"}}"#,
            "trailer.lines: invalid type: string \"4\", expected u64 (line 1 column 45)",
        ),
        (
            r#"{"trailer": {"reason": "finished", "lines": 4}}"#,
            "trailer: missing field `completed_at` (line 1 column 13)",
        ),
        // The text breaks off behind the fault, so that only the end of the value is known.
        (
            r#"{"trailer": {"lines": "4""#,
            "trailer.lines: invalid type: string \"4\", expected u64 (line 1 column 25)",
        ),
    ];
    for (text, expected) in cases {
        let error = read_typed::<JournalLine>(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
