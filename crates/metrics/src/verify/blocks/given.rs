//! What a comparison with intervals was given: ranges, and lists that belong together.

use streamgauge_schema::{
    CellComparisonV2, ComparedFigure, ComparedRun, ComparisonMethod, ComparisonV2, Direction,
    FindingName, Identifier, JsonPath, Looks, Tally,
};

use super::super::{Rules, at};
use super::{Placed, cells, turnovers};
use crate::compare::samples_needed;

pub(super) fn check(comparison: &ComparisonV2, rules: &mut Rules) {
    rules.check(
        "alpha-in-range",
        comparison.alpha > 0.0 && comparison.alpha <= 0.5,
        [at("alpha")],
        format_args!("alpha ({:?}) lies above 0 and is at most 0.5", comparison.alpha),
    );
    rules.check(
        "failure-ratio-in-range",
        (0.0..=1.0).contains(&comparison.max_failure_ratio),
        [at("max_failure_ratio")],
        format_args!("max_failure_ratio ({:?}) lies in 0 to 1", comparison.max_failure_ratio),
    );
    gates(comparison, rules);
    if let Some(looks) = &comparison.looks {
        check_looks(comparison, looks, rules);
    }
    let mut run_ids = Vec::new();
    for placed in cells(comparison) {
        cell(comparison, &placed, rules);
        for (path, run) in runs(&placed) {
            run_ids.push((run.run_id.to_string(), path.clone().key("run_id")));
            check_run(comparison, &path, run, rules);
        }
    }
    for (path, run) in turnovers(comparison) {
        run_ids.push((run.run_id.to_string(), path.key("run_id")));
    }
    rules.distinct("runs-differ", "run ids", run_ids);
}

fn gates(comparison: &ComparisonV2, rules: &mut Rules) {
    let path = |index: usize, key: &str| at("gates").index(index).key(key);
    let metrics = comparison.gates.iter().enumerate();
    let metrics = metrics.map(|(index, gate)| (gate.metric.to_string(), path(index, "metric")));
    rules.distinct("gates-differ", "gated metrics", metrics.collect());
    for (index, gate) in comparison.gates.iter().enumerate() {
        let metric = &gate.metric;
        rules.check(
            "gate-limit-in-range",
            (0.0..100.0).contains(&gate.limit_percent) && gate.direction != Direction::Neutral,
            ["limit_percent", "direction"].map(|key| path(index, key)),
            format_args!(
                "limit_percent of {metric} ({:?}) is 0 or more and less than 100, and its direction \
                 ({}) is not neutral",
                gate.limit_percent, gate.direction
            ),
        );
        let needed = samples_needed(gate.statistic);
        rules.check(
            "gate-asks-for-enough-samples",
            gate.min_samples >= needed,
            ["min_samples", "statistic"].map(|key| path(index, key)),
            format_args!(
                "min_samples of {metric} ({}) is at least what {} needs ({needed})",
                gate.min_samples, gate.statistic
            ),
        );
    }
}

fn check_looks(comparison: &ComparisonV2, looks: &Looks, rules: &mut Rules) {
    let Looks { planned_blocks, look } = looks;
    let place = usize::try_from(*look).ok().and_then(|look| look.checked_sub(1));
    let planned = place.and_then(|place| planned_blocks.get(place));
    let as_planned =
        cells(comparison).all(|(_, cell)| planned == Some(&(cell.baseline_runs.len() as u64)));
    let places = (0..planned_blocks.len()).map(|index| at("looks.planned_blocks").index(index));
    rules.check(
        "looks-are-planned",
        planned.is_some() && as_planned && planned_blocks.is_sorted_by(|one, next| one < next),
        places.chain([at("looks.look"), at("looks.planned_blocks")]),
        format_args!(
            "planned_blocks ({planned_blocks:?}) rise, and every cell has as many blocks as were \
             planned for look {look}"
        ),
    );
}

fn cell(comparison: &ComparisonV2, (path, cell): &Placed<'_>, rules: &mut Rules) {
    let (old, new) = (cell.baseline_runs.len(), cell.candidate_runs.len());
    let in_blocks = comparison.method == ComparisonMethod::Blocks;
    rules.check(
        "blocks-have-both-sides",
        old > 0 && new > 0 && (!in_blocks || old == new),
        [at("method"), path.clone().key("baseline_runs"), path.clone().key("candidate_runs")],
        format_args!(
            "{path}: {old} runs of the baseline and {new} of the candidate fit the method"
        ),
    );
    let names: Vec<&Identifier> = cell.metrics.iter().map(|(name, _)| name).collect();
    let gated: Vec<&Identifier> = comparison.gates.iter().map(|gate| &gate.metric).collect();
    let gates = (0..gated.len()).map(|index| at("gates").index(index).key("metric"));
    rules.check(
        "metrics-are-the-gated-ones",
        names == gated,
        gates.chain([at("gates"), path.clone().key("metrics")]),
        format_args!("{path}: the metrics are those of the gates, in their order"),
    );
    findings(path, cell, rules);
    for (name, metric) in cell.metrics.iter() {
        let path = path.clone().key("metrics").key(name.as_str());
        figures(path.clone().key("baseline"), &metric.baseline, old, rules);
        figures(path.key("candidate"), &metric.candidate, new, rules);
    }
}

fn figures(path: JsonPath, figures: &[ComparedFigure], runs: usize, rules: &mut Rules) {
    rules.check(
        "one-figure-a-run",
        figures.len() == runs,
        [path.clone()],
        format_args!("{path}: {} figures are one for each of {runs} runs", figures.len()),
    );
    for (index, figure) in figures.iter().enumerate() {
        if let Some(value) = figure.value {
            let member = path.clone().index(index).key("value");
            rules.check(
                "compared-values-in-range",
                (0.0..=f64::MAX).contains(&value),
                [member.clone()],
                format_args!("{member} ({value:?}) is finite and not negative"),
            );
        }
    }
}

/// Each finding stands once, in the list of its kind.
fn findings(path: &JsonPath, cell: &CellComparisonV2, rules: &mut Rules) {
    use FindingName::{
        CachedShare, Endings, Failures, FinishReasons, OutputLength, ReasoningShare, Refusals,
    };
    let counts: Vec<FindingName> = cell.counts.iter().map(|finding| finding.name).collect();
    let values: Vec<FindingName> = cell.values.iter().map(|finding| finding.name).collect();
    let names = |list: &str, count: usize| -> Vec<JsonPath> {
        (0..count).map(|index| path.clone().key(list).index(index).key("name")).collect()
    };
    let members = names("counts", counts.len()).into_iter().chain(names("values", values.len()));
    rules.check(
        "findings-are-complete",
        counts == [Failures, Endings, FinishReasons, Refusals]
            && values == [CachedShare, OutputLength, ReasoningShare],
        members.chain([path.clone().key("counts"), path.clone().key("values")]),
        format_args!("{path}: counts and values hold each finding once, in their order"),
    );
    for (index, finding) in cell.counts.iter().enumerate() {
        for (side, tally) in [("baseline", finding.baseline), ("candidate", finding.candidate)] {
            let Some(Tally { count, of }) = tally else { continue };
            let member = path.clone().key("counts").index(index).key(side);
            rules.check(
                "counts-in-range",
                count <= of,
                ["count", "of"].map(|key| member.clone().key(key)),
                format_args!("{member}: count ({count}) is at most of ({of})"),
            );
        }
    }
    let (old, new) = (cell.baseline_runs.len(), cell.candidate_runs.len());
    for (index, finding) in cell.values.iter().enumerate() {
        let member = path.clone().key("values").index(index);
        rules.check(
            "one-figure-a-run",
            finding.baseline.len() == old && finding.candidate.len() == new,
            ["baseline", "candidate"].map(|side| member.clone().key(side)),
            format_args!("{member}: there is one value for each run"),
        );
    }
}

fn runs<'a>((path, cell): &Placed<'a>) -> impl Iterator<Item = (JsonPath, &'a ComparedRun)> {
    let placed = |key: &'static str, runs: &'a [ComparedRun]| {
        let path = path.clone().key(key);
        runs.iter().enumerate().map(move |(index, run)| (path.clone().index(index), run))
    };
    placed("baseline_runs", &cell.baseline_runs)
        .chain(placed("candidate_runs", &cell.candidate_runs))
}

fn check_run(comparison: &ComparisonV2, path: &JsonPath, run: &ComparedRun, rules: &mut Rules) {
    let member = |key: &str| path.clone().key(key);
    let ComparedRun { offered, succeeded, started_at, completed_at, .. } = run;
    rules.check(
        "successes-were-offered",
        succeeded <= offered,
        [member("succeeded"), member("offered")],
        format_args!("{path}: succeeded ({succeeded}) is at most offered ({offered})"),
    );
    rules.check(
        "times-in-order",
        started_at <= completed_at,
        [member("started_at"), member("completed_at")],
        format_args!(
            "{path}: completed_at ({completed_at}) is not before started_at ({started_at})"
        ),
    );
    for (index, limited) in run.client_limited.iter().enumerate() {
        rules.check(
            "bent-metrics-are-gated",
            comparison.gates.iter().any(|gate| gate.metric == *limited),
            [member("client_limited").index(index)],
            format_args!("{path}: client_limited names {limited}, which is a gated metric"),
        );
    }
}
