//! Rules of comparisons with intervals: what was given is sound, and everything else follows from
//! it.
//!
//! What follows is judged again by the same judge that wrote it. Its numbers have nine digits, so
//! that machines whose logarithms differ in their last bit agree.

mod follows;
mod given;

use streamgauge_schema::{CellComparisonV2, ComparisonV2, JsonPath};

use super::comparison::check_turnover;
use super::{Rules, at};
use crate::judge::judge;

pub(super) fn check(comparison: &ComparisonV2, rules: &mut Rules) {
    given::check(comparison, rules);
    for (key, turnovers) in [
        ("baseline_turnovers", &comparison.baseline_turnovers),
        ("candidate_turnovers", &comparison.candidate_turnovers),
    ] {
        for (index, turnover) in turnovers.iter().enumerate() {
            check_turnover(&at(key).index(index), turnover, rules);
        }
    }
    let mut judged = comparison.clone();
    judge(&mut judged);
    follows::check(comparison, &judged, rules);
}

/// A cell and where it stands.
type Placed<'a> = (JsonPath, &'a CellComparisonV2);

fn cells(comparison: &ComparisonV2) -> impl Iterator<Item = Placed<'_>> {
    comparison.cells.iter().map(|(name, cell)| (at("cells").key(name.as_str()), cell))
}

/// The members of a cell's runs with these names, both sides.
fn of_runs((path, cell): &Placed<'_>, names: &[&str]) -> Vec<JsonPath> {
    let sides = [("baseline_runs", &cell.baseline_runs), ("candidate_runs", &cell.candidate_runs)];
    let runs = sides
        .iter()
        .flat_map(|(key, runs)| (0..runs.len()).map(|index| path.clone().key(*key).index(index)));
    runs.flat_map(|run| names.iter().map(move |name| run.clone().key(*name))).collect()
}
