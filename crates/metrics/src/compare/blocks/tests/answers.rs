//! Right answers, judged before speed by pairs of prompts.

use streamgauge_schema::{
    ComparisonV2, CorrectnessComparison, Digest, Direction, FindingVerdict, Gate, GateVerdict,
    Gates, Identifier, LimitationKind, PromptPairs, Tally,
};

use super::{TTFT, blocks, gates, kinds, only, rules, sound};
use crate::compare::{BlockRules, Pairing, PromptOutcomes, Side, discordant_prompts};
use crate::sample_blocks::{Sides, add_share, metric};

const PASS_RATIO: &str = "pass_ratio";

/// Prompts of which every run asks each.
const PROMPTS: u64 = 1_000;

fn prompt(number: u64) -> Digest {
    Digest::of(&number.to_le_bytes())
}

/// Grades every run: whether a prompt is right with a side, in its n-th run.
fn graded(sides: &mut Sides, right: impl Fn(Side, usize, u64) -> bool) -> PromptOutcomes {
    let mut outcomes = PromptOutcomes::default();
    let all = [(Side::Baseline, &mut sides.baseline), (Side::Candidate, &mut sides.candidate)];
    for (side, runs) in all {
        for (place, run) in runs.iter_mut().enumerate() {
            let passed = (0..PROMPTS).filter(|number| right(side, place, *number)).count();
            run.evaluator_sha256 = Some(Digest::of(b"graders"));
            add_share(run, PASS_RATIO, passed as f64 / PROMPTS as f64);
            metric(run, PASS_RATIO).direction = Direction::HigherIsBetter;
            let outcome = |number| Tally { count: u64::from(right(side, place, number)), of: 1 };
            let of_run = (0..PROMPTS).map(|number| (prompt(number), outcome(number)));
            outcomes.add(run.run_id.clone(), of_run.collect());
        }
    }
    outcomes
}

/// The first prompts are right with the baseline alone, those that follow with the candidate alone, the
/// last ten with neither.
fn discordant(baseline_only: u64, candidate_only: u64) -> (Sides, PromptOutcomes) {
    let mut sides = Sides::blocks(TTFT, &blocks(5, 0.0));
    let outcomes = graded(&mut sides, |side, _, number| match side {
        _ if number >= PROMPTS - 10 => false,
        Side::Baseline => !(baseline_only..baseline_only + candidate_only).contains(&number),
        Side::Candidate => number >= baseline_only,
    });
    (sides, outcomes)
}

/// What is made of right answers in the only cell.
fn judged(sides: &Sides, rules: &BlockRules<'_>) -> (CorrectnessComparison, GateVerdict) {
    let comparison = sound(sides, rules);
    (comparison.cells.0[0].1.correctness.clone().unwrap(), comparison.verdict)
}

#[test]
fn a_loss_of_right_answers_is_judged_by_pairs() {
    use GateVerdict::{Fail, Inconclusive, NotEvaluated, Pass};
    let ttft = gates(&[TTFT]);
    let cases = [
        (
            0,
            0,
            Pass,
            Pass,
            "the interval reaches to -0.44 points, within the limit of -5.00 points",
        ),
        (5, 8, Pass, Pass, "the interval reaches to -"),
        (0, 90, Pass, Pass, "the interval reaches to +"),
        // Within the limit, but surely worse: that says nothing good of its speed.
        (30, 10, Pass, NotEvaluated, "the interval reaches to -4."),
        (45, 10, Inconclusive, NotEvaluated, "the interval from -5."),
        (100, 10, Fail, Fail, "even the better end of the 95 % interval, -"),
    ];
    for (old, new, verdict, whole, reason) in cases {
        let (sides, outcomes) = discordant(old, new);
        let rules = BlockRules { outcomes: &outcomes, ..rules(&ttft, Pairing::ByTime) };
        let (found, comparison) = judged(&sides, &rules);
        assert_eq!((found.verdict, comparison), (verdict, whole), "{old} {new}: {}", found.reason);
        assert!(found.reason.as_str().starts_with(reason), "{old} {new}: {}", found.reason);
        let pairs = PromptPairs {
            both: 990 - old - new,
            baseline_only: old,
            candidate_only: new,
            neither: 10,
            unpaired: 0,
            runs: 5,
            unsteady: 0,
        };
        assert_eq!(found.pairs, Some(pairs));
        let difference = (new as f64 - old as f64) / 10.0;
        assert!((found.difference_percent.unwrap() - difference).abs() < 1e-9);
        let differs = old + new > 20;
        assert_eq!(found.differs == FindingVerdict::Differs, differs, "{old} {new}");

        let [baseline, candidate] = sides.records();
        let named = discordant_prompts(&baseline, &candidate, Pairing::ByTime, &outcomes).unwrap();
        assert_eq!(named[0].baseline_only.len() as u64, old);
        assert_eq!(named[0].candidate_only.len() as u64, new);
        assert!((0..old).all(|number| named[0].baseline_only.contains(&prompt(number))));
    }
}

#[test]
fn fewer_right_answers_leave_no_verdict_on_speed() {
    let (sides, outcomes) = discordant(30, 10);
    let ttft = gates(&[TTFT]);
    let rules = BlockRules { outcomes: &outcomes, ..rules(&ttft, Pairing::ByTime) };
    let comparison = sound(&sides, &rules);
    let why = "the candidate answers significantly fewer prompts right: 30 of 1000 only with the \
               baseline, 10 only with the candidate";
    assert_eq!(comparison.cells.0[0].1.speed_void.as_ref().unwrap().as_str(), why);
    assert_eq!(only(&comparison).verdict, GateVerdict::NotEvaluated);
    // Better answers are no reason to doubt the speed.
    let (sides, outcomes) = discordant(10, 30);
    let rules = BlockRules { outcomes: &outcomes, ..super::rules(&ttft, Pairing::ByTime) };
    let comparison = sound(&sides, &rules);
    assert_eq!(comparison.cells.0[0].1.speed_void, None);
    // The gate on answers and the one on TTFT.
    assert_eq!((comparison.verdict, comparison.gates_judged), (GateVerdict::Pass, 2));
}

/// Judges five runs a side in which the candidate answers some prompts wrong.
fn at_times(right: impl Fn(usize, u64) -> bool) -> (ComparisonV2, CorrectnessComparison) {
    let mut sides = Sides::blocks(TTFT, &blocks(5, 0.0));
    let outcomes = graded(&mut sides, |side, place, number| match side {
        Side::Baseline => true,
        Side::Candidate => right(place, number),
    });
    let ttft = gates(&[TTFT]);
    let rules = BlockRules { outcomes: &outcomes, ..rules(&ttft, Pairing::ByTime) };
    let comparison = sound(&sides, &rules);
    let found = comparison.cells.0[0].1.correctness.clone().unwrap();
    (comparison, found)
}

#[test]
fn a_prompt_counts_once_however_often_it_was_sent() {
    let (comparison, found) = at_times(|_, number| number > 1);
    let pairs = found.pairs.unwrap();
    assert_eq!((pairs.both, pairs.baseline_only, pairs.candidate_only), (998, 2, 0));
    assert_eq!((pairs.runs, pairs.unsteady), (5, 0));
    assert_eq!(found.p_value, Some(0.5), "two discordant pairs, not ten");
    assert!(kinds(&comparison).contains(&LimitationKind::PromptsRepeated));
}

/// A fault that strikes one answer in five hits each prompt in one of five runs. In none is it wrong more
/// often than right.
#[test]
fn what_is_wrong_at_random_is_found_as_often_as_it_is_wrong() {
    let (comparison, found) = at_times(|place, number| number % 5 != place as u64);
    let pairs = found.pairs.unwrap();
    assert_eq!((pairs.count(), pairs.unsteady), (PROMPTS, PROMPTS));
    assert!((150..=250).contains(&pairs.baseline_only), "{pairs:?}");
    assert_eq!(found.verdict, GateVerdict::Fail, "{}", found.reason);
    assert_eq!(found.differs, FindingVerdict::Differs);
    assert_eq!(comparison.verdict, GateVerdict::Fail);
}

#[test]
fn without_pairs_nothing_passes() {
    let ttft = gates(&[TTFT]);
    let apart = |side: Side, number: u64| match side {
        Side::Baseline => prompt(number),
        Side::Candidate => prompt(number + 1),
    };
    let sent = |sides: &Sides, of: fn(Side, u64) -> Digest, count: u64| {
        let mut outcomes = PromptOutcomes::default();
        for (side, runs) in [(Side::Baseline, &sides.baseline), (Side::Candidate, &sides.candidate)]
        {
            for run in runs {
                let passed = (0..count).map(|number| (of(side, number), Tally { count: 1, of: 1 }));
                outcomes.add(run.run_id.clone(), passed.collect());
            }
        }
        outcomes
    };
    let (sides, whole) = discordant(0, 0);
    let cases = [
        (PromptOutcomes::NONE, "records name no prompts"),
        (sent(&sides, apart, 1), "the sides were sent no prompt in common"),
        (sent(&sides, apart, 9), "prompts that one side alone was sent: 2"),
    ];
    for (outcomes, reason) in cases {
        let rules = BlockRules { outcomes: &outcomes, ..rules(&ttft, Pairing::ByTime) };
        let (found, comparison) = judged(&sides, &rules);
        assert!(found.reason.as_str().starts_with(reason), "{}", found.reason);
        assert_eq!(found.verdict, GateVerdict::NotEvaluated);
        assert_eq!(comparison, GateVerdict::NotEvaluated);
    }
    let (mut sides, _) = discordant(0, 0);
    for condition in &mut sides.candidate[1].conditions {
        if condition.label.as_str() == "Models returned" {
            condition.value = crate::judge::said("another");
        }
    }
    let rules = BlockRules { outcomes: &whole, ..rules(&ttft, Pairing::ByTime) };
    let (found, _) = judged(&sides, &rules);
    assert!(found.reason.as_str().starts_with("a model other than"), "{}", found.reason);
}

#[test]
fn a_stated_gate_holds_in_the_place_of_the_default() {
    let gate = |limit_percent, min_samples| Gate {
        metric: Identifier::new(PASS_RATIO).unwrap(),
        limit_percent,
        direction: None,
        statistic: None,
        min_samples,
    };
    let (sides, outcomes) = discordant(12, 9);
    for (limit, needed, verdict, reason) in [
        (3.0, None, GateVerdict::Pass, "the interval reaches to -"),
        (0.5, None, GateVerdict::Inconclusive, "the interval from -"),
        (5.0, Some(1_001), GateVerdict::NotEvaluated, "it needs 1001 prompts, and there are 1000"),
    ] {
        // Right answers may be all that is judged.
        let gates = Gates::new(0.05, 0.0, vec![gate(limit, needed)]).unwrap();
        let rules = BlockRules { outcomes: &outcomes, ..rules(&gates, Pairing::ByTime) };
        let (found, comparison) = judged(&sides, &rules);
        assert_eq!((found.verdict, comparison), (verdict, verdict), "{}", found.reason);
        assert!(found.reason.as_str().starts_with(reason), "{}", found.reason);
        assert_eq!(found.limit_percent, limit);
    }
    let gates = Gates::new(0.05, 0.0, vec![gate(0.5, None)]).unwrap();
    let rules = BlockRules { outcomes: &outcomes, ..rules(&gates, Pairing::ByTime) };
    let (found, _) = judged(&sides, &rules);
    assert!(
        found.reason.as_str().ends_with("; 875 prompts that both sides answer alike would pass")
    );
    // Runs that nothing graded have no pass rate.
    let plain = Sides::blocks(TTFT, &blocks(5, 0.0));
    let error = super::error(&plain, &rules);
    assert!(error.contains("has no pass_ratio"), "{error}");
}
