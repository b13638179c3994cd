//! What people reported of comparisons, as runs with the verdict that they should have seen.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use streamgauge_schema::{
    ComparisonMethod, ComparisonV2, GateVerdict, Gates, Identifier, LimitationKind,
    MetricComparisonV2, RunRecordV2,
};

use crate::change::Change;
use crate::compare::{BlockRules, InsecureRuns, Pairing, PromptOutcomes, compare_blocks};
use crate::little::littles_inflight;
use crate::sample_blocks::{Sides, add_share, metric};

const TTFT: &str = "ttft_p50_ms";

fn compared(sides: &Sides) -> ComparisonV2 {
    let [baseline, candidate] = sides.records();
    let gates = Gates::default();
    let rules = BlockRules {
        gates: &gates,
        pairing: Pairing::ByTime,
        looks: None,
        outcomes: &PromptOutcomes::NONE,
        allow_differing: &[],
        insecure: InsecureRuns::Refused,
        limitations: &[],
    };
    compare_blocks(&baseline, &candidate, &rules).unwrap()
}

fn ttft(comparison: &ComparisonV2) -> &MetricComparisonV2 {
    let found = comparison.cells.0[0].1.metrics.iter();
    found.into_iter().find(|(name, _)| name.as_str() == TTFT).unwrap().1
}

/// All orders of five values, by exchanging each with each.
fn orders(values: [f64; 5]) -> Vec<[f64; 5]> {
    fn exchange(from: usize, values: &mut [f64; 5], found: &mut Vec<[f64; 5]>) {
        if from == values.len() {
            found.push(*values);
        }
        for place in from..values.len() {
            values.swap(from, place);
            exchange(from + 1, values, found);
            values.swap(from, place);
        }
    }
    let mut found = Vec::new();
    exchange(0, &mut values.clone(), &mut found);
    found
}

/// sgl-project/sglang#8285: five equal runs had a TTFT of 2.5, 1.7, 1.7, 11.7 and 47.6 s. Whatever
/// their order in the blocks, such a build is neither worse than itself nor as good.
#[test]
fn five_equal_runs_that_differ_twenty_times_are_unstable() {
    let runs = [2_500.0, 1_700.0, 1_700.0, 11_700.0, 47_600.0];
    for order in orders(runs) {
        let blocks: Vec<(f64, f64)> = runs.into_iter().zip(order).collect();
        if order == runs {
            continue; // Each run against itself.
        }
        let comparison = compared(&Sides::blocks(TTFT, &blocks));
        let metric = ttft(&comparison);
        assert_eq!(metric.verdict, GateVerdict::Inconclusive, "{order:?}: {}", metric.reason);
        assert!(metric.reason.as_str().starts_with("unstable, noise "), "{}", metric.reason);
        assert_eq!(comparison.verdict, GateVerdict::Inconclusive);
    }
}

/// Standard normal, from the sum of twelve uniform values.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| f64::from(rng.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0
}

/// fedify-dev/fedify#786: fail only above the measured noise, in the order A B B A; a change of
/// +10 % at a coefficient of variation of 3 % is detected by 10 blocks in at least 95 % of cases.
///
/// Detected means that the interval leaves 0 out. By the design a gate *fails* only when all of the
/// interval is beyond its limit of +5 %, for which the study wants 83 %; design.md holds.
#[test]
fn ten_percent_at_three_percent_of_noise_is_detected() {
    let mut rng = ChaCha8Rng::seed_from_u64(786);
    let (mut detected, mut failed) = (0, 0);
    for _ in 0..400 {
        let mut side = |level: f64| -> Vec<f64> {
            (0..10).map(|_| level * (0.03 * normal(&mut rng)).exp()).collect()
        };
        let (old, new) = (side(100.0), side(110.0));
        let change = Change::between(ComparisonMethod::Blocks, &old, &new).unwrap();
        let (lower, _) = change.interval_percent(0.95).unwrap();
        detected += u32::from(lower > 0.0);
        failed += u32::from(lower > 5.0);
    }
    assert!(detected >= 380 && failed >= 332, "{detected} and {failed} of 400");

    let blocks: Vec<(f64, f64)> = (0..10).map(|n| (100.0, 110.0 + f64::from(n % 3))).collect();
    let comparison = compared(&Sides::blocks(TTFT, &blocks));
    // The noise band is there, and the order alternates.
    assert!(ttft(&comparison).noise_percent.is_some_and(|noise| noise > 0.0));
    let turned = LimitationKind::BlocksNotAlternating;
    assert!(comparison.limitations.iter().all(|limitation| limitation.kind != turned));
}

/// ai-dynamo/aiperf#623: the interval is over one value a run, not over pooled requests.
#[test]
fn more_requests_in_a_run_make_no_interval_narrower() {
    let blocks = [(100.0, 103.0), (104.0, 100.0), (98.0, 103.0), (100.0, 102.0)];
    let few = compared(&Sides::blocks(TTFT, &blocks));
    let many = compared(&Sides::blocks(TTFT, &blocks).each(|run| {
        (run.load.offered, run.load.succeeded) = (1_000_000, 1_000_000);
        metric(run, TTFT).samples = 1_000_000;
    }));
    assert_eq!(ttft(&few).pass_interval, ttft(&many).pass_interval);
    assert_eq!(ttft(&few).degrees_of_freedom, Some(3.0));
}

/// vllm-project/semantic-router#3231: a versioned result with its provenance. Records name their
/// version and the instrument's, whose catalogue the definitions come from, and a comparison names
/// its records by their digests. The digest of the plan that the line asks for is not published
/// (design.md, section 6: closed members); it stands in the journal, whose digest is the evidence.
#[test]
fn results_name_their_versions_and_evidence() {
    let sides = Sides::blocks(TTFT, &[(100.0, 100.0); 3]);
    let comparison = compared(&sides);
    assert_eq!(comparison.schema.as_str(), "streamgauge-comparison/v2");
    let cell = &comparison.cells.0[0].1;
    for (run, record) in cell.baseline_runs.iter().zip(&sides.baseline) {
        assert_eq!(record.schema_version, 2);
        assert_eq!((&run.run_id, &run.instrument), (&record.run_id, &record.instrument.version));
    }
    for (name, metric) in cell.metrics.iter() {
        let recorded = sides.baseline[0].metrics.iter().find(|it| it.id == *name).unwrap();
        assert_eq!(metric.definition, recorded.definition);
        assert_eq!((metric.unit, metric.window), (recorded.unit, recorded.window));
    }
}

/// vllm-project/vllm#12845: a reader could not fit 529 tok/s with a TPOT of 108 ms. At 200 tokens a
/// request that is 2.645 requests a second of 21.5 s each: 57 at once.
#[test]
fn rate_and_latency_fit_through_what_was_in_flight() {
    let (tokens, tpot_ms) = (200.0, 108.0);
    let latency_ms = (tokens - 1.0) * tpot_ms;
    let inflight = littles_inflight(Some(529.0 / tokens), Some(latency_ms), 600_000.0).unwrap();
    assert_eq!(inflight.round(), 57.0);
    assert_eq!(littles_inflight(Some(529.0 / tokens), Some(latency_ms), 300_000.0), None);
}

/// SemiAnalysisAI/InferenceX#357: a server that refuses work looks faster than one that serves
/// slowly.
#[test]
fn who_refuses_work_is_not_faster() {
    let blocks = [(100.0, 60.0), (101.0, 61.0), (99.0, 60.0), (100.0, 59.0)];
    let mut sides = Sides::blocks(TTFT, &blocks);
    for run in &mut sides.candidate {
        // Within what its own plan allows.
        (run.load.succeeded, run.load.failed, run.load.max_failure_ratio) = (700, 300, 0.5);
    }
    let lenient = Gates::new(0.05, 0.5, Gates::default().gates().into()).unwrap();
    let [baseline, candidate] = sides.records();
    for gates in [Gates::default(), lenient] {
        let rules = BlockRules {
            gates: &gates,
            pairing: Pairing::ByTime,
            looks: None,
            outcomes: &PromptOutcomes::NONE,
            allow_differing: &[],
            insecure: InsecureRuns::Refused,
            limitations: &[],
        };
        let found = compare_blocks(&baseline, &candidate, &rules).unwrap();
        assert_eq!(found.verdict, GateVerdict::NotEvaluated);
        assert!(found.cells.0[0].1.speed_void.is_some());
    }
}

/// vllm-project/vllm#54227: a fixed seed and a prefix cache made TPOT 34 % better and TTFT 49 times.
#[test]
fn who_took_its_prompts_from_a_cache_is_not_faster() {
    let blocks = [(4_900.0, 100.0), (4_950.0, 101.0), (4_920.0, 99.0), (4_880.0, 100.0)];
    let mut sides = Sides::blocks(TTFT, &blocks);
    let share = |runs: &mut [RunRecordV2], ratio: f64| {
        runs.iter_mut().for_each(|run| add_share(run, "cached_tokens_ratio", ratio));
    };
    share(&mut sides.baseline, 0.0);
    share(&mut sides.candidate, 0.93);
    let comparison = compared(&sides);
    let void = comparison.cells.0[0].1.speed_void.as_ref().unwrap();
    assert_eq!(void.as_str(), "the sides differ significantly: cached_share");
    assert_eq!(comparison.verdict, GateVerdict::NotEvaluated);
}

/// mlcommons/inference#1788: "Constraints satisfied: Yes" beside INVALID and a latency of 0. Each
/// gate says what it amounts to, against which limit and why, and nothing passes beside a line that
/// was not evaluated.
#[test]
fn nothing_passes_beside_a_line_that_was_not_evaluated() {
    let mut sides = Sides::blocks(TTFT, &[(100.0, 100.0); 4]);
    sides.candidate.iter_mut().for_each(|run| metric(run, TTFT).value = Some(0.0));
    let comparison = compared(&sides);
    assert_eq!(comparison.verdict, GateVerdict::NotEvaluated);
    let lines: Vec<(&Identifier, GateVerdict)> = comparison.cells.0[0]
        .1
        .metrics
        .iter()
        .map(|(name, metric)| {
            assert!(metric.limit_percent > 0.0 && !metric.reason.as_str().is_empty());
            (name, metric.verdict)
        })
        .collect();
    let verdicts: Vec<GateVerdict> = lines.iter().map(|(_, verdict)| *verdict).collect();
    assert_eq!(verdicts, [GateVerdict::NotEvaluated, GateVerdict::Pass, GateVerdict::Pass]);
}
