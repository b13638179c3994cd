//! What a comparison with intervals takes from the records of a cell: runs, figures, and what is
//! judged before speed. Nothing is judged here.

use streamgauge_schema::{
    CellComparisonV2, ComparedFigure, ComparedRun, CorrectnessComparison, CountFinding,
    FindingName, FindingVerdict, GateInForce, GateVerdict, Identifier, Metric, MetricComparisonV2,
    OrderedMap, RunRecordV2, Tally, ValueFinding,
};

use super::another_model_answered;
use super::pairing::CellRuns;
use super::pairs::{Pairs, PromptOutcomes};
use crate::catalogue::PASS_RATIO;
use crate::judge::said;

/// What is judged by counts of requests, and the metric that is their share. Failures are counted
/// from the load itself.
const SHARES: [(FindingName, &str); 3] = [
    (FindingName::Endings, "no_finish_reason_ratio"),
    (FindingName::FinishReasons, "length_limited_ratio"),
    (FindingName::Refusals, "refusal_ratio"),
];
/// What is judged by a value of each run.
const VALUES: [FindingName; 3] =
    [FindingName::CachedShare, FindingName::OutputLength, FindingName::ReasoningShare];
const THROUGHPUT: &str = "completion_throughput_tps";
const DURATION: &str = "batch_duration_seconds";
const CACHED: &str = "cached_tokens_ratio";
const REASONING: &str = "reasoning_tokens_ratio";

/// The cell with all that the records say; whatever follows from it is still to be judged.
pub(super) fn cell(
    runs: &CellRuns<'_>,
    gates: &[GateInForce],
    outcomes: &PromptOutcomes,
) -> CellComparisonV2 {
    let sides = [runs.baseline.as_slice(), runs.candidate.as_slice()];
    let [baseline_runs, candidate_runs] =
        sides.map(|side| side.iter().map(|run| compared_run(run, gates)).collect());
    let failures = count(FindingName::Failures, [None, None]);
    let shares = SHARES.iter().map(|(name, id)| count(*name, sides.map(|side| tally(side, id))));
    let metrics = gates.iter().map(|gate| (gate.metric.clone(), metric(gate, sides)));
    CellComparisonV2 {
        baseline_runs,
        candidate_runs,
        counts: std::iter::once(failures).chain(shares).collect(),
        values: VALUES.iter().map(|name| values(*name, sides)).collect(),
        correctness: correctness(runs, outcomes),
        speed_void: None,
        metrics: OrderedMap(metrics.collect()),
    }
}

/// The pass rates of a cell whose runs were all graded, and how their prompts pair up.
fn correctness(runs: &CellRuns<'_>, outcomes: &PromptOutcomes) -> Option<CorrectnessComparison> {
    let figures = |side: &[&RunRecordV2]| -> Option<Vec<ComparedFigure>> {
        let figure = |run: &&RunRecordV2| {
            let metric = measured(run, PASS_RATIO)?;
            Some(ComparedFigure { value: metric.value, samples: metric.samples })
        };
        side.iter().map(figure).collect()
    };
    Some(CorrectnessComparison {
        limit_percent: 0.0,
        baseline: figures(&runs.baseline)?,
        candidate: figures(&runs.candidate)?,
        pairs: Pairs::of(runs, outcomes).map(|pairs| pairs.counts),
        difference_percent: None,
        p_value: None,
        differs: FindingVerdict::NotEvaluated,
        pass_interval: None,
        fail_interval: None,
        verdict: GateVerdict::NotEvaluated,
        reason: said("not judged yet"),
    })
}

/// What a comparison says of a run.
pub(crate) fn compared_run(run: &RunRecordV2, gates: &[GateInForce]) -> ComparedRun {
    let gated = |id: &&Identifier| gates.iter().any(|gate| gate.metric == **id);
    ComparedRun {
        run_id: run.run_id.clone(),
        started_at: run.started_at,
        completed_at: run.completed_at,
        evidence_mode: run.evidence_mode.clone(),
        instrument: run.instrument.version.clone(),
        time_basis: run.instrument.time_basis,
        offered: run.load.offered,
        succeeded: run.load.succeeded,
        performance_eligible: run.load.performance_eligible,
        another_model_answered: another_model_answered(run),
        client_limited: run.instrument.client_limited.iter().filter(gated).cloned().collect(),
    }
}

fn count(name: FindingName, [baseline, candidate]: [Option<Tally>; 2]) -> CountFinding {
    let verdict = FindingVerdict::NotEvaluated;
    CountFinding { name, baseline, candidate, p_value: None, verdict }
}

fn values(name: FindingName, sides: [&[&RunRecordV2]; 2]) -> ValueFinding {
    let of = |run: &RunRecordV2| value_of(name, run);
    let [baseline, candidate] = sides.map(|side| side.iter().map(|run| of(run)).collect());
    ValueFinding {
        name,
        baseline,
        candidate,
        difference: None,
        p_value: None,
        verdict: FindingVerdict::NotEvaluated,
    }
}

/// The value of a run by which something is judged before speed; `None` where it has none, or where
/// it is judged by counts.
pub(crate) fn value_of(name: FindingName, run: &RunRecordV2) -> Option<f64> {
    match name {
        FindingName::CachedShare => figure(run, CACHED),
        FindingName::OutputLength => tokens_per_request(run),
        FindingName::ReasoningShare => figure(run, REASONING),
        FindingName::Endings
        | FindingName::Failures
        | FindingName::FinishReasons
        | FindingName::Refusals => None,
    }
}

/// The requests of all runs of a side together by which something is judged before speed; `None` where
/// it is judged by no share.
pub(crate) fn share_of(name: FindingName, runs: &[&RunRecordV2]) -> Option<Option<Tally>> {
    let (_, id) = SHARES.iter().find(|(share, _)| *share == name)?;
    Some(tally(runs, id))
}

fn measured<'a>(run: &'a RunRecordV2, id: &str) -> Option<&'a Metric> {
    run.metrics.iter().find(|metric| metric.id.as_str() == id)
}

fn figure(run: &RunRecordV2, id: &str) -> Option<f64> {
    measured(run, id)?.value
}

/// The requests behind a share, of all runs together; `None` where a run does not have it, or has
/// one that is not a share of its samples.
fn tally(runs: &[&RunRecordV2], id: &str) -> Option<Tally> {
    runs.iter().try_fold(Tally { count: 0, of: 0 }, |sum, run| {
        let metric = measured(run, id)?;
        let count = metric.value? * metric.samples as f64;
        let whole = (count - count.round()).abs() < 1e-6 && count >= 0.0;
        let count = whole.then_some(count.round() as u64)?;
        Some(Tally {
            count: sum.count.checked_add(count)?,
            of: sum.of.checked_add(metric.samples)?,
        })
    })
}

/// Completion tokens for each request that was sent: throughput times duration is their sum again.
fn tokens_per_request(run: &RunRecordV2) -> Option<f64> {
    let throughput = measured(run, THROUGHPUT)?;
    let tokens = (throughput.value? * figure(run, DURATION)?).round();
    (throughput.samples > 0).then(|| tokens / throughput.samples as f64)
}

fn metric(gate: &GateInForce, sides: [&[&RunRecordV2]; 2]) -> MetricComparisonV2 {
    let of = |run: &RunRecordV2| figure_of(run, &gate.metric);
    let [baseline, candidate] = sides.map(|side| side.iter().map(|run| of(run)).collect());
    let spec = definition(gate, sides);
    MetricComparisonV2 {
        unit: spec.unit,
        direction: gate.direction,
        statistic: gate.statistic,
        definition: spec.definition.clone(),
        window: spec.window,
        population: spec.population.clone(),
        token_source: spec.token_source,
        limit_percent: gate.limit_percent,
        baseline,
        candidate,
        baseline_mean: None,
        candidate_mean: None,
        delta_percent: None,
        noise_percent: None,
        degrees_of_freedom: None,
        pass_interval: None,
        fail_interval: None,
        equivalence: None,
        verdict: GateVerdict::NotEvaluated,
        reason: said("not judged yet"),
    }
}

/// A metric of a run, as a comparison holds it.
pub(crate) fn figure_of(run: &RunRecordV2, id: &Identifier) -> ComparedFigure {
    let found = measured(run, id.as_str());
    ComparedFigure {
        value: found.and_then(|metric| metric.value),
        samples: found.map_or(0, |metric| metric.samples),
    }
}

/// The metric as the first run has it that has a value; else as the first run has it.
fn definition<'a>(gate: &GateInForce, [baseline, _]: [&[&'a RunRecordV2]; 2]) -> &'a Metric {
    let found = || baseline.iter().filter_map(|run| measured(run, gate.metric.as_str()));
    let first = found().find(|metric| metric.value.is_some()).or_else(|| found().next());
    first.expect("every run was checked to have every gated metric")
}
