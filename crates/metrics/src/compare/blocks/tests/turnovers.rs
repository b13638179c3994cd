//! Turnover runs among the records: strict and observed ones, and what may be pooled.

use streamgauge_schema::{OutputPolicy, RunRecordV2, RunStatus, Tally, TurnoverComparison};

use super::*;
use crate::compare::Side;
use crate::sample_blocks::turnover_run;

/// A comparison of builds that are equally fast, with these turnover runs.
fn with_turnovers(baseline: Vec<RunRecordV2>, candidate: Vec<RunRecordV2>) -> ComparisonV2 {
    let mut sides = Sides::blocks(TTFT, &blocks(5, 0.0));
    sides.baseline.extend(baseline);
    sides.candidate.extend(candidate);
    compared(&sides)
}

fn strict(variant: &str, minute: i64, failed: u64) -> RunRecordV2 {
    turnover_run(variant, minute, OutputPolicy::Strict, failed)
}

fn observed(variant: &str, minute: i64, failed: u64) -> RunRecordV2 {
    turnover_run(variant, minute, OutputPolicy::Observe, failed)
}

#[test]
fn the_gate_on_turnovers() {
    use GateVerdict::{Fail, NotEvaluated, Pass};
    let old = |runs: &[RunRecordV2]| runs.to_vec();
    let cases = [
        (old(&[strict("old", 90, 2)]), vec![], NotEvaluated, NotEvaluated, "has no turnover run"),
        (old(&[strict("old", 90, 2)]), vec![strict("new", 91, 0)], Pass, Pass, "60 of 60"),
        (old(&[]), vec![strict("new", 91, 0)], Pass, Pass, "every answer was exact, 60 of 60"),
        (
            old(&[strict("old", 90, 9)]),
            vec![strict("new", 91, 0), strict("new", 92, 1)],
            Fail,
            Fail,
            "1 of 2 strict runs failed; 119 of 120 answers of the candidate were exact",
        ),
        (old(&[]), vec![observed("new", 91, 3)], NotEvaluated, NotEvaluated, "only observed"),
        (
            old(&[observed("old", 90, 2)]),
            vec![observed("new", 91, 5)],
            Pass,
            Pass,
            "55 of 60 against 58 of 60 of the baseline, p 0.4390",
        ),
        (
            old(&[observed("old", 90, 2)]),
            vec![observed("new", 91, 12)],
            Fail,
            Fail,
            "exact less often: 48 of 60 against 58 of 60",
        ),
        (old(&[observed("old", 90, 12)]), vec![observed("new", 91, 2)], Pass, Pass, "58 of 60"),
    ];
    for (baseline, candidate, gate, whole, reason) in cases {
        let TurnoverComparison { verdict, reason: found, .. } =
            with_turnovers(baseline.clone(), candidate.clone()).turnover.unwrap();
        assert!(found.as_str().contains(reason), "{found}");
        assert_eq!(verdict, gate, "{reason}");
        assert_eq!(with_turnovers(baseline, candidate).verdict, whole, "{reason}");
    }
}

#[test]
fn without_a_turnover_run_nothing_is_said_of_any() {
    let found = with_turnovers(Vec::new(), Vec::new());
    assert_eq!((found.turnover, found.verdict), (None, GateVerdict::Pass));
}

#[test]
fn repeats_of_the_same_prompts_are_counted_once() {
    let mut same = strict("new", 92, 20);
    same.suite_sha256 = strict("new", 91, 0).suite_sha256;
    let other = strict("new", 93, 1);
    let candidate = vec![strict("new", 91, 3), same, other];
    let found = with_turnovers(vec![strict("old", 90, 0)], candidate).turnover.unwrap();
    assert_eq!(found.candidate_exact, Some(Tally { count: 57 + 59, of: 120 }));
    assert_eq!(found.baseline_exact, Some(Tally { count: 60, of: 60 }));
    assert_eq!(found.candidate.len(), 3, "all of them stand there");
}

#[test]
fn runs_that_ask_for_something_else_are_not_compared() {
    let mut other = strict("new", 91, 0);
    let label = crate::record::DATASET_LABEL;
    let recipe = other.conditions.iter_mut().find(|it| it.label.as_str() == label).unwrap();
    recipe.value = PublicText::new("another recipe").unwrap();
    let mut sides = Sides::blocks(TTFT, &blocks(5, 0.0));
    sides.baseline.push(strict("old", 90, 0));
    sides.candidate.push(other);
    let gates = gates(&[TTFT]);
    let mut rules = rules(&gates, Pairing::ByTime);
    let text = error(&sides, &rules);
    assert!(text.contains("dataset of cell") && text.contains("another recipe"), "{text}");
    rules.allow_differing = &[MatchingCondition::Dataset];
    assert_eq!(sound(&sides, &rules).turnover.unwrap().verdict, GateVerdict::Pass);
}

#[test]
fn a_run_that_was_cut_off_is_refused() {
    for side in [Side::Baseline, Side::Candidate] {
        let mut cut = observed("cut", 91, 40);
        cut.status = RunStatus::Aborted;
        let mut sides = Sides::blocks(TTFT, &blocks(5, 0.0));
        match side {
            Side::Baseline => sides.baseline.push(cut),
            Side::Candidate => sides.candidate.push(cut),
        }
        let gates = gates(&[TTFT]);
        let text = error(&sides, &rules(&gates, Pairing::ByTime));
        assert!(text.contains("was cut off"), "{text}");
    }
}

#[test]
fn a_run_that_was_not_graded_says_nothing() {
    let mut ungraded = strict("new", 91, 0);
    ungraded.turnover = None;
    let mut sides = Sides::blocks(TTFT, &blocks(5, 0.0));
    sides.candidate.push(ungraded);
    let gates = gates(&[TTFT]);
    let text = error(&sides, &rules(&gates, Pairing::ByTime));
    assert!(text.contains("not every answer of the turnover run"), "{text}");
}
