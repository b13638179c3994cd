//! A whole comparison as a file: what the rule gives is what lies among the records of the schema.
//! `UPDATE_RECORD=1` rewrites it.

use std::path::Path;

use streamgauge_schema::{
    ComparisonV2, Document, EvidenceMode, GateVerdict, Gates, Identifier, Looks, OutputPolicy,
    PublicText, Timestamp,
};

use super::blocks;
use crate::compare::{
    BlockRules, InsecureRuns, MatchingCondition, Pairing, PromptOutcomes, compare_blocks,
};
use crate::sample_blocks::{Sides, add_share, metric, set_output_length, turnover_run};

const RECORDS: &str = "../schema/tests/records";

/// Four blocks of two cells: one cell with a gate of each verdict, and one that is void because the
/// candidate answers shorter.
fn sides() -> Sides {
    let mut sides = Sides::blocks("ttft_p50_ms", &blocks(4, 1.0));
    for ((old, new), (one, other)) in
        sides.baseline.iter_mut().zip(&mut sides.candidate).zip(blocks(4, 9.0))
    {
        metric(old, "e2e_p50_ms").value = Some(5.0 * one);
        metric(new, "e2e_p50_ms").value = Some(5.0 * other);
        metric(new, "decode_rate_p50_tok_per_s").value = Some(9.2 + (one - 100.0));
        new.instrument.client_limited.push(Identifier::new("tpot_p50_ms").unwrap());
        new.evidence_mode = EvidenceMode::Simulated;
        new.performance.target_input_tokens = Some(1_024);
        add_share(old, "refusal_ratio", 0.002);
        add_share(new, "refusal_ratio", 0.003);
    }
    let mut second = sides.clone().each(|run| {
        run.load.cell = Identifier::new("c8").unwrap();
        let digest = run.run_id.as_str().replacen("sample", "eight", 1);
        run.run_id = Identifier::new(digest).unwrap();
        let later = |at: Timestamp| Timestamp::from_unix_micros(at.unix_micros() + 3_600_000_000);
        (run.started_at, run.completed_at) = (later(run.started_at), later(run.completed_at));
    });
    second.candidate.iter_mut().for_each(|run| set_output_length(run, 97.5));
    second.baseline.iter_mut().for_each(|run| set_output_length(run, 128.0));
    sides.baseline.append(&mut second.baseline);
    sides.candidate.append(&mut second.candidate);
    sides
}

#[test]
fn the_golden_comparison_is_what_the_rule_gives() {
    let mut sides = sides();
    sides.baseline.push(turnover_run("old", 200, OutputPolicy::Strict, 0));
    sides.candidate.push(turnover_run("new", 201, OutputPolicy::Strict, 1));
    let [baseline, candidate] = sides.records();
    let rules = BlockRules {
        gates: &Gates::default(),
        pairing: Pairing::ByTime,
        looks: Some(Looks { planned_blocks: vec![4, 6, 8], look: 1 }),
        outcomes: &PromptOutcomes::NONE,
        allow_differing: &[MatchingCondition::TargetInput],
        insecure: InsecureRuns::Refused,
        limitations: &[PublicText::new("Build and machine are confounded.").unwrap()],
    };
    let comparison = compare_blocks(&baseline, &candidate, &rules).unwrap();
    let verdicts: Vec<GateVerdict> = comparison
        .cells
        .iter()
        .flat_map(|(_, cell)| cell.metrics.iter().map(|(_, metric)| metric.verdict))
        .collect();
    use GateVerdict::{Fail, Inconclusive, NotEvaluated, Pass};
    let void = NotEvaluated;
    assert_eq!(verdicts, [Pass, Fail, Inconclusive, void, void, void]);
    is_golden(comparison, "comparison-v2.json");
}

/// The five runs of sgl-project/sglang#8285, for whatever shows a comparison.
#[test]
fn the_golden_unstable_comparison_is_what_the_rule_gives() {
    let runs = [2_500.0, 1_700.0, 1_700.0, 11_700.0, 47_600.0];
    let again = [11_700.0, 2_500.0, 47_600.0, 1_700.0, 1_700.0];
    let blocks: Vec<(f64, f64)> = runs.into_iter().zip(again).collect();
    let [baseline, candidate] = Sides::blocks("ttft_p50_ms", &blocks).records();
    let gates = Gates::new(0.05, 0.0, Gates::default().gates()[..1].into()).unwrap();
    let rules = BlockRules {
        gates: &gates,
        pairing: Pairing::ByTime,
        looks: None,
        outcomes: &PromptOutcomes::NONE,
        allow_differing: &[],
        insecure: InsecureRuns::Refused,
        limitations: &[],
    };
    let comparison = compare_blocks(&baseline, &candidate, &rules).unwrap();
    assert_eq!(comparison.verdict, GateVerdict::Inconclusive);
    is_golden(comparison, "comparison-v2-unstable.json");
}

fn is_golden(comparison: ComparisonV2, name: &str) {
    let bytes = Document::ComparisonV2(Box::new(comparison)).file_bytes().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDS).join(name);
    if std::env::var_os("UPDATE_RECORD").is_some() {
        std::fs::write(&path, &bytes).unwrap();
    }
    let written = std::fs::read(&path).unwrap();
    assert!(written == bytes, "{} differs: run this test with UPDATE_RECORD=1", path.display());
}
