//! Rules of comparisons with intervals: what was given is sound, and everything else follows from
//! it.
//!
//! What follows is judged again by the same judge that wrote it. Its numbers have nine digits, so
//! that machines whose logarithms differ in their last bit agree.

mod answers;
mod follows;
mod given;

use streamgauge_schema::{CellComparisonV2, ComparedTurnover, ComparisonV2, JsonPath};

use super::comparison::check_turnover;
use super::{Rules, at};
use crate::judge::judge;

pub(super) fn check(comparison: &ComparisonV2, rules: &mut Rules) {
    given::check(comparison, rules);
    answers::check(comparison, rules);
    for (path, run) in turnovers(comparison) {
        check_turnover(&path.key("outcome"), &run.outcome, rules);
    }
    let mut judged = comparison.clone();
    judge(&mut judged);
    follows::check(comparison, &judged, rules);
    answers::follow(comparison, &judged, rules);
}

/// A cell and where it stands.
type Placed<'a> = (JsonPath, &'a CellComparisonV2);

fn cells(comparison: &ComparisonV2) -> impl Iterator<Item = Placed<'_>> {
    comparison.cells.iter().map(|(name, cell)| (at("cells").key(name.as_str()), cell))
}

/// The turnover runs of both sides and where they stand.
fn turnovers(comparison: &ComparisonV2) -> impl Iterator<Item = (JsonPath, &ComparedTurnover)> {
    let sides = comparison.turnover.iter().flat_map(|turnover| {
        [("baseline", &turnover.baseline), ("candidate", &turnover.candidate)]
    });
    sides.flat_map(|(side, runs)| {
        let path = at("turnover").key(side);
        runs.iter().enumerate().map(move |(index, run)| (path.clone().index(index), run))
    })
}

/// The members of a cell's runs with these names, both sides.
fn of_runs((path, cell): &Placed<'_>, names: &[&str]) -> Vec<JsonPath> {
    let sides = [("baseline_runs", &cell.baseline_runs), ("candidate_runs", &cell.candidate_runs)];
    let runs = sides
        .iter()
        .flat_map(|(key, runs)| (0..runs.len()).map(|index| path.clone().key(*key).index(index)));
    runs.flat_map(|run| names.iter().map(move |name| run.clone().key(*name))).collect()
}
