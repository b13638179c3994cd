//! What is judged before speed: whether the sides fail, end and answer alike.

use streamgauge_schema::{
    CellComparisonV2, ComparedRun, ComparisonMethod, FindingName, FindingVerdict, Tally,
};

use crate::change::published;
use crate::difference::Difference;
use crate::exact_test::fisher_exact;

/// Tests every finding of the cell, and counts those that have a p-value.
pub(super) fn test(cell: &mut CellComparisonV2, method: ComparisonMethod) -> u64 {
    let failures = [failures(&cell.baseline_runs), failures(&cell.candidate_runs)];
    let mut tested = 0;
    for finding in &mut cell.counts {
        if finding.name == FindingName::Failures {
            [finding.baseline, finding.candidate] = failures;
        }
        let sides = finding.baseline.zip(finding.candidate);
        finding.p_value = sides.and_then(|(old, new)| fisher_exact(old, new)).map(published);
        tested += u64::from(finding.p_value.is_some());
    }
    for finding in &mut cell.values {
        let known = |side: &[Option<f64>]| side.iter().copied().collect::<Option<Vec<f64>>>();
        let sides = known(&finding.baseline).zip(known(&finding.candidate));
        let difference = sides.and_then(|(old, new)| match method {
            ComparisonMethod::Blocks => Difference::paired(&old, &new),
            ComparisonMethod::Unpaired => Difference::unpaired(&old, &new),
        });
        let finite = |number: f64| Some(published(number)).filter(|number| number.is_finite());
        finding.difference = difference.and_then(|difference| finite(difference.mean));
        finding.p_value = difference.and_then(|it| it.p_value()).and_then(finite);
        tested += u64::from(finding.p_value.is_some());
    }
    tested
}

/// Says whether the sides differ: where chance alone would do so with at most `alpha`.
pub(super) fn decide(cell: &mut CellComparisonV2, alpha: f64) {
    let verdict = |p_value: Option<f64>| match p_value {
        None => FindingVerdict::NotEvaluated,
        Some(p) if p <= alpha => FindingVerdict::Differs,
        Some(_) => FindingVerdict::Alike,
    };
    for finding in &mut cell.counts {
        finding.verdict = verdict(finding.p_value);
    }
    for finding in &mut cell.values {
        finding.verdict = verdict(finding.p_value);
    }
}

/// The findings of a cell with what they amount to.
pub(super) fn verdicts(
    cell: &CellComparisonV2,
) -> impl Iterator<Item = (FindingName, FindingVerdict)> {
    let counts = cell.counts.iter().map(|finding| (finding.name, finding.verdict));
    counts.chain(cell.values.iter().map(|finding| (finding.name, finding.verdict)))
}

/// Requests that did not succeed, of all runs of a side.
fn failures(runs: &[ComparedRun]) -> Option<Tally> {
    let add = |sum: Tally, run: &ComparedRun| {
        Some(Tally {
            count: sum.count.checked_add(run.offered.checked_sub(run.succeeded)?)?,
            of: sum.of.checked_add(run.offered)?,
        })
    };
    runs.iter().try_fold(Tally { count: 0, of: 0 }, add)
}
