//! The interval rule on invented runs: what it judges, what it refuses, what it says.

mod answers;
mod before_speed;
mod golden;
mod limitations;
mod refusals;
mod turnovers;

use streamgauge_schema::{
    ComparisonV2, Direction, Document, Equivalence, Gate, LimitationKind, MetricComparisonV2,
};

use super::*;
use crate::sample_blocks::{Sides, metric};
use crate::verify::verify;

const TTFT: &str = "ttft_p50_ms";
static NONE: PromptOutcomes = PromptOutcomes::NONE;

/// The gates on these metrics, each at 5 percent.
fn gates(metrics: &[&str]) -> Gates {
    let gate = |metric: &&str| Gate {
        metric: Identifier::new(*metric).unwrap(),
        limit_percent: 5.0,
        direction: None,
        statistic: None,
        min_samples: None,
    };
    Gates::new(0.05, 0.0, metrics.iter().map(gate).collect()).unwrap()
}

fn rules(gates: &Gates, pairing: Pairing) -> BlockRules<'_> {
    BlockRules {
        gates,
        pairing,
        looks: None,
        outcomes: &NONE,
        allow_differing: &[],
        insecure: InsecureRuns::Refused,
        limitations: &[],
    }
}

/// The comparison, which verifies and is read back as it was written.
fn sound(sides: &Sides, rules: &BlockRules<'_>) -> ComparisonV2 {
    let [baseline, candidate] = sides.records();
    let comparison = compare_blocks(&baseline, &candidate, rules).unwrap();
    let document = Document::ComparisonV2(Box::new(comparison.clone()));
    let broken: Vec<_> = verify(&document).broken().cloned().collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(Document::read(&document.file_bytes().unwrap()).unwrap(), document);
    comparison
}

fn compared(sides: &Sides) -> ComparisonV2 {
    sound(sides, &rules(&gates(&[TTFT]), Pairing::ByTime))
}

fn error(sides: &Sides, rules: &BlockRules<'_>) -> String {
    let [baseline, candidate] = sides.records();
    compare_blocks(&baseline, &candidate, rules).unwrap_err().to_string()
}

fn only(comparison: &ComparisonV2) -> &MetricComparisonV2 {
    &comparison.cells.0[0].1.metrics.0[0].1
}

fn kinds(comparison: &ComparisonV2) -> Vec<LimitationKind> {
    comparison.limitations.iter().map(|limitation| limitation.kind).collect()
}

/// Blocks with ratios of about `1 + percent / 100`, which differ by about one percent.
fn blocks(count: usize, percent: f64) -> Vec<(f64, f64)> {
    let wobble = [0.004, -0.007, 0.009, -0.003, -0.006, 0.005, 0.002, -0.004];
    let pair = |n: usize| {
        let old = 100.0 * (1.0 + wobble[(3 * n + 1) % 8]);
        (old, old * (1.0 + percent / 100.0) * (1.0 + wobble[n % 8]))
    };
    (0..count).map(pair).collect()
}

#[test]
fn verdicts() {
    use GateVerdict::{Fail, Inconclusive, Pass};
    let cases = [
        (0.0, Pass, Equivalence::Within),
        (-30.0, Pass, Equivalence::Outside),
        (5.0, Inconclusive, Equivalence::Undecided),
        (7.0, Fail, Equivalence::Outside),
    ];
    for (percent, verdict, equivalence) in cases {
        let comparison = compared(&Sides::blocks(TTFT, &blocks(6, percent)));
        let metric = only(&comparison);
        assert_eq!((metric.verdict, comparison.verdict), (verdict, verdict), "{percent}");
        assert_eq!(metric.equivalence, Some(equivalence), "{percent}");
        assert!((metric.delta_percent.unwrap() - percent).abs() < 0.5, "{metric:?}");
        assert_eq!(metric.degrees_of_freedom, Some(5.0));
        let interval = metric.pass_interval.as_ref().unwrap();
        assert_eq!((interval.level, interval.method.as_str()), (0.95, "student_t"));
        assert!(interval.lower < metric.delta_percent && metric.delta_percent < interval.upper);
        // One gate: both intervals are the same.
        assert_eq!(metric.fail_interval, metric.pass_interval);
        assert_eq!((comparison.gates_judged, comparison.fail_level), (1, Some(0.95)));
    }
}

#[test]
fn rates_are_judged_downwards() {
    let rate = "decode_rate_p50_tok_per_s";
    let gates = gates(&[rate]);
    for (percent, expected) in [
        (0.0, GateVerdict::Pass),
        (30.0, GateVerdict::Pass),
        (-5.0, GateVerdict::Inconclusive),
        (-8.0, GateVerdict::Fail),
    ] {
        let sides = Sides::blocks(rate, &blocks(6, percent));
        let comparison = sound(&sides, &rules(&gates, Pairing::ByTime));
        assert_eq!(only(&comparison).direction, Direction::HigherIsBetter);
        assert_eq!(comparison.verdict, expected, "{percent}: {}", only(&comparison).reason);
    }
}

/// Every gate line says pass, fail or why not, and with what limit.
#[test]
fn reasons() {
    let one_block = Sides::blocks(TTFT, &blocks(1, 30.0));
    let mut missing = Sides::blocks(TTFT, &blocks(4, 0.0));
    metric(&mut missing.candidate[2], TTFT).value = None;
    let mut zero = Sides::blocks(TTFT, &blocks(4, 0.0));
    metric(&mut zero.baseline[1], TTFT).value = Some(0.0);
    let mut bent = Sides::blocks(TTFT, &blocks(4, 0.0));
    bent.candidate[0].instrument.client_limited.push(Identifier::new(TTFT).unwrap());
    let mut few = Sides::blocks(TTFT, &blocks(4, 0.0));
    metric(&mut few.baseline[3], TTFT).samples = 19;
    let noisy = [(100.0, 103.0), (104.0, 100.0), (98.0, 103.0), (100.0, 102.0)];
    let wild = [(1.7, 2.5), (1.7, 11.7), (47.6, 1.7), (2.5, 47.6)];
    let in_run = |sides: &Sides, side: usize, place: usize| {
        let runs = [&sides.baseline, &sides.candidate][side];
        runs[place].run_id.to_string()
    };
    let cases = [
        (
            Sides::blocks(TTFT, &blocks(6, 0.0)),
            "the interval reaches to +0.72 %, within the limit of +5.00 %".to_owned(),
        ),
        (
            Sides::blocks(TTFT, &blocks(6, 9.0)),
            "even the better end of the 95 % interval, +8.29 %, is beyond the limit of +5.00 %".to_owned(),
        ),
        (Sides::blocks(TTFT, &noisy), "the interval from -4.48 % to +7.87 % holds the limit of +5.00 %; noise 3.90 % a block: 7 blocks ".to_owned()),
        (Sides::blocks(TTFT, &wild), "unstable, noise ".to_owned()),
        (
            one_block,
            "run-to-run noise unknown: an interval needs 3 blocks, and there are 1".to_owned(),
        ),
        (missing.clone(), format!("the candidate has no value in {}", in_run(&missing, 1, 2))),
        (
            zero.clone(),
            format!("the baseline has 0.0, of which there is no ratio, in {}", in_run(&zero, 0, 1)),
        ),
        (
            bent.clone(),
            format!(
                "the client may have bent it on the candidate side, in {}",
                in_run(&bent, 1, 0)
            ),
        ),
        (
            few.clone(),
            format!(
                "p50 needs 20 samples of succeeded requests, the baseline has 19 in {}",
                in_run(&few, 0, 3)
            ),
        ),
    ];
    for (sides, expected) in cases {
        let comparison = compared(&sides);
        let reason = only(&comparison).reason.as_str();
        assert!(reason.starts_with(&expected), "{reason:?} for {expected:?}");
    }
}

#[test]
fn several_gates_need_more_to_fail() {
    let ids = ["ttft_p50_ms", "e2e_p50_ms", "decode_rate_p50_tok_per_s"];
    let mut sides = Sides::blocks(TTFT, &blocks(6, 5.85));
    for (run, (old, new)) in sides.candidate.iter_mut().zip(blocks(6, 0.0)) {
        metric(run, "e2e_p50_ms").value = Some(500.0 * new / old);
    }
    let alone = compared(&sides);
    assert_eq!(alone.verdict, GateVerdict::Fail);
    let gates = gates(&ids);
    let comparison = sound(&sides, &rules(&gates, Pairing::ByTime));
    let metrics = &comparison.cells.0[0].1.metrics;
    let verdicts: Vec<_> = metrics.iter().map(|(_, metric)| metric.verdict).collect();
    let (inconclusive, pass) = (GateVerdict::Inconclusive, GateVerdict::Pass);
    assert_eq!(verdicts, [inconclusive, pass, pass]);
    assert_eq!(comparison.verdict, inconclusive);
    assert_eq!(comparison.gates_judged, 3);
    assert_eq!(comparison.fail_level, Some(1.0 - 0.05 / 3.0));
    let ttft = &metrics.0[0].1;
    assert!(
        ttft.fail_interval.as_ref().unwrap().lower < ttft.pass_interval.as_ref().unwrap().lower
    );
    assert_eq!(
        ttft.reason.as_str(),
        "beyond the limit if it were the only gate, not among all that are judged"
    );
}

#[test]
fn looks_share_the_chance_of_error() {
    let sides = Sides::blocks(TTFT, &blocks(6, 0.0));
    let gates = gates(&[TTFT]);
    let at = |planned_blocks: &[u64], look| BlockRules {
        looks: Some(Looks { planned_blocks: planned_blocks.to_vec(), look }),
        ..rules(&gates, Pairing::ByTime)
    };
    let comparison = sound(&sides, &at(&[4, 6, 8, 10], 2));
    assert_eq!((comparison.pass_level, comparison.fail_level), (0.9875, Some(0.9875)));
    for (planned, look) in [(vec![4, 6], 1), (vec![4, 6], 3), (vec![4, 6], 0), (vec![6, 6], 1)] {
        let found = error(&sides, &at(&planned, look));
        let expected =
            format!("look {look} of {}, {} was planned, cell c2 has 6", planned[0], planned[1]);
        assert!(found.starts_with(&expected), "{found}");
    }
    let unpaired = BlockRules { pairing: Pairing::Unpaired, ..at(&[4, 6], 2) };
    assert!(error(&sides, &unpaired).starts_with("look 2 of 4, 6 was planned"));
}

#[test]
fn unpaired_runs_are_two_samples() {
    let mut sides = Sides::blocks(TTFT, &blocks(6, 0.0));
    sides.candidate.pop();
    let gates = gates(&[TTFT]);
    let comparison = sound(&sides, &rules(&gates, Pairing::Unpaired));
    let metric = only(&comparison);
    assert_eq!(comparison.method, ComparisonMethod::Unpaired);
    assert_eq!(metric.pass_interval.as_ref().unwrap().method.as_str(), "welch_t");
    assert!(metric.degrees_of_freedom.unwrap() > 5.0, "{metric:?}");
    assert!(kinds(&comparison).contains(&LimitationKind::Unpaired));
    sides.candidate.truncate(2);
    let comparison = sound(&sides, &rules(&gates, Pairing::Unpaired));
    assert_eq!(
        only(&comparison).reason.as_str(),
        "run-to-run noise unknown: an interval needs 3 runs of each side, and there are 6 and 2"
    );
}

/// A drift that both runs of a block share is no noise of the blocks.
#[test]
fn blocks_see_through_a_drift() {
    let drifting: Vec<(f64, f64)> = blocks(8, 0.0)
        .into_iter()
        .enumerate()
        .map(|(n, (old, new))| (old * 1.05_f64.powi(n as i32), new * 1.05_f64.powi(n as i32)))
        .collect();
    let (sides, gates) = (Sides::blocks(TTFT, &drifting), gates(&[TTFT]));
    let in_blocks = sound(&sides, &rules(&gates, Pairing::ByTime));
    let unpaired = sound(&sides, &rules(&gates, Pairing::Unpaired));
    assert_eq!(in_blocks.verdict, GateVerdict::Pass);
    assert_eq!(unpaired.verdict, GateVerdict::Inconclusive);
    let near = |one: Option<f64>, other: Option<f64>| (one.unwrap() - other.unwrap()).abs() < 1e-6;
    assert!(near(only(&in_blocks).delta_percent, only(&unpaired).delta_percent));
}

/// Of gates that fail and gates that could not be judged, the failure counts.
#[test]
fn the_worst_gate_counts() {
    let gates = gates(&[TTFT, "e2e_p50_ms"]);
    let rules = rules(&gates, Pairing::ByTime);
    let mut sides = Sides::blocks(TTFT, &blocks(6, 0.0));
    metric(&mut sides.candidate[0], "e2e_p50_ms").value = None;
    assert_eq!(sound(&sides, &rules).verdict, GateVerdict::NotEvaluated);
    for (run, (_, new)) in sides.candidate.iter_mut().zip(blocks(6, 30.0)) {
        metric(run, TTFT).value = Some(new);
    }
    assert_eq!(sound(&sides, &rules).verdict, GateVerdict::Fail);
}
