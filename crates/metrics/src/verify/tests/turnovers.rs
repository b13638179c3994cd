//! Rules of the part that a turnover run's record has, broken one by one.

use streamgauge_schema::{Json, OutputPolicy};

use super::{broken, built_with, edited};
use crate::sample_turnover::{TurnoverRun, turnover};

fn record() -> Json {
    let TurnoverRun { plan, lines, grades } = turnover(OutputPolicy::Strict);
    built_with(&plan, &lines, Some(&grades))
}

#[test]
fn every_rule_of_turnovers_notices_its_fault() {
    let outcome = |member: &str| format!("turnover.outcome.{member}");
    let cases: [(&str, String, &str); 14] = [
        ("turnover-part-fits-phase", "phase".into(), r#""performance""#),
        ("turnover-waves-follow", "turnover.waves".into(), "5"),
        ("turnover-waves-follow", "performance.client_concurrency_limit".into(), "3"),
        ("turnover-counts-every-request", outcome("requests"), "11"),
        ("turnover-responses-succeeded", outcome("responses_received"), "10"),
        ("exact-outputs-passed", outcome("exact_output_passed"), "8"),
        ("exact-outputs-passed", outcome("exact_output_passed"), "6"),
        ("turnover-eligibility-follows", outcome("performance_eligible"), "true"),
        ("turnover-adds-up", outcome("failed"), "2"),
        ("failures-are-listed", outcome("failures"), "[]"),
        ("turnover-failures-fit-cases", outcome("failures[0].request_index"), "4"),
        ("turnover-failures-fit-cases", outcome("failures[1].failure_class"), r#""request_error""#),
        ("canary-fits-class", outcome("failures[1].canary_passed"), "true"),
        ("turnover-failures-fit-cases", "cases[3].outcome".into(), r#""pass""#),
    ];
    assert!(broken(&edited(record(), &[])).is_empty());
    for (rule, member, value) in cases {
        let found = broken(&edited(record(), &[(&member, value)]));
        assert!(found.contains(rule), "{rule} by {member} = {value}: {found:?}");
    }
}
