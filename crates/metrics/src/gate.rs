//! The point rule's arithmetic, each piece once: `compare` applies it and `verify` recomputes it.

use streamgauge_schema::{
    CellComparison, Comparison, Direction, LoadReport, MetricComparison, OrderedMap, Turnover,
};

/// Most that a gated metric may get worse, in percent; the limit itself is still within it.
pub(crate) const LIMIT_PERCENT: f64 = 5.0;

/// What a comparison's gates amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateOutcome {
    /// A judged gate failed, or a turnover run of the candidate did not pass strictly.
    Failed,
    /// The figures of one side may not pass a gate, so that none was judged.
    Ineligible,
    /// No metric failed, but one could not be evaluated, or there was none.
    NotEvaluated,
    /// Every judged gate passed.
    Passed,
}

/// How much larger the candidate's figure is, in percent: `(candidate / baseline − 1) · 100`, in
/// this order of operations. `None` when a figure is missing, the
/// baseline is 0, or the quotient is no finite number.
///
/// ```
/// use streamgauge_metrics::delta_percent;
/// assert_eq!(delta_percent(Some(200.0), Some(210.0)), Some(5.000000000000004));
/// assert_eq!(delta_percent(Some(0.0), Some(1.0)), None);
/// assert_eq!(delta_percent(None, Some(1.0)), None);
/// ```
#[must_use]
pub fn delta_percent(baseline: Option<f64>, candidate: Option<f64>) -> Option<f64> {
    let (baseline, candidate) = (baseline?, candidate?);
    let delta = (candidate / baseline - 1.0) * 100.0;
    (baseline != 0.0 && delta.is_finite()).then_some(delta)
}

/// Whether a metric got worse by no more than 5 percent, 5 included, on the unrounded delta. False
/// when there is no delta, and for a metric that has no better and worse.
///
/// ```
/// use streamgauge_metrics::within_five_percent;
/// use streamgauge_schema::Direction;
/// assert!(within_five_percent(Direction::LowerIsBetter, Some(5.0)));
/// assert!(!within_five_percent(Direction::HigherIsBetter, Some(-5.1)));
/// assert!(!within_five_percent(Direction::LowerIsBetter, None));
/// ```
#[must_use]
pub fn within_five_percent(direction: Direction, delta_percent: Option<f64>) -> bool {
    match (direction, delta_percent) {
        (Direction::HigherIsBetter, Some(delta)) => delta >= -LIMIT_PERCENT,
        (Direction::LowerIsBetter, Some(delta)) => delta <= LIMIT_PERCENT,
        (Direction::Neutral, _) | (_, None) => false,
    }
}

/// The direction of a compared metric, from the unit in its name: milliseconds are latencies and
/// get better downwards, tokens and requests a second are rates and get better upwards.
///
/// ```
/// use streamgauge_metrics::compared_direction;
/// use streamgauge_schema::Direction;
/// assert_eq!(compared_direction("ttft_p50_ms"), Direction::LowerIsBetter);
/// assert_eq!(compared_direction("decode_tok_s_p50"), Direction::HigherIsBetter);
/// assert_eq!(compared_direction("requests"), Direction::Neutral);
/// ```
#[must_use]
pub fn compared_direction(metric: &str) -> Direction {
    let name = format!("_{metric}_");
    if name.contains("_ms_") {
        Direction::LowerIsBetter
    } else if ["_tok_s_", "_req_s_", "_per_s_"].iter().any(|unit| name.contains(unit)) {
        Direction::HigherIsBetter
    } else {
        Direction::Neutral
    }
}

/// Whether both sides are eligible in every cell and every metric is within the limit. False
/// without a cell, and for a cell without metrics: what was not judged does not pass.
#[must_use]
pub fn performance_gate(cells: &OrderedMap<CellComparison>) -> bool {
    let passes = |cell: &CellComparison| {
        is_eligible(cell)
            && !cell.metrics.0.is_empty()
            && cell.metrics.iter().all(|(_, metric)| metric.no_more_than_5_percent_regression)
    };
    !cells.0.is_empty() && cells.iter().all(|(_, cell)| passes(cell))
}

/// Whether every turnover run of the candidate passed strictly: all its requests had exactly the
/// controlled output and none failed. False without a run.
#[must_use]
pub fn strict_turnover_gate(candidate: &[&Turnover]) -> bool {
    let passed = |run: &&Turnover| run.failed == 0 && run.exact_output_passed == run.requests;
    !candidate.is_empty() && candidate.iter().all(passed)
}

/// What decides whether a run's figures may pass a gate, besides what became of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grounds {
    /// The run came to its end.
    pub completed: bool,
    /// A cache served more than 1 percent of the prompt tokens of a cell that was declared cold or of
    /// prompts that share no beginning.
    pub contaminated: bool,
    /// Every contract that a request carried was met.
    pub contracts_met: bool,
}

/// Whether a run's figures may pass a gate: it came to its end, the share of requests that did not
/// succeed is at most the plan's, nothing was cancelled or unsent, every contract was met, and no
/// cache served what was to be computed. A run that offered nothing is not eligible.
#[must_use]
pub fn performance_eligible(load: &LoadReport, grounds: Grounds) -> bool {
    let Grounds { completed, contaminated, contracts_met } = grounds;
    let not_succeeded = load.offered.saturating_sub(load.succeeded);
    completed
        && !contaminated
        && load.offered > 0
        && not_succeeded as f64 / load.offered as f64 <= load.max_failure_ratio
        && load.cancelled == 0
        && load.not_sent == 0
        && contracts_met
}

/// What a comparison's gates amount to. The strict turnover gate is judged only where a turnover
/// run of the candidate was given; its failure counts before everything else, as it does not
/// depend on speed.
#[must_use]
pub fn verdict(comparison: &Comparison) -> GateOutcome {
    let turnovers = candidate_turnovers(comparison);
    let metrics = || comparison.cells.iter().flat_map(|(_, cell)| cell.metrics.iter());
    let regressed = |metric: &MetricComparison| {
        metric.delta_percent.is_some() && !metric.no_more_than_5_percent_regression
    };
    if !turnovers.is_empty() && !comparison.strict_turnover_gate_passed {
        GateOutcome::Failed
    } else if !comparison.cells.iter().all(|(_, cell)| is_eligible(cell)) {
        GateOutcome::Ineligible
    } else if metrics().any(|(_, metric)| regressed(metric)) {
        GateOutcome::Failed
    } else if !comparison.performance_gate_passed {
        GateOutcome::NotEvaluated
    } else {
        GateOutcome::Passed
    }
}

/// The turnover runs of the candidate that a comparison holds, the repeat included.
pub(crate) fn candidate_turnovers(comparison: &Comparison) -> Vec<&Turnover> {
    [&comparison.candidate_turnover, &comparison.candidate_turnover_repeat]
        .into_iter()
        .flatten()
        .collect()
}

pub(crate) fn is_eligible(cell: &CellComparison) -> bool {
    cell.baseline_performance_eligible && cell.candidate_performance_eligible
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::Identifier;

    use super::*;

    #[test]
    fn deltas() {
        let cases = [
            (Some(100.0), Some(105.0), Some(5.000000000000004)),
            (Some(64.0), Some(48.0), Some(-25.0)),
            (Some(1.0), Some(0.0), Some(-100.0)),
            (Some(0.0), Some(0.0), None),
            (Some(-0.0), Some(1.0), None),
            (Some(f64::MIN_POSITIVE), Some(f64::MAX), None),
            (None, Some(1.0), None),
            (Some(1.0), None, None),
        ];
        for (baseline, candidate, expected) in cases {
            assert_eq!(delta_percent(baseline, candidate), expected, "{baseline:?} {candidate:?}");
        }
    }

    #[test]
    fn five_percent_is_within() {
        use Direction::{HigherIsBetter, LowerIsBetter, Neutral};
        let cases = [
            (LowerIsBetter, Some(5.0), true),
            (LowerIsBetter, Some(5.0_f64.next_up()), false),
            (LowerIsBetter, Some(-80.0), true),
            (HigherIsBetter, Some(-5.0), true),
            (HigherIsBetter, Some((-5.0_f64).next_down()), false),
            (HigherIsBetter, Some(80.0), true),
            (Neutral, Some(0.0), false),
            (LowerIsBetter, None, false),
            (HigherIsBetter, None, false),
        ];
        for (direction, delta, expected) in cases {
            assert_eq!(within_five_percent(direction, delta), expected, "{direction} {delta:?}");
        }
    }

    #[test]
    fn eligibility() {
        let clean = Grounds { completed: true, contaminated: false, contracts_met: true };
        // Offered, succeeded, cancelled, not sent, allowed share.
        let cases = [
            (4, 4, 0, 0, 0.0, clean, true),
            (4, 3, 0, 0, 0.0, clean, false),
            (4, 3, 0, 0, 0.25, clean, true),
            (4, 3, 0, 0, 0.24, clean, false),
            (4, 3, 1, 0, 0.25, clean, false),
            (4, 3, 0, 1, 0.25, clean, false),
            (4, 4, 0, 0, 0.0, Grounds { contracts_met: false, ..clean }, false),
            (4, 4, 0, 0, 0.0, Grounds { contaminated: true, ..clean }, false),
            (4, 4, 0, 0, 0.0, Grounds { completed: false, ..clean }, false),
            (0, 0, 0, 0, 1.0, clean, false),
        ];
        for (offered, succeeded, cancelled, not_sent, max_failure_ratio, grounds, expected) in cases
        {
            let name = |name| Identifier::new(name).unwrap();
            let load = LoadReport {
                cell: name("c1"),
                shape: name("closed_loop"),
                offered,
                succeeded,
                failed: offered - succeeded - cancelled - not_sent,
                timed_out: 0,
                cancelled,
                not_sent,
                warmup: 0,
                max_failure_ratio,
                performance_eligible: expected,
                late_after_ms: None,
                stages: Vec::new(),
            };
            assert_eq!(performance_eligible(&load, grounds), expected, "{load:?} {grounds:?}");
        }
    }

    #[test]
    fn gates_do_not_pass_unjudged() {
        let name = |name| Identifier::new(name).unwrap();
        let metric = |within| MetricComparison {
            baseline: Some(1.0),
            candidate: Some(1.0),
            delta_percent: Some(0.0),
            no_more_than_5_percent_regression: within,
        };
        let cell = |eligible, metrics: Vec<bool>| CellComparison {
            baseline_requests: 1,
            candidate_requests: 1,
            baseline_performance_eligible: true,
            candidate_performance_eligible: eligible,
            median_prompt_tokens: None,
            metrics: OrderedMap(metrics.into_iter().map(|it| (name("m"), metric(it))).collect()),
        };
        let cases = [
            (vec![], false),
            (vec![cell(true, vec![])], false),
            (vec![cell(true, vec![true])], true),
            (vec![cell(true, vec![true, false])], false),
            (vec![cell(true, vec![true]), cell(false, vec![true])], false),
        ];
        for (cells, expected) in cases {
            let cells = OrderedMap(cells.into_iter().map(|it| (name("c"), it)).collect());
            assert_eq!(performance_gate(&cells), expected, "{cells:?}");
        }

        let run = |passed, failed| Turnover {
            requests: 3,
            exact_output_passed: passed,
            failed,
            responses_received: 3,
            performance_eligible: failed == 0,
            failures: Vec::new(),
        };
        let (clean, dirty, short) = (run(3, 0), run(2, 1), run(2, 0));
        assert!(!strict_turnover_gate(&[]));
        assert!(strict_turnover_gate(&[&clean, &clean]));
        assert!(!strict_turnover_gate(&[&clean, &dirty]));
        assert!(!strict_turnover_gate(&[&short]));
    }
}
