//! Rules that hold a comparison with intervals to the records of its runs: whatever it took from them
//! stands in them.

use serde::Serialize;
use streamgauge_schema::{
    Build, CellComparisonV2, ComparedRun, ComparisonV2, Identifier, Json, JsonPath, RunRecordV2,
};

use super::{Rules, Verification, at};
use crate::compare::{
    Side, build_as_compared, compared_run, compared_turnover, figure_of, share_of, value_of,
};

/// A run of a comparison, and its record.
struct Found<'a> {
    cell: &'a Identifier,
    compared: &'a CellComparisonV2,
    side: Side,
    place: usize,
    record: &'a RunRecordV2,
}

/// Holds a comparison to records of its runs: what it says of each run and its figures, and, where all
/// runs of a side and cell are there, its counts. A record that the comparison does not name is passed
/// over; one that is named must hold by itself, which [`verify`](crate::verify) finds out.
#[must_use]
pub fn verify_runs(comparison: &ComparisonV2, records: &[RunRecordV2]) -> Verification {
    let mut rules = Rules::default();
    for (cell, compared) in comparison.cells.iter() {
        let sides = [
            (Side::Baseline, &compared.baseline_runs),
            (Side::Candidate, &compared.candidate_runs),
        ];
        for (side, runs) in sides {
            let of_side: Vec<&RunRecordV2> = runs
                .iter()
                .enumerate()
                .filter_map(|(place, run)| {
                    let record = records.iter().find(|record| record.run_id == run.run_id)?;
                    let found = Found { cell, compared, side, place, record };
                    check_run(comparison, run, &found, &mut rules);
                    Some(record)
                })
                .collect();
            if of_side.len() == runs.len() {
                check_counts((cell, compared), side, &of_side, &mut rules);
            }
        }
    }
    check_turnovers(comparison, records, &mut rules);
    Verification { findings: rules.findings, notes: Vec::new() }
}

fn check_turnovers(comparison: &ComparisonV2, records: &[RunRecordV2], rules: &mut Rules) {
    let Some(turnover) = &comparison.turnover else { return };
    for (side, runs) in
        [(Side::Baseline, &turnover.baseline), (Side::Candidate, &turnover.candidate)]
    {
        for (place, run) in runs.iter().enumerate() {
            let Some(record) = records.iter().find(|record| record.run_id == run.run_id) else {
                continue;
            };
            let member = at("turnover").key(side_key(side)).index(place);
            let recorded = compared_turnover(record);
            let pair = [&Some(run), &recorded.as_ref()];
            same("turnovers-are-as-recorded", member, pair, &run.run_id, rules);
        }
    }
}

fn check_run(comparison: &ComparisonV2, run: &ComparedRun, found: &Found<'_>, rules: &mut Rules) {
    let Found { cell, compared, side, place, record } = found;
    let (place, id) = (*place, &record.run_id);
    let member = cell_path(cell).key(runs_key(*side)).index(place);
    rules.check(
        "runs-are-of-their-cell",
        record.load.cell == **cell,
        [member.clone().key("run_id")],
        format_args!("{member}: the record of {id} is of cell {}", record.load.cell),
    );
    same(
        "runs-are-as-recorded",
        member,
        [run, &compared_run(record, &comparison.gates)],
        id,
        rules,
    );
    let (of_build, named): (&Build, _) = match side {
        Side::Baseline => (&comparison.baseline, "baseline"),
        Side::Candidate => (&comparison.candidate, "candidate"),
    };
    same(
        "builds-are-as-recorded",
        at(named),
        [of_build, &build_as_compared(record, of_build)],
        id,
        rules,
    );
    for (name, metric) in compared.metrics.iter() {
        let figures = match side {
            Side::Baseline => &metric.baseline,
            Side::Candidate => &metric.candidate,
        };
        let member = cell_path(cell).key("metrics").key(name.as_str()).key(side_key(*side));
        let pair = [&figures.get(place).copied(), &Some(figure_of(record, name))];
        same("figures-are-as-recorded", member.index(place), pair, id, rules);
    }
    if let (Some(answers), Some(gate)) = (&compared.correctness, &comparison.correctness_gate) {
        let figures = match side {
            Side::Baseline => &answers.baseline,
            Side::Candidate => &answers.candidate,
        };
        let member = cell_path(cell).key("correctness").key(side_key(*side)).index(place);
        let pair = [&figures.get(place).copied(), &Some(figure_of(record, &gate.metric))];
        same("figures-are-as-recorded", member, pair, id, rules);
    }
    for (at_finding, finding) in compared.values.iter().enumerate() {
        let values = match side {
            Side::Baseline => &finding.baseline,
            Side::Candidate => &finding.candidate,
        };
        let member = cell_path(cell).key("values").index(at_finding).key(side_key(*side));
        let pair = [&values.get(place).copied(), &Some(value_of(finding.name, record))];
        same("figures-are-as-recorded", member.index(place), pair, id, rules);
    }
}

/// Counts are of all runs of a side together.
fn check_counts(
    (cell, compared): (&Identifier, &CellComparisonV2),
    side: Side,
    records: &[&RunRecordV2],
    rules: &mut Rules,
) {
    for (place, finding) in compared.counts.iter().enumerate() {
        // Failures are counted from what each run says of itself.
        let Some(recorded) = share_of(finding.name, records) else { continue };
        let tally = match side {
            Side::Baseline => &finding.baseline,
            Side::Candidate => &finding.candidate,
        };
        let member = cell_path(cell).key("counts").index(place).key(side_key(side));
        same("counts-are-as-recorded", member, [tally, &recorded], "its runs", rules);
    }
}

/// Records that a member is what the record of a run gives.
fn same<T: Serialize>(
    rule: &'static str,
    member: JsonPath,
    [found, recorded]: [&T; 2],
    of: impl std::fmt::Display,
    rules: &mut Rules,
) {
    let text = |value: &T| {
        let json = Json::from_value(value).ok();
        json.and_then(|json| serde_json::to_string(&json).ok()).unwrap_or("no JSON".to_owned())
    };
    let (found, recorded) = (text(found), text(recorded));
    let statement = match found == recorded {
        true => format!("{member} is as the record of {of} has it"),
        false => format!("{member} ({found}) is as the record of {of} has it, {recorded}"),
    };
    rules.check(rule, found == recorded, [member], statement);
}

fn cell_path(cell: &Identifier) -> JsonPath {
    at("cells").key(cell.as_str())
}

fn runs_key(side: Side) -> &'static str {
    match side {
        Side::Baseline => "baseline_runs",
        Side::Candidate => "candidate_runs",
    }
}

fn side_key(side: Side) -> &'static str {
    match side {
        Side::Baseline => "baseline",
        Side::Candidate => "candidate",
    }
}
