//! The rules of comparisons with intervals, each broken on purpose.

use streamgauge_schema::{Document, Json};

use super::{broken, edited};
use crate::verify::verify;

const COMPARISON: &[u8] = include_bytes!("../../../../schema/tests/records/comparison-v2.json");

fn comparison() -> Json {
    serde_json::from_slice(COMPARISON).unwrap()
}

#[test]
fn every_rule_of_comparisons_with_intervals_notices_its_fault() {
    let ttft = |member: &str| format!("cells.c2.metrics.ttft_p50_ms.{member}");
    let rate = |member: &str| format!("cells.c2.metrics.decode_rate_p50_tok_per_s.{member}");
    let run = |member: &str| format!("cells.c2.baseline_runs[1].{member}");
    let whole = |member: &str| member.to_owned();
    let cases = [
        ("alpha-in-range", whole("alpha"), "0.0"),
        ("failure-ratio-in-range", whole("max_failure_ratio"), "1.5"),
        ("gates-differ", whole("gates[1].metric"), r#""ttft_p50_ms""#),
        ("gate-limit-in-range", whole("gates[0].limit_percent"), "100.0"),
        ("gate-limit-in-range", whole("gates[0].direction"), r#""neutral""#),
        ("gate-asks-for-enough-samples", whole("gates[0].min_samples"), "19"),
        ("gate-asks-for-enough-samples", whole("gates[0].statistic"), r#""p95""#),
        ("looks-are-planned", whole("looks.look"), "2"),
        ("looks-are-planned", whole("looks.look"), "0"),
        ("looks-are-planned", whole("looks.planned_blocks"), "[4, 4]"),
        ("looks-are-planned", whole("looks.planned_blocks"), "[]"),
        ("blocks-have-both-sides", whole("cells.c2.baseline_runs"), "[]"),
        ("metrics-are-the-gated-ones", whole("gates[1].metric"), r#""ttft_p95_ms""#),
        ("metrics-are-the-gated-ones", whole("cells.c2.metrics"), "{}"),
        ("one-figure-a-run", ttft("baseline"), "[]"),
        ("one-figure-a-run", whole("cells.c2.values[1].candidate"), "[0.015]"),
        ("compared-values-in-range", ttft("baseline[0].value"), "-1.0"),
        ("findings-are-complete", whole("cells.c2.counts"), "[]"),
        ("findings-are-complete", whole("cells.c2.values[0].name"), r#""refusals""#),
        ("counts-in-range", whole("cells.c2.counts[3].candidate.count"), "4001"),
        ("runs-differ", run("run_id"), r#""sample-719d8203b917""#),
        ("successes-were-offered", run("succeeded"), "1001"),
        ("times-in-order", run("completed_at"), r#""2026-09-21T14:16:19.999999+00:00""#),
        ("bent-metrics-are-gated", run("client_limited"), r#"["tpot_p50_ms"]"#),
        ("failures-follow", run("succeeded"), "999"),
        ("failures-follow", whole("cells.c2.counts[0].baseline"), r#"{"count": 1, "of": 4000}"#),
        ("p-value-follows", whole("cells.c2.counts[3].p_value"), "0.5"),
        ("p-value-follows", whole("cells.c8.values[1].p_value"), "0.5"),
        ("difference-follows", whole("cells.c8.values[1].difference"), "-30.0"),
        ("finding-follows", whole("cells.c8.values[1].verdict"), r#""alike""#),
        ("speed-void-follows", whole("cells.c8.speed_void"), "null"),
        ("speed-void-follows", run("performance_eligible"), "false"),
        ("speed-void-follows", run("another_model_answered"), "true"),
        ("gate-is-stated", ttft("limit_percent"), "50.0"),
        ("gate-is-stated", ttft("direction"), r#""higher_is_better""#),
        ("gate-is-stated", ttft("statistic"), r#""mean""#),
        ("change-follows", ttft("delta_percent"), "0.0"),
        ("change-follows", ttft("baseline[0].value"), "90.0"),
        ("change-follows", ttft("candidate_mean"), "100.0"),
        ("change-follows", ttft("noise_percent"), "null"),
        ("change-follows", ttft("degrees_of_freedom"), "9.0"),
        ("interval-follows", ttft("pass_interval.upper"), "1.0"),
        ("interval-follows", ttft("fail_interval"), "null"),
        ("equivalence-follows", ttft("equivalence"), r#""undecided""#),
        ("gate-verdict-follows", rate("verdict"), r#""pass""#),
        ("gate-verdict-follows", ttft("candidate[0].samples"), "19"),
        ("gate-verdict-follows", run("client_limited"), r#"["ttft_p50_ms"]"#),
        ("reason-follows", rate("reason"), r#""it is good enough""#),
        ("levels-follow", whole("gates_judged"), "1"),
        ("levels-follow", whole("pass_level"), "0.95"),
        ("levels-follow", whole("fail_level"), "0.95"),
        ("levels-follow", whole("findings_judged"), "1"),
        ("levels-follow", whole("looks"), "null"),
        ("turnover-verdict-follows", whole("turnover.verdict"), r#""pass""#),
        ("turnover-verdict-follows", whole("turnover.candidate[0].policy"), r#""observe""#),
        ("turnover-counts-follow", whole("turnover.baseline_exact"), r#"{"count": 59, "of": 60}"#),
        ("turnover-counts-follow", whole("turnover.candidate_exact.of"), "61"),
        ("turnover-test-follows", whole("turnover.p_value"), "0.5"),
        ("turnover-adds-up", whole("turnover.candidate[0].outcome.exact_output_passed"), "60"),
        ("reason-follows", whole("turnover.reason"), r#""it was fine""#),
        ("runs-differ", whole("turnover.baseline[0].run_id"), r#""sample-719d8203b917""#),
        ("comparison-verdict-follows", whole("verdict"), r#""pass""#),
        ("limitations-follow", whole("limitations"), "[]"),
        ("limitations-follow", whole("candidate.variant"), r#""old""#),
        ("limitations-follow", run("time_basis"), r#""kernel""#),
        ("limitations-follow", run("started_at"), r#""2026-09-21T14:15:20.000000+00:00""#),
        ("limitations-follow", whole("allowed_differences"), "[]"),
    ];
    for (rule, member, value) in cases {
        let found = broken(&edited(comparison(), &[(&member, value)]));
        assert!(found.contains(rule), "{rule} by {member} = {value}: {found:?}");
    }
}

#[test]
fn what_breaks_no_rule_of_them() {
    let cases = [
        ("cells.c2.baseline_runs[1].evidence_mode", r#""soak_test""#),
        ("cells.c2.metrics.ttft_p50_ms.definition", r#""something else""#),
        ("limitations[5].text", r#""Something else that was stated.""#),
        ("allowed_differences[0].candidate", r#""2048 tokens""#),
    ];
    for (member, value) in cases {
        let found = broken(&edited(comparison(), &[(member, value)]));
        assert!(found.is_empty(), "{member}: {found:?}");
    }
    let document = edited(comparison(), &cases[..1]);
    let notes = verify(&document).notes;
    assert_eq!((notes.len(), notes[0].word.as_str()), (1, "soak_test"));
    assert_eq!(notes[0].member.to_string(), cases[0].0);
}

/// Whatever a document says, verifying it ends.
#[test]
fn odd_documents_are_judged_without_panic() {
    let ttft = |member: &str| format!("cells.c2.metrics.ttft_p50_ms.{member}");
    let edits = [
        ("alpha".to_owned(), "-3.0"),
        ("alpha".to_owned(), "1e300"),
        ("alpha".to_owned(), "1e-300"),
        ("looks.planned_blocks".to_owned(), "[18446744073709551615]"),
        (ttft("baseline[0].value"), "1e-300"),
        (ttft("candidate[0].value"), "1e300"),
        (ttft("candidate[0].value"), "-0.0"),
        (ttft("candidate"), "[]"),
        ("cells.c2.counts[3].baseline".to_owned(), r#"{"count": 5, "of": 0}"#),
        ("cells.c2.counts[3].baseline".to_owned(), r#"{"count": 18446744073709551615, "of": 1}"#),
        ("cells.c2.counts[3].baseline".to_owned(), r#"{"count": 7, "of": 999999999999}"#),
        ("cells.c2.values[1].baseline".to_owned(), "[1e308, 1e308, 1e308, -1e308]"),
        ("cells.c2.baseline_runs[0].offered".to_owned(), "18446744073709551615"),
        ("gates[0].limit_percent".to_owned(), "-200.0"),
        ("gates".to_owned(), "[]"),
        ("cells".to_owned(), "{}"),
    ];
    for (member, value) in edits {
        let document = edited(comparison(), &[(&member, value)]);
        assert!(!verify(&document).holds(), "{member} = {value}");
        assert!(matches!(document, Document::ComparisonV2(_)));
    }
}
