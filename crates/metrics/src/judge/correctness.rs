//! Whether the candidate answers as rightly as the baseline: judged before speed, over the prompts
//! that both sides were sent.

use streamgauge_schema::{
    CellComparisonV2, CorrectnessComparison, FindingVerdict, GateInForce, GateVerdict, Interval,
    PromptPairs,
};

use super::Terms;
use super::said::{level_in_percent, said};
use crate::change::published;
use crate::exact_test::mcnemar_exact;
use crate::paired_share::{Disagreement, alike_pairs_needed};

/// How far the gate on right answers got before its level was known.
#[derive(Debug)]
pub(super) enum Standing {
    /// There are pairs, and nothing forbids to judge them.
    Judged(Disagreement),
    /// It cannot be judged.
    NotEvaluated(String),
}

/// Tests whether the sides answer equally well, and counts that test.
pub(super) fn test(cell: &mut CellComparisonV2) -> u64 {
    let Some(correctness) = &mut cell.correctness else { return 0 };
    let pairs = known(correctness.pairs);
    correctness.difference_percent =
        pairs.and_then(Disagreement::difference).map(|difference| published(100.0 * difference));
    correctness.p_value = pairs.map(|it| published(mcnemar_exact(it.only_one, it.only_other)));
    u64::from(correctness.p_value.is_some())
}

/// Says whether the sides differ: where chance alone would do so with at most `alpha`.
pub(super) fn decide_difference(cell: &mut CellComparisonV2, alpha: f64) {
    let Some(correctness) = &mut cell.correctness else { return };
    correctness.differs = match correctness.p_value {
        None => FindingVerdict::NotEvaluated,
        Some(p) if p <= alpha => FindingVerdict::Differs,
        Some(_) => FindingVerdict::Alike,
    };
}

/// Why no verdict on speed is given: right answers that were lost are no speed. Answers that got better
/// void nothing.
pub(super) fn worse(cell: &CellComparisonV2) -> Option<String> {
    let correctness = cell.correctness.as_ref()?;
    let pairs = correctness.pairs?;
    let is_worse = correctness.differs == FindingVerdict::Differs
        && pairs.candidate_only < pairs.baseline_only;
    is_worse.then(|| {
        format!(
            "the candidate answers significantly fewer prompts right: {} of {} only with the baseline, \
             {} only with the candidate",
            pairs.baseline_only,
            pairs.count(),
            pairs.candidate_only
        )
    })
}

/// Fills in the interval that a pass is judged by, and says how far the gate gets.
pub(super) fn measure(
    cell: &mut CellComparisonV2,
    gate: Option<&GateInForce>,
    terms: Terms<'_>,
) -> Option<Standing> {
    let other_model = another_model(cell);
    let correctness = cell.correctness.as_mut()?;
    let pairs = known(correctness.pairs);
    correctness.pass_interval = pairs.and_then(|pairs| interval(pairs, 1.0 - terms.alpha));
    let Some(gate) = gate else {
        return Some(Standing::NotEvaluated("no gate names right answers".to_owned()));
    };
    correctness.limit_percent = gate.limit_percent;
    let obstacle = other_model.or_else(|| unknown(correctness.pairs, gate.min_samples));
    Some(match (obstacle, pairs) {
        (Some(why), _) => Standing::NotEvaluated(why),
        (None, Some(pairs)) => Standing::Judged(pairs),
        (None, None) => Standing::NotEvaluated("there are no pairs".to_owned()),
    })
}

/// Says what the gate amounts to.
pub(super) fn decide(
    correctness: &mut CorrectnessComparison,
    standing: Standing,
    fail_level: Option<f64>,
) {
    correctness.fail_interval = None;
    let (verdict, reason) = match standing {
        Standing::NotEvaluated(why) => (GateVerdict::NotEvaluated, why),
        Standing::Judged(pairs) => {
            correctness.fail_interval = fail_level.and_then(|level| interval(pairs, level));
            judged(correctness)
        }
    };
    (correctness.verdict, correctness.reason) = (verdict, said(&reason));
}

fn judged(correctness: &CorrectnessComparison) -> (GateVerdict, String) {
    let (Some(pass), Some(fail)) = (&correctness.pass_interval, &correctness.fail_interval) else {
        return (GateVerdict::NotEvaluated, "its level has no interval".to_owned());
    };
    let edge = -correctness.limit_percent;
    let (Some(lower), Some(upper), Some(better)) = (pass.lower, pass.upper, fail.upper) else {
        return (GateVerdict::NotEvaluated, "its interval has no bounds".to_owned());
    };
    if lower >= edge {
        let reason = format!(
            "the interval reaches to {}, within the limit of {}",
            points(lower),
            points(edge)
        );
        return (GateVerdict::Pass, reason);
    }
    if better < edge {
        let reason = format!(
            "even the better end of the {} interval, {}, is beyond the limit of {}",
            level_in_percent(fail.level),
            points(better),
            points(edge)
        );
        return (GateVerdict::Fail, reason);
    }
    let needed = alike_pairs_needed(-edge / 100.0, pass.level);
    let advice = needed.map_or_else(String::new, |pairs| {
        format!("; {pairs} prompts that both sides answer alike would pass")
    });
    let held = format!(
        "the interval from {} to {} holds the limit of {}{advice}",
        points(lower),
        points(upper),
        points(edge)
    );
    (GateVerdict::Inconclusive, held)
}

/// The pairs as a disagreement; `None` where there are none.
fn known(pairs: Option<PromptPairs>) -> Option<Disagreement> {
    let pairs = pairs.filter(|pairs| pairs.count() > 0)?;
    let (only_one, only_other) = (pairs.baseline_only, pairs.candidate_only);
    Some(Disagreement { only_one, only_other, of: pairs.count() })
}

/// Why the pairs do not say.
fn unknown(pairs: Option<PromptPairs>, needed: u64) -> Option<String> {
    let Some(pairs) = pairs else {
        return Some(
            "records name no prompts, by which answers are paired: give the run directories"
                .to_owned(),
        );
    };
    let count = pairs.count();
    if count == 0 {
        return Some("the sides were sent no prompt in common".to_owned());
    }
    if pairs.unpaired > 0 {
        return Some(format!("prompts that one side alone was sent: {}", pairs.unpaired));
    }
    (count < needed).then(|| format!("it needs {needed} prompts, and there are {count}"))
}

fn another_model(cell: &CellComparisonV2) -> Option<String> {
    let mut runs = cell.baseline_runs.iter().chain(&cell.candidate_runs);
    let run = runs.find(|run| run.another_model_answered)?;
    Some(format!("a model other than the expected one answered: {}", run.run_id))
}

/// The interval in percentage points.
fn interval(pairs: Disagreement, level: f64) -> Option<Interval> {
    let Interval { level, method, lower, upper } = pairs.interval(level)?;
    let [lower, upper] = [lower, upper].map(|end| end.map(|end| published(100.0 * end)));
    Some(Interval { level, method, lower, upper })
}

fn points(change: f64) -> String {
    format!("{change:+.2} points")
}
