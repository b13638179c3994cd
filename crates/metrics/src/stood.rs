//! How the gates of a comparison stand, in one form for both rules: what reports show, what CI
//! counts, and what a decision is held to.

use streamgauge_schema::{
    CellComparison, Comparison, ComparisonV2, CorrectnessComparison, Direction, GateStanding,
    GateVerdict, Identifier, MetricComparison, MetricComparisonV2, StoodGate,
};

use crate::catalogue::PASS_RATIO;
use crate::gate::{
    GateOutcome, LIMIT_PERCENT, candidate_turnovers, compared_direction, is_eligible, verdict,
};
use crate::judge::said;

/// A comparison of any version.
#[derive(Clone, Copy, Debug)]
pub enum Compared<'a> {
    /// By the point rule.
    V1(&'a Comparison),
    /// By the interval rule.
    V2(&'a ComparisonV2),
}

/// The gates of a comparison as they stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    /// Each gate of each cell, in the comparison's order, that on right answers first.
    pub gates: Vec<StoodGate>,
    /// The gate on turnover runs; `None` when none was given. By the point rule only those of the
    /// candidate count.
    pub turnover: Option<GateStanding>,
    /// What all of them amount to.
    pub outcome: GateStanding,
}

/// How the gates of a comparison stand.
///
/// By the point rule a metric of a cell with a side that is not eligible stands as ineligible,
/// whatever its figures, and one without a change as not evaluated. By the interval rule the verdicts
/// are the comparison's own.
///
/// ```
/// use streamgauge_metrics::{Compared, standings};
/// use streamgauge_schema::{Document, GateStanding};
///
/// let text = br#"{"schema": "runtime-profile-comparison/v1", "baseline_image": "a",
///     "candidate_image": "b", "cells": {"c1": {"baseline_requests": 9, "candidate_requests": 9,
///     "baseline_performance_eligible": true, "candidate_performance_eligible": true,
///     "median_prompt_tokens": null, "metrics": {"e2e_p50_ms": {"baseline": 100.0,
///     "candidate": 109.0, "delta_percent": 9.000000000000007,
///     "no_more_than_5_percent_regression": false}}}}, "performance_gate_passed": false,
///     "strict_turnover_gate_passed": false, "qualification": "none", "promotion": "undecided",
///     "human_decision": "undecided"}"#;
/// let Document::Comparison(comparison) = Document::read(text)? else { panic!("of version 1") };
/// let standings = standings(Compared::V1(&comparison));
/// assert_eq!(standings.outcome, GateStanding::Fail);
/// let why = "a change of +9.00 % is beyond the limit of +5.00 %";
/// assert_eq!(standings.gates[0].reason.as_str(), why);
/// # Ok::<(), streamgauge_schema::ReadError>(())
/// ```
#[must_use]
pub fn standings(comparison: Compared<'_>) -> Standings {
    match comparison {
        Compared::V1(comparison) => of_points(comparison),
        Compared::V2(comparison) => of_intervals(comparison),
    }
}

fn of_points(comparison: &Comparison) -> Standings {
    let gates = comparison.cells.iter().flat_map(|(name, cell)| {
        cell.metrics.iter().map(|(metric, figures)| point_gate(name, cell, metric, figures))
    });
    let turnover = || match comparison.strict_turnover_gate_passed {
        true => GateStanding::Pass,
        false => GateStanding::Fail,
    };
    Standings {
        gates: gates.collect(),
        turnover: (!candidate_turnovers(comparison).is_empty()).then(turnover),
        outcome: match verdict(comparison) {
            GateOutcome::Failed => GateStanding::Fail,
            GateOutcome::Ineligible => GateStanding::Ineligible,
            GateOutcome::NotEvaluated => GateStanding::NotEvaluated,
            GateOutcome::Passed => GateStanding::Pass,
        },
    }
}

fn point_gate(
    name: &Identifier,
    cell: &CellComparison,
    metric: &Identifier,
    figures: &MetricComparison,
) -> StoodGate {
    let edge = match compared_direction(metric.as_str()) {
        Direction::HigherIsBetter => Some(-LIMIT_PERCENT),
        Direction::LowerIsBetter => Some(LIMIT_PERCENT),
        Direction::Neutral => None,
    };
    let within = figures.no_more_than_5_percent_regression;
    let (verdict, reason) = match (unfit(cell), figures.delta_percent, edge) {
        (Some(why), _, _) => (GateStanding::Ineligible, why.to_owned()),
        (None, None, _) => (
            GateStanding::NotEvaluated,
            "there is no ratio: a figure is missing, or the baseline's is 0".to_owned(),
        ),
        (None, Some(_), None) => {
            (GateStanding::Fail, "its name does not say which way it gets better".to_owned())
        }
        (None, Some(delta), Some(edge)) => {
            let (standing, place) = match within {
                true => (GateStanding::Pass, "within"),
                false => (GateStanding::Fail, "beyond"),
            };
            let [delta, edge] = told_apart(delta, edge);
            (standing, format!("a change of {delta} is {place} the limit of {edge}"))
        }
    };
    StoodGate {
        cell: name.clone(),
        metric: metric.clone(),
        statistic: None,
        limit_percent: LIMIT_PERCENT,
        verdict,
        reason: said(&reason),
        delta_percent: figures.delta_percent,
        pass_interval: None,
        fail_interval: None,
    }
}

/// Why no figure of the cell may pass a gate.
fn unfit(cell: &CellComparison) -> Option<&'static str> {
    if is_eligible(cell) {
        return None;
    }
    Some(match (cell.baseline_performance_eligible, cell.candidate_performance_eligible) {
        (false, false) => "the figures of neither side may pass a gate",
        (false, true) => "the baseline's figures may pass no gate",
        (true, _) => "the candidate's figures may pass no gate",
    })
}

/// A change and a limit in percent, with as many decimals as it takes to see that they differ.
fn told_apart(change: f64, limit: f64) -> [String; 2] {
    let with = |decimals: usize| [change, limit].map(|value| format!("{value:+.decimals$} %"));
    let decimals = (2..16).find(|decimals| {
        let [change, limit] = with(*decimals);
        change != limit
    });
    with(decimals.unwrap_or(2))
}

fn of_intervals(comparison: &ComparisonV2) -> Standings {
    let gates = comparison.cells.iter().flat_map(|(name, cell)| {
        let answers = cell.correctness.as_ref().map(|it| correctness_gate(name, it));
        let metrics = cell.metrics.iter();
        let metrics = metrics.map(|(metric, figures)| interval_gate(name, metric, figures));
        answers.into_iter().chain(metrics)
    });
    let turnover = comparison.turnover.as_ref();
    Standings {
        gates: gates.collect(),
        turnover: turnover.map(|it| standing(it.verdict)),
        outcome: standing(comparison.verdict),
    }
}

fn interval_gate(
    cell: &Identifier,
    metric: &Identifier,
    figures: &MetricComparisonV2,
) -> StoodGate {
    StoodGate {
        cell: cell.clone(),
        metric: metric.clone(),
        statistic: Some(figures.statistic),
        limit_percent: figures.limit_percent,
        verdict: standing(figures.verdict),
        reason: figures.reason.clone(),
        delta_percent: figures.delta_percent,
        pass_interval: figures.pass_interval.clone(),
        fail_interval: figures.fail_interval.clone(),
    }
}

/// The gate on right answers; its change and its limit are in percentage points.
fn correctness_gate(cell: &Identifier, correctness: &CorrectnessComparison) -> StoodGate {
    StoodGate {
        cell: cell.clone(),
        metric: Identifier::new(PASS_RATIO).expect("letters and '_'"),
        statistic: None,
        limit_percent: correctness.limit_percent,
        verdict: standing(correctness.verdict),
        reason: correctness.reason.clone(),
        delta_percent: correctness.difference_percent,
        pass_interval: correctness.pass_interval.clone(),
        fail_interval: correctness.fail_interval.clone(),
    }
}

fn standing(verdict: GateVerdict) -> GateStanding {
    match verdict {
        GateVerdict::Fail => GateStanding::Fail,
        GateVerdict::Inconclusive => GateStanding::Inconclusive,
        GateVerdict::NotEvaluated => GateStanding::NotEvaluated,
        GateVerdict::Pass => GateStanding::Pass,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamgauge_schema::Document;

    const POINTS: &str =
        include_str!("../../schema/tests/records/runtime-profile-comparison-v1.json");
    const INTERVALS: &[u8] = include_bytes!("../../schema/tests/records/comparison-v2.json");

    /// The golden comparison after changes to its text.
    fn points(changes: &[(&str, &str)]) -> Standings {
        let text = changes.iter().fold(POINTS.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let Document::Comparison(comparison) = Document::read(text.as_bytes()).unwrap() else {
            panic!("a comparison of version 1");
        };
        standings(Compared::V1(&comparison))
    }

    fn verdicts(standings: &Standings) -> Vec<&str> {
        standings.gates.iter().map(|gate| gate.verdict.as_str()).collect()
    }

    #[test]
    fn gates_of_the_point_rule() {
        let found = points(&[]);
        assert_eq!(verdicts(&found), ["pass"; 6]);
        // Its figures pass; the repeated turnover does not.
        assert_eq!(found.turnover, Some(GateStanding::Fail));
        assert_eq!(found.outcome, GateStanding::Fail);
        let gate = &found.gates[5];
        assert_eq!(
            (gate.cell.as_str(), gate.metric.as_str()),
            ("capacity-120k", "decode_tok_s_p50")
        );
        assert_eq!(gate.reason.as_str(), "a change of +17.21 % is within the limit of -5.00 %");

        let eligible = "\"candidate_performance_eligible\": true";
        let found = points(&[(eligible, "\"candidate_performance_eligible\": false")]);
        assert_eq!(verdicts(&found), ["ineligible"; 6]);
        let why = "the candidate's figures may pass no gate";
        assert_eq!(found.gates[0].reason.as_str(), why);

        let flag = "\"no_more_than_5_percent_regression\": true";
        let found =
            points(&[("-5.190841829382952", "null"), (flag, &flag.replace("true", "false"))]);
        assert_eq!(verdicts(&found), ["not_evaluated", "fail", "fail", "fail", "fail", "fail"]);
    }

    #[test]
    fn gates_of_the_interval_rule_are_its_own() {
        let Document::ComparisonV2(comparison) = Document::read(INTERVALS).unwrap() else {
            panic!("a comparison of version 2");
        };
        let found = standings(Compared::V2(&comparison));
        let void = "not_evaluated";
        assert_eq!(verdicts(&found), ["pass", "fail", "inconclusive", void, void, void]);
        let outcomes = (found.turnover, found.outcome);
        assert_eq!(outcomes, (Some(GateStanding::Fail), GateStanding::Fail));
        assert!(found.gates[1].fail_interval.is_some() && found.gates[3].fail_interval.is_none());

        let mut without = comparison;
        without.turnover = None;
        assert_eq!(standings(Compared::V2(&without)).turnover, None);
    }

    #[test]
    fn a_change_just_beyond_its_limit_looks_so() {
        let cases = [
            ((5.0, 5.0), ["+5.00 %", "+5.00 %"]),
            ((5.1, 5.0), ["+5.10 %", "+5.00 %"]),
            ((5.000_04, 5.0), ["+5.00004 %", "+5.00000 %"]),
            ((-5.001, -5.0), ["-5.001 %", "-5.000 %"]),
        ];
        for ((change, limit), expected) in cases {
            assert_eq!(told_apart(change, limit), expected);
        }
    }
}
