//! The gate on turnover runs: strict ones pass when no request failed, and a candidate that is exact
//! less often than the baseline fails whatever the policy.

use std::collections::BTreeSet;

use streamgauge_schema::{ComparedTurnover, GateVerdict, OutputPolicy, Tally, TurnoverComparison};

use super::said::said;
use crate::change::published;
use crate::exact_test::fisher_exact;

/// Fills in what follows from the runs.
pub(super) fn judge(turnover: &mut TurnoverComparison, alpha: f64) {
    turnover.baseline_exact = exact(&turnover.baseline);
    turnover.candidate_exact = exact(&turnover.candidate);
    let sides = turnover.baseline_exact.zip(turnover.candidate_exact);
    turnover.p_value = sides.and_then(|(old, new)| fisher_exact(old, new)).map(published);
    let (verdict, reason) = verdict(turnover, alpha);
    turnover.verdict = verdict;
    turnover.reason = said(&reason);
}

/// Requests with exactly the controlled output, of all runs of a side. Runs of the same prompts are
/// not independent, so of these only the first counts.
fn exact(runs: &[ComparedTurnover]) -> Option<Tally> {
    let mut known = BTreeSet::new();
    let first = runs.iter().filter(|run| known.insert(run.prompts_sha256));
    let add = |sum: Option<Tally>, run: &ComparedTurnover| {
        let Tally { count, of } = sum.unwrap_or(Tally { count: 0, of: 0 });
        Some(Tally {
            count: count.checked_add(run.outcome.exact_output_passed)?,
            of: of.checked_add(run.outcome.requests)?,
        })
    };
    first.fold(None, add)
}

fn verdict(turnover: &TurnoverComparison, alpha: f64) -> (GateVerdict, String) {
    let Some(new) = turnover.candidate_exact else {
        return (GateVerdict::NotEvaluated, "the candidate has no turnover run".to_owned());
    };
    let strict = || turnover.candidate.iter().filter(|run| run.policy == OutputPolicy::Strict);
    let failed = strict().filter(|run| !passed(run)).count();
    if failed > 0 {
        let runs = strict().count();
        let counts = format!("{} answers of the candidate were exact", shown(new));
        let reason = format!("{failed} of {runs} strict runs failed; {counts}");
        return (GateVerdict::Fail, reason);
    }
    let test = turnover.baseline_exact.zip(turnover.p_value).map(|(old, p)| {
        let less =
            u128::from(new.count) * u128::from(old.of) < u128::from(old.count) * u128::from(new.of);
        (
            less && p <= alpha,
            format!("{} against {} of the baseline, p {p:.4}", shown(new), shown(old)),
        )
    });
    let is_strict = turnover.candidate.iter().all(|run| run.policy == OutputPolicy::Strict);
    match test {
        Some((true, counts)) => {
            (GateVerdict::Fail, format!("the candidate is exact less often: {counts}"))
        }
        _ if is_strict => (GateVerdict::Pass, format!("every answer was exact, {}", shown(new))),
        Some((false, counts)) => (
            GateVerdict::Pass,
            format!("the candidate is not exact less often by more than chance explains: {counts}"),
        ),
        None => (
            GateVerdict::NotEvaluated,
            "the candidate was only observed, and the baseline has no turnover run".to_owned(),
        ),
    }
}

/// Whether no request of a run failed.
fn passed(run: &ComparedTurnover) -> bool {
    run.outcome.failed == 0 && run.outcome.exact_output_passed == run.outcome.requests
}

fn shown(tally: Tally) -> String {
    format!("{} of {}", tally.count, tally.of)
}
