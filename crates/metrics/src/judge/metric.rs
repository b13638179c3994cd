//! One gated metric: its change, its intervals, and what its gate amounts to.

use streamgauge_schema::{
    CellComparisonV2, ComparedFigure, ComparedRun, ComparisonMethod, GateInForce, GateVerdict,
    Identifier, Interval, MetricComparisonV2,
};

use super::Terms;
use super::said::{level_in_percent, percent, said};
use crate::change::{Change, Limit};
use crate::compare::Side;
use crate::power::{BlockNoise, Sureness};

/// More blocks than a person would take: noise that needs them is called unstable.
const MANY_BLOCKS: u64 = 100;
/// The chance of a decision that the advice on blocks is given for.
const POWER: f64 = 0.8;

/// How far a gate got before its level was known.
#[derive(Debug)]
pub(super) enum Standing {
    /// It has a change with a noise, and nothing forbids to judge it.
    Judged(Change),
    /// It cannot be judged.
    NotEvaluated(String),
    /// It has too few runs to know the noise.
    NoiseUnknown(String),
}

/// Fills in each metric's change, and says how far its gate gets.
pub(super) fn measure(cell: &mut CellComparisonV2, terms: Terms<'_>) -> Vec<Standing> {
    let CellComparisonV2 { baseline_runs, candidate_runs, speed_void, metrics, .. } = cell;
    let measured = metrics.0.iter_mut().map(|(id, metric)| {
        let change = Change::recorded(terms.method, metric);
        fill_in(metric, change.as_ref(), terms);
        let Some(gate) = terms.gates.iter().find(|gate| gate.metric == *id) else {
            return Standing::NotEvaluated("no gate names this metric".to_owned());
        };
        state_gate(metric, gate);
        let sides = [
            (Side::Baseline, baseline_runs.as_slice(), metric.baseline.as_slice()),
            (Side::Candidate, candidate_runs.as_slice(), metric.candidate.as_slice()),
        ];
        let void = speed_void.as_ref().map(|why| format!("no verdict on speed: {why}"));
        let obstacle = without_value(sides)
            .or(void)
            .or_else(|| bent(id, sides))
            .or_else(|| too_few_samples(gate, sides));
        match (obstacle, change) {
            (Some(why), _) => Standing::NotEvaluated(why),
            (None, None) => Standing::NotEvaluated("the figures have no ratio".to_owned()),
            (None, Some(change)) if change.noise_percent().is_none() => {
                Standing::NoiseUnknown(too_few_runs(terms.method, sides))
            }
            (None, Some(change)) => Standing::Judged(change),
        }
    });
    measured.collect()
}

/// Says what the gate amounts to.
pub(super) fn decide(
    metric: &mut MetricComparisonV2,
    standing: Standing,
    terms: Terms<'_>,
    fail_level: Option<f64>,
) {
    (metric.fail_interval, metric.equivalence) = (None, None);
    let (verdict, reason) = match standing {
        Standing::NotEvaluated(why) => (GateVerdict::NotEvaluated, why),
        Standing::NoiseUnknown(why) => (GateVerdict::Inconclusive, why),
        Standing::Judged(change) => judged(metric, &change, terms, fail_level),
    };
    (metric.verdict, metric.reason) = (verdict, said(&reason));
}

fn judged(
    metric: &mut MetricComparisonV2,
    change: &Change,
    terms: Terms<'_>,
    fail_level: Option<f64>,
) -> (GateVerdict, String) {
    let Some(limit) = Limit::new(metric.limit_percent, metric.direction) else {
        let why = "the metric has no better and worse, or the limit is out of range";
        return (GateVerdict::NotEvaluated, why.to_owned());
    };
    let levels = (Some(1.0 - terms.alpha), fail_level);
    let [pass, fail] =
        [levels.0, levels.1].map(|level| level.and_then(|level| change.interval_percent(level)));
    let (Some(pass), Some(fail)) = (pass, fail) else {
        return (GateVerdict::NotEvaluated, "its level has no interval".to_owned());
    };
    metric.fail_interval = fail_level.map(|level| interval(terms.method, level, fail));
    metric.equivalence = Some(limit.equivalence(pass));
    let verdict = limit.verdict(pass, fail);
    let edge = percent(limit.worst_percent());
    let worst =
        |(lower, upper): (f64, f64)| if limit.worst_percent() < 0.0 { lower } else { upper };
    let least =
        |(lower, upper): (f64, f64)| if limit.worst_percent() < 0.0 { upper } else { lower };
    let reason = match verdict {
        GateVerdict::Pass => {
            format!("the interval reaches to {}, within the limit of {edge}", percent(worst(pass)))
        }
        GateVerdict::Fail => {
            format!(
                "even the better end of the {} interval, {}, is beyond the limit of {edge}",
                fail_level.map_or_else(String::new, level_in_percent),
                percent(least(fail))
            )
        }
        _ if limit.verdict(pass, pass) == GateVerdict::Fail => {
            "beyond the limit if it were the only gate, not among all that are judged".to_owned()
        }
        _ => undecided(pass, limit, change, terms.alpha),
    };
    (verdict, reason)
}

/// What noise left open, and what it would take.
fn undecided(pass: (f64, f64), limit: Limit, change: &Change, alpha: f64) -> String {
    let held = format!(
        "the interval from {} to {} holds the limit of {}",
        percent(pass.0),
        percent(pass.1),
        percent(limit.worst_percent())
    );
    let noise = percent(change.noise_percent().unwrap_or_default()).replace('+', "");
    let needed = BlockNoise::of(change)
        .and_then(|noise| noise.blocks_needed(limit, Sureness { alpha, power: POWER }));
    match needed {
        Some(blocks) if blocks <= MANY_BLOCKS => format!(
            "{held}; noise {noise} a block: {blocks} blocks pass what has not changed, four times \
             in five"
        ),
        _ => format!("unstable, noise {noise} a block: {held}"),
    }
}

fn fill_in(metric: &mut MetricComparisonV2, change: Option<&Change>, terms: Terms<'_>) {
    let means = change.map(Change::means);
    metric.baseline_mean = means.map(|means| means[0]);
    metric.candidate_mean = means.map(|means| means[1]);
    metric.delta_percent = change.map(Change::delta_percent).and_then(finite);
    metric.noise_percent = change.and_then(Change::noise_percent).and_then(finite);
    metric.degrees_of_freedom = change.and_then(Change::degrees_of_freedom);
    let level = 1.0 - terms.alpha;
    let ends = change.and_then(|change| change.interval_percent(level));
    metric.pass_interval = ends.map(|ends| interval(terms.method, level, ends));
}

fn state_gate(metric: &mut MetricComparisonV2, gate: &GateInForce) {
    metric.limit_percent = gate.limit_percent;
    metric.direction = gate.direction;
    metric.statistic = gate.statistic;
}

fn interval(method: ComparisonMethod, level: f64, (lower, upper): (f64, f64)) -> Interval {
    let method = match method {
        ComparisonMethod::Blocks => "student_t",
        ComparisonMethod::Unpaired => "welch_t",
    };
    Interval {
        level,
        method: Identifier::new(method).expect("letters and '_'"),
        lower: finite(lower),
        upper: finite(upper),
    }
}

/// What is so large that no number holds it has no bound.
fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

type Sides<'a> = [(Side, &'a [ComparedRun], &'a [ComparedFigure]); 2];

fn without_value(sides: Sides<'_>) -> Option<String> {
    sides.into_iter().find_map(|(side, runs, figures)| {
        if runs.len() != figures.len() {
            return Some(format!("the {side} has not one figure a run"));
        }
        runs.iter().zip(figures).find_map(|(run, figure)| match figure.value {
            None => Some(format!("the {side} has no value in {}", run.run_id)),
            Some(value) if value <= 0.0 => Some(format!(
                "the {side} has {value:?}, of which there is no ratio, in {}",
                run.run_id
            )),
            Some(_) => None,
        })
    })
}

fn bent(id: &Identifier, sides: Sides<'_>) -> Option<String> {
    sides.into_iter().find_map(|(side, runs, _)| {
        let run = runs.iter().find(|run| run.client_limited.contains(id))?;
        Some(format!("the client may have bent it on the {side} side, in {}", run.run_id))
    })
}

fn too_few_samples(gate: &GateInForce, sides: Sides<'_>) -> Option<String> {
    let GateInForce { min_samples, statistic, .. } = gate;
    sides.into_iter().find_map(|(side, runs, figures)| {
        runs.iter().zip(figures).find_map(|(run, figure)| {
            let samples = figure.samples.min(run.succeeded);
            (samples < *min_samples).then(|| {
                format!(
                    "{statistic} needs {min_samples} samples of succeeded requests, the {side} has \
                     {samples} in {}",
                    run.run_id
                )
            })
        })
    })
}

fn too_few_runs(method: ComparisonMethod, sides: Sides<'_>) -> String {
    let [(_, old, _), (_, new, _)] = sides;
    match method {
        ComparisonMethod::Blocks => format!(
            "run-to-run noise unknown: an interval needs 3 blocks, and there are {}",
            old.len()
        ),
        ComparisonMethod::Unpaired => format!(
            "run-to-run noise unknown: an interval needs 3 runs of each side, and there are {} and \
             {}",
            old.len(),
            new.len()
        ),
    }
}
