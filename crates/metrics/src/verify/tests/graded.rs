//! Rules of graded runs, broken one by one.

use streamgauge_schema::Json;

use super::{at_metric, broken, built_with, edited};
use crate::sample_run::{grades, grading, plan, receipt, refused, succeeded};

/// Four requests: two right answers, a wrong one, a failure.
fn graded() -> Json {
    let mut plan = plan(4, 2);
    plan.max_failure_ratio = 0.5;
    plan.grading = Some(grading());
    let lines = [
        succeeded(0, 0, &[100, 200], 5),
        succeeded(1, 10, &[100, 200], 5),
        succeeded(2, 220, &[100, 200], 5),
        refused(3, 230, 3),
    ];
    let receipts = lines[..3].iter().map(|line| receipt(line, line.index < 2)).collect();
    built_with(&plan, &lines, Some(&grades(receipts)))
}

#[test]
fn every_rule_of_graded_runs_notices_its_fault() {
    let evaluator = format!("{:?}", grading().evaluator_sha256().to_string());
    let file = |name: &str| format!(r#"[{{"name": "{name}", "bytes": 2, "sha256": {evaluator}}}]"#);
    let metric = |id, member| at_metric(&graded(), id, member);
    let cases: [(&str, Vec<(String, String)>); 13] = [
        ("only-graders-judge", vec![("evaluator_sha256".into(), "null".into())]),
        (
            "completed-graded-all",
            vec![("counts.outcomes".into(), r#"{"pass": 2, "unverified": 1, "error": 1}"#.into())],
        ),
        ("receipts-are-evidence", vec![("evidence".into(), file("observations.jsonl"))]),
        (
            "receipts-are-evidence",
            vec![
                ("evidence".into(), file("grades.json")),
                ("evaluator_sha256".into(), "null".into()),
            ],
        ),
        (
            "graded-runs-have-pass-rates",
            vec![(metric("graded_pass_ratio", "id"), r#""own_pass_ratio""#.into())],
        ),
        ("pass-rates-follow", vec![(metric("pass_ratio", "value"), "0.75".into())]),
        ("pass-rates-follow", vec![(metric("primary_pass_ratio", "value"), "0.25".into())]),
        ("pass-rates-follow", vec![(metric("graded_pass_ratio", "samples"), "4".into())]),
        ("pass-rates-follow", vec![("evaluator_sha256".into(), "null".into())]),
        ("failure-stage-fits-outcome", vec![("cases[2].failure_stage".into(), "null".into())]),
        ("failure-stage-fits-outcome", vec![("cases[3].failure_stage".into(), "null".into())]),
        (
            "failure-stage-fits-outcome",
            vec![("cases[2].failure_stage".into(), r#""stream""#.into())],
        ),
        ("eligibility-follows", vec![("cases[2].failure_stage".into(), r#""contract""#.into())]),
    ];
    assert!(broken(&edited(graded(), &[])).is_empty());
    for (rule, edits) in cases {
        let edits: Vec<(&str, &str)> =
            edits.iter().map(|(member, text)| (member.as_str(), text.as_str())).collect();
        let found = broken(&edited(graded(), &edits));
        assert!(found.contains(rule), "{rule} by {edits:?}: {found:?}");
    }
}

#[test]
fn a_stage_that_nobody_knows_yet_may_be_right() {
    let edits = [("cases[2].failure_stage", r#""weather""#)];
    assert!(broken(&edited(graded(), &edits)).is_empty());
}
