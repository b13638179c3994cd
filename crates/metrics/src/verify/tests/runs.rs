//! A comparison held to the records of its runs, each rule broken on purpose.

use streamgauge_schema::{
    ComparisonV2, Condition, Digest, Direction, FindingName, Gates, Identifier, OutputPolicy,
    PublicText, RunRecordV2, Tally,
};

use crate::compare::{
    BlockRules, InsecureRuns, Pairing, PromptOutcomes, SERVER_LABEL, compare_blocks,
};
use crate::sample_blocks::{Sides, add_share, metric, turnover_run};
use crate::verify::verify_runs;

/// Three blocks of runs.
fn blocks() -> Sides {
    let values = [(100.0, 103.0), (101.0, 104.0), (99.0, 102.0)];
    Sides::blocks("ttft_p50_ms", &values).each(|run| add_share(run, "refusal_ratio", 0.0))
}

/// A comparison of three blocks, and the records of its runs.
fn sample() -> (ComparisonV2, Vec<RunRecordV2>) {
    compared(blocks())
}

fn compared(sides: Sides) -> (ComparisonV2, Vec<RunRecordV2>) {
    let [baseline, candidate] = sides.records();
    let rules = BlockRules {
        gates: &Gates::default(),
        pairing: Pairing::AsGiven,
        looks: None,
        outcomes: &PromptOutcomes::NONE,
        allow_differing: &[],
        insecure: InsecureRuns::Refused,
        limitations: &[],
    };
    let comparison = compare_blocks(&baseline, &candidate, &rules).unwrap();
    (comparison, [sides.baseline, sides.candidate].concat())
}

#[test]
fn turnovers_are_as_the_records_have_them() {
    let mut sides = blocks();
    sides.baseline.push(turnover_run("old", 90, OutputPolicy::Strict, 0));
    sides.candidate.push(turnover_run("new", 91, OutputPolicy::Strict, 6));
    let (mut comparison, records) = compared(sides);
    let found = verify_runs(&comparison, &records);
    assert!(found.holds(), "{:?}", found.broken().collect::<Vec<_>>());
    let turnover = comparison.turnover.as_mut().unwrap();
    turnover.candidate[0].outcome = turnover.baseline[0].outcome.clone();
    let found = verify_runs(&comparison, &records);
    let broken: Vec<&str> = found.broken().map(|finding| finding.rule).collect();
    assert_eq!(broken, ["turnovers-are-as-recorded"]);
}

/// Pass rates are held to the records, though these name no prompts.
#[test]
fn pass_rates_are_as_the_records_have_them() {
    let graded = blocks().each(|run| {
        run.evaluator_sha256 = Some(Digest::of(b"graders"));
        add_share(run, "pass_ratio", 0.9);
        metric(run, "pass_ratio").direction = Direction::HigherIsBetter;
    });
    let (comparison, mut records) = compared(graded);
    assert!(verify_runs(&comparison, &records).holds());
    metric(&mut records[4], "pass_ratio").value = Some(0.8);
    let found = verify_runs(&comparison, &records);
    let broken: Vec<String> =
        found.broken().flat_map(|it| &it.members).map(ToString::to_string).collect();
    assert_eq!(broken, ["cells.c2.correctness.candidate[1]"]);
}

#[test]
fn what_was_compared_is_as_its_records_have_it() {
    let (comparison, records) = sample();
    let all = verify_runs(&comparison, &records);
    assert!(all.holds(), "{:?}", all.broken().collect::<Vec<_>>());
    // A half of the records shows a half, and no others show anything.
    let half = verify_runs(&comparison, &records[..3]);
    assert_eq!((half.holds(), half.findings.len() * 2), (true, all.findings.len()));
    let mut others = records;
    others.iter_mut().for_each(|record| record.run_id = Identifier::new("another").unwrap());
    assert_eq!(verify_runs(&comparison, &others).findings, []);
}

#[test]
fn every_rule_of_runs_notices_its_fault() {
    type Fault = fn(&mut ComparisonV2);
    let cases: [(&str, Fault); 8] = [
        ("runs-are-of-their-cell", |it| it.cells.0[0].0 = Identifier::new("c9").unwrap()),
        ("runs-are-as-recorded", |it| it.cells.0[0].1.baseline_runs[1].offered += 1),
        ("runs-are-as-recorded", |it| {
            it.cells.0[0].1.candidate_runs[0].performance_eligible = false;
        }),
        ("builds-are-as-recorded", |it| it.candidate.variant = PublicText::new("other").ok()),
        ("figures-are-as-recorded", |it| {
            it.cells.0[0].1.metrics.0[0].1.candidate[2].value = Some(99.0);
        }),
        ("figures-are-as-recorded", |it| it.cells.0[0].1.metrics.0[1].1.baseline[0].samples = 7),
        ("figures-are-as-recorded", |it| it.cells.0[0].1.values[1].baseline[0] = Some(9.0)),
        ("counts-are-as-recorded", |it| {
            let counts = &mut it.cells.0[0].1.counts;
            let refusals = counts.iter_mut().find(|it| it.name == FindingName::Refusals).unwrap();
            refusals.candidate = Some(Tally { count: 1, of: 3_000 });
        }),
    ];
    for (rule, fault) in cases {
        let (mut comparison, records) = sample();
        fault(&mut comparison);
        let found = verify_runs(&comparison, &records);
        let broken: Vec<&str> = found.broken().map(|finding| finding.rule).collect();
        assert!(!broken.is_empty() && broken.iter().all(|it| *it == rule), "{rule}: {broken:?}");
    }
}

#[test]
fn what_servers_say_tells_builds_apart_where_nothing_is_declared() {
    let mut sides = blocks().each(|run| {
        run.deployment.variant = None;
        run.conditions.retain(|condition| condition.label.as_str() != "Runtime image");
    });
    let say = |run: &mut RunRecordV2, said: &str| {
        let [label, value] = [SERVER_LABEL, said].map(|text| PublicText::new(text).unwrap());
        run.conditions.push(Condition { label, value });
    };
    sides.baseline.iter_mut().for_each(|run| say(run, "stated: old"));
    // One run of the candidate holds nothing of it, as one that was taken apart.
    sides.candidate.iter_mut().skip(1).for_each(|run| say(run, "stated: new"));
    let (comparison, records) = compared(sides);
    let variants = [&comparison.baseline, &comparison.candidate]
        .map(|build| build.variant.as_ref().unwrap().to_string());
    assert_eq!(variants, ["stated: old", "stated: new"]);
    let found = verify_runs(&comparison, &records);
    assert!(found.holds(), "{:?}", found.broken().collect::<Vec<_>>());
}
