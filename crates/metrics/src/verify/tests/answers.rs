//! The rules of right answers in comparisons, each broken on purpose.

use streamgauge_schema::{Digest, Direction, Gates, Json, Tally};

use super::{broken, edited};
use crate::compare::{BlockRules, InsecureRuns, Pairing, PromptOutcomes, compare_blocks};
use crate::sample_blocks::{Sides, add_share, metric};

/// Three blocks of ten prompts: nine are right with the baseline, eight with the candidate.
fn comparison() -> Json {
    let mut sides = Sides::blocks("ttft_p50_ms", &[(100.0, 101.0), (99.0, 98.0), (101.0, 100.0)]);
    let mut outcomes = PromptOutcomes::default();
    for (runs, right) in [(&mut sides.baseline, 9), (&mut sides.candidate, 8)] {
        for run in runs {
            run.evaluator_sha256 = Some(Digest::of(b"graders"));
            add_share(run, "pass_ratio", right as f64 / 10.0);
            let pass_ratio = metric(run, "pass_ratio");
            (pass_ratio.direction, pass_ratio.samples) = (Direction::HigherIsBetter, 10);
            let outcome = |number: u64| Tally { count: u64::from(number < right), of: 1 };
            let prompts = (0..10).map(|number| (Digest::of(&[number as u8]), outcome(number)));
            outcomes.add(run.run_id.clone(), prompts.collect());
        }
    }
    let rules = BlockRules {
        gates: &Gates::default(),
        pairing: Pairing::ByTime,
        looks: None,
        outcomes: &outcomes,
        allow_differing: &[],
        insecure: InsecureRuns::Refused,
        limitations: &[],
    };
    let [baseline, candidate] = sides.records();
    let compared = compare_blocks(&baseline, &candidate, &rules).unwrap();
    Json::from_value(&compared).unwrap()
}

#[test]
fn every_rule_of_right_answers_notices_its_fault() {
    let own = |member: &str| format!("cells.c2.correctness.{member}");
    let cases = [
        ("gate-limit-in-range", "correctness_gate.limit_percent".to_owned(), "100.0"),
        ("answers-have-a-gate", "correctness_gate".to_owned(), "null"),
        ("one-figure-a-run", own("baseline"), "[]"),
        ("pass-rates-count-requests", own("candidate[1].value"), "0.8005"),
        ("pairs-are-of-runs", own("pairs.runs"), "2"),
        ("pairs-are-of-runs", own("pairs.unsteady"), "11"),
        ("pairs-fit-pass-rates", own("pairs.both"), "7"),
        ("pairs-fit-pass-rates", own("candidate[1].value"), "0.7"),
        ("difference-follows", own("difference_percent"), "0.0"),
        ("difference-follows", own("pairs.baseline_only"), "2"),
        ("p-value-follows", own("p_value"), "0.5"),
        ("finding-follows", own("differs"), r#""differs""#),
        ("gate-is-stated", own("limit_percent"), "50.0"),
        ("interval-follows", own("pass_interval.lower"), "-1.0"),
        ("interval-follows", own("fail_interval"), "null"),
        ("gate-verdict-follows", own("verdict"), r#""pass""#),
        ("gate-verdict-follows", own("pairs.unpaired"), "1"),
        ("reason-follows", own("reason"), r#""it is fine""#),
        ("comparison-verdict-follows", "verdict".to_owned(), r#""pass""#),
        ("limitations-follow", own("pairs.unsteady"), "3"),
    ];
    assert!(broken(&edited(comparison(), &[])).is_empty());
    for (rule, member, text) in cases {
        let found = broken(&edited(comparison(), &[(&member, text)]));
        assert!(found.contains(rule), "{rule} by {member} = {text}: {found:?}");
    }
}
