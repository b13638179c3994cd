//! Whether a cell's figures may be judged at all.

use streamgauge_schema::{CellComparisonV2, ComparedRun, FindingVerdict, PublicText};

use super::correctness;
use super::findings::verdicts;
use super::said::{list, said};

/// Why no verdict on the cell's speed is given; `None` when one is.
pub(super) fn void(cell: &CellComparisonV2, max_failure_ratio: f64) -> Option<PublicText> {
    let runs = || cell.baseline_runs.iter().chain(&cell.candidate_runs);
    let unfit = runs().find_map(|run| unfit(run, max_failure_ratio));
    let why = unfit.or_else(|| correctness::worse(cell)).or_else(|| differing(cell));
    why.map(|why| said(&why))
}

fn unfit(run: &ComparedRun, max_failure_ratio: f64) -> Option<String> {
    let ComparedRun { run_id, offered, succeeded, .. } = run;
    let failed = offered.saturating_sub(*succeeded);
    if failed as f64 / *offered as f64 > max_failure_ratio {
        return Some(format!(
            "{failed} of {offered} requests did not succeed, a share of {max_failure_ratio:?} may: \
             {run_id}"
        ));
    }
    if run.another_model_answered {
        return Some(format!("a model other than the expected one answered: {run_id}"));
    }
    (!run.performance_eligible).then(|| format!("the run is not eligible: {run_id}"))
}

fn differing(cell: &CellComparisonV2) -> Option<String> {
    let differs = verdicts(cell).filter(|(_, verdict)| *verdict == FindingVerdict::Differs);
    let names = list(differs.map(|(name, _)| name));
    (!names.is_empty()).then(|| format!("the sides differ significantly: {names}"))
}
