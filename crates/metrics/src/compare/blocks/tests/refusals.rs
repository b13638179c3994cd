//! What the interval rule refuses to compare.

use streamgauge_schema::{
    ComparisonV2, Condition, Digest, Direction, Gate, GateStatistic, GateVerdict, Gates,
    Identifier, LimitationKind, PublicText, Timestamp,
};

use super::{TTFT, blocks, error, gates, kinds, only, rules, sound};
use crate::compare::{BlockRules, InsecureRuns, MatchingCondition, Pairing};
use crate::record::{NOT_VERIFIED, TLS_TRUST_LABEL};
use crate::sample_blocks::{Sides, metric};

#[test]
fn blocks_follow_from_the_starts() {
    let gates = gates(&[TTFT]);
    let sides = Sides::blocks(TTFT, &blocks(4, 0.0));
    let ids = |comparison: &ComparisonV2| -> Vec<(Identifier, Identifier)> {
        let cell = &comparison.cells.0[0].1;
        let pairs = cell.baseline_runs.iter().zip(&cell.candidate_runs);
        pairs.map(|(old, new)| (old.run_id.clone(), new.run_id.clone())).collect()
    };
    let in_order = ids(&sound(&sides, &rules(&gates, Pairing::AsGiven)));
    let mut shuffled = sides.clone();
    shuffled.baseline.reverse();
    shuffled.candidate.swap(0, 2);
    assert_eq!(ids(&sound(&shuffled, &rules(&gates, Pairing::ByTime))), in_order);
    assert_ne!(ids(&sound(&shuffled, &rules(&gates, Pairing::AsGiven))), in_order);

    let mut lone = sides.clone();
    let last = lone.baseline.pop().unwrap();
    let by_time = rules(&gates, Pairing::ByTime);
    let found = error(&lone, &by_time);
    let candidate = &lone.candidate[3].run_id;
    let expected = format!(
        "the runs of cell c2 were not taken in blocks: by their starts, {candidate} of the candidate"
    );
    assert!(found.starts_with(&expected), "{found}");
    let found = error(&lone, &rules(&gates, Pairing::AsGiven));
    assert!(found.starts_with("cell c2 has 3 runs of the baseline and 4 of the candidate"));
    let mut apart = sides.clone();
    apart.baseline[0].started_at = Timestamp::from_unix_micros(0);
    apart.baseline[1].started_at = Timestamp::from_unix_micros(1);
    assert!(error(&apart, &by_time).contains("of the baseline has no run of the other side"));
    let mut twice = sides.clone();
    twice.candidate[0].run_id = last.run_id.clone();
    assert_eq!(error(&twice, &by_time), format!("run {} is given more than once", last.run_id));
}

#[test]
fn cells_pair_up() {
    let gates = gates(&[TTFT]);
    let by_time = rules(&gates, Pairing::ByTime);
    let mut sides = Sides::blocks(TTFT, &blocks(6, 0.0));
    let second = Identifier::new("c8").unwrap();
    for run in sides.baseline[3..].iter_mut().chain(&mut sides.candidate[3..]) {
        run.load.cell = second.clone();
    }
    let comparison = sound(&sides, &by_time);
    let names: Vec<&str> = comparison.cells.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["c2", "c8"]);
    assert_eq!(comparison.gates_judged, 2);
    sides.candidate[5].load.cell = Identifier::new("c9").unwrap();
    assert!(error(&sides, &by_time).contains("c8"), "{}", error(&sides, &by_time));
    sides.candidate.truncate(3);
    assert_eq!(error(&sides, &by_time), "cell c8 stands on the baseline side only");
    let empty = Sides { candidate: Vec::new(), ..sides };
    assert_eq!(
        error(&empty, &by_time),
        "there is no candidate record of a run that measured speed"
    );
}

#[test]
fn gates_agree_with_their_metrics() {
    let sides = Sides::blocks(TTFT, &blocks(4, 0.0));
    let gate = |metric: &str| Gate {
        metric: Identifier::new(metric).unwrap(),
        limit_percent: 5.0,
        direction: None,
        statistic: None,
        min_samples: None,
    };
    let higher = Some(Direction::HigherIsBetter);
    let p95 = Some(GateStatistic::P95);
    let cases = [
        (
            Gate { direction: higher, ..gate(TTFT) },
            "the gate on ttft_p50_ms says higher_is_better, the metric is lower_is_better",
        ),
        (
            Gate { statistic: p95, ..gate(TTFT) },
            "the gate on ttft_p50_ms says p95, the metric is p50",
        ),
        (
            gate("batch_duration_seconds"),
            "batch_duration_seconds has no better and worse, and cannot be gated",
        ),
        (gate("unheard_of"), "has no unheard_of"),
    ];
    for (gate, expected) in cases {
        let gates = Gates::new(0.05, 0.0, vec![gate]).unwrap();
        let found = error(&sides, &rules(&gates, Pairing::ByTime));
        assert!(found.ends_with(expected), "{found}");
    }
    let stranger = sides.each(|run| {
        let mut copy = metric(run, TTFT).clone();
        copy.id = Identifier::new("wait_p90_ms").unwrap();
        run.metrics.push(copy);
    });
    let unknown = Gates::new(0.05, 0.0, vec![gate("wait_p90_ms")]).unwrap();
    assert_eq!(
        error(&stranger, &rules(&unknown, Pairing::ByTime)),
        "the statistic of wait_p90_ms is not known here: its gate must state it"
    );
    let p90 = Some(GateStatistic::P90);
    let stated = Gate { statistic: p90, min_samples: Some(5), ..gate("wait_p90_ms") };
    let stated = Gates::new(0.05, 0.0, vec![stated]).unwrap();
    let comparison = sound(&stranger, &rules(&stated, Pairing::ByTime));
    // It can only ask for more.
    assert_eq!(comparison.gates[0].min_samples, 100);
    let more = Gate { min_samples: Some(2_000), ..gate(TTFT) };
    let more = Gates::new(0.05, 0.0, vec![more]).unwrap();
    let comparison = sound(&stranger, &rules(&more, Pairing::ByTime));
    assert!(only(&comparison).reason.as_str().starts_with("p50 needs 2000 samples"));
}

#[test]
fn matching_conditions() {
    let gates = gates(&[TTFT]);
    let by_time = rules(&gates, Pairing::ByTime);
    let fresh = |block: usize| Digest::of(&block.to_le_bytes());
    let mut sides = Sides::blocks(TTFT, &blocks(4, 0.0));
    for (block, (old, new)) in sides.baseline.iter_mut().zip(&mut sides.candidate).enumerate() {
        (old.suite_sha256, new.suite_sha256) = (fresh(block), fresh(block));
    }
    // Fresh prompts in each block are the same for both sides.
    assert_eq!(sound(&sides, &by_time).verdict, GateVerdict::Pass);
    let unpaired = rules(&gates, Pairing::Unpaired);
    assert!(error(&sides, &unpaired).starts_with("the sides are not comparable: dataset of cell"));
    let allow = [MatchingCondition::Dataset];
    let allowing = BlockRules { allow_differing: &allow, ..unpaired.clone() };
    let comparison = sound(&sides, &allowing);
    assert_eq!(comparison.allowed_differences.len(), 1);
    assert_eq!(comparison.allowed_differences[0].condition.as_str(), "dataset");
    assert!(kinds(&comparison).contains(&LimitationKind::AllowedDifference));

    sides.candidate[1].suite_sha256 = fresh(9);
    assert!(error(&sides, &by_time).starts_with("the sides are not comparable: dataset"));
    let mut uneven = Sides::blocks(TTFT, &blocks(4, 0.0));
    for run in [&mut uneven.baseline[2], &mut uneven.candidate[2]] {
        run.performance.target_input_tokens = Some(2_048);
    }
    let run_id = &uneven.baseline[2].run_id;
    assert_eq!(
        error(&uneven, &by_time),
        format!(
            "target_input of cell c2 differs on the baseline side: 512 tokens, but 2048 tokens in \
             {run_id}"
        )
    );
    // Metrics with other token sources never meet; what has no value may say why in its definition.
    let rate = "decode_rate_p50_tok_per_s";
    let rate_gates = super::gates(&[rate]);
    let by_rate = rules(&rate_gates, Pairing::ByTime);
    let mut sources = Sides::blocks(rate, &blocks(3, 0.0));
    sources.candidate.iter_mut().for_each(|run| metric(run, rate).token_source = None);
    assert!(error(&sources, &by_rate).contains("metric_definitions"));
    sources.candidate.iter_mut().for_each(|run| metric(run, rate).value = None);
    assert_eq!(sound(&sources, &by_rate).verdict, GateVerdict::NotEvaluated);
}

#[test]
fn servers_that_were_not_verified() {
    let gates = gates(&[TTFT]);
    let refusing = rules(&gates, Pairing::ByTime);
    let mut sides = Sides::blocks(TTFT, &blocks(4, 0.0));
    for run in [&mut sides.baseline[1], &mut sides.candidate[2]] {
        let [label, value] = [TLS_TRUST_LABEL, NOT_VERIFIED].map(|it| PublicText::new(it).unwrap());
        run.conditions.push(Condition { label, value });
    }
    let refused = format!(
        "baseline run {} did not verify the certificate of its server",
        sides.baseline[1].run_id
    );
    assert!(error(&sides, &refusing).starts_with(&refused));
    let allowing = BlockRules { insecure: InsecureRuns::Allowed, ..refusing };
    let comparison = sound(&sides, &allowing);
    let stated = comparison.limitations.iter().find(|it| it.kind == LimitationKind::Stated);
    let stated = stated.unwrap().text.as_str();
    assert!(stated.starts_with("Runs that did not verify the certificate of their server: 2;"));
}
