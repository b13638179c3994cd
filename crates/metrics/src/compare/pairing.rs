//! Which runs belong together: cells, and blocks within them.

use std::collections::BTreeSet;

use streamgauge_schema::{ComparisonMethod, Identifier, RunRecordV2};

use super::{CompareError, Side};

/// How the runs of a cell belong together. It is the caller's to say: whoever took the runs knows
/// whether they were taken in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The n-th run of the baseline and the n-th of the candidate are a block.
    AsGiven,
    /// Taken by their starts, each two runs in turn are a block, one of each side.
    ByTime,
    /// The runs were not taken in blocks: apart in time, on different machines, or imported.
    Unpaired,
}

impl Pairing {
    pub(super) fn method(self) -> ComparisonMethod {
        match self {
            Self::AsGiven | Self::ByTime => ComparisonMethod::Blocks,
            Self::Unpaired => ComparisonMethod::Unpaired,
        }
    }
}

/// The runs of one cell. In blocks, the n-th of one side belongs to the n-th of the other.
#[derive(Debug)]
pub(super) struct CellRuns<'a> {
    pub(super) cell: &'a Identifier,
    pub(super) baseline: Vec<&'a RunRecordV2>,
    pub(super) candidate: Vec<&'a RunRecordV2>,
}

/// The cells in the order in which the baseline's runs name them.
pub(super) fn cells<'a>(
    baseline: &[&'a RunRecordV2],
    candidate: &[&'a RunRecordV2],
    pairing: Pairing,
) -> Result<Vec<CellRuns<'a>>, CompareError> {
    let mut seen = BTreeSet::new();
    for run in baseline.iter().chain(candidate) {
        if !seen.insert(&run.run_id) {
            return Err(CompareError::RunRepeated { run_id: run.run_id.clone() });
        }
    }
    let mut names: Vec<&Identifier> = Vec::new();
    for run in baseline.iter().chain(candidate) {
        if !names.contains(&&run.load.cell) {
            names.push(&run.load.cell);
        }
    }
    names.into_iter().map(|name| one(name, baseline, candidate, pairing)).collect()
}

fn one<'a>(
    cell: &'a Identifier,
    baseline: &[&'a RunRecordV2],
    candidate: &[&'a RunRecordV2],
    pairing: Pairing,
) -> Result<CellRuns<'a>, CompareError> {
    let of = |runs: &[&'a RunRecordV2]| -> Vec<&'a RunRecordV2> {
        runs.iter().copied().filter(|run| run.load.cell == *cell).collect()
    };
    let runs = CellRuns { cell, baseline: of(baseline), candidate: of(candidate) };
    let only = |side| CompareError::CellUnmatched { cell: cell.clone(), side };
    match (runs.baseline.is_empty(), runs.candidate.is_empty()) {
        (true, _) => return Err(only(Side::Candidate)),
        (_, true) => return Err(only(Side::Baseline)),
        _ => {}
    }
    match pairing {
        Pairing::Unpaired => Ok(runs),
        Pairing::AsGiven if runs.baseline.len() == runs.candidate.len() => Ok(runs),
        Pairing::AsGiven => Err(CompareError::BlocksUneven {
            cell: cell.clone(),
            baseline: runs.baseline.len(),
            candidate: runs.candidate.len(),
        }),
        Pairing::ByTime => by_time(runs),
    }
}

fn by_time(runs: CellRuns<'_>) -> Result<CellRuns<'_>, CompareError> {
    let CellRuns { cell, baseline, candidate } = runs;
    let of = |side| move |run| (side, run);
    let mut in_time: Vec<(Side, &RunRecordV2)> = baseline
        .into_iter()
        .map(of(Side::Baseline))
        .chain(candidate.into_iter().map(of(Side::Candidate)))
        .collect();
    in_time.sort_by_key(|(_, run)| run.started_at);
    let mut blocks = CellRuns { cell, baseline: Vec::new(), candidate: Vec::new() };
    for block in in_time.chunks(2) {
        match block {
            [(Side::Baseline, old), (Side::Candidate, new)]
            | [(Side::Candidate, new), (Side::Baseline, old)] => {
                blocks.baseline.push(old);
                blocks.candidate.push(new);
            }
            [(side, run), ..] => {
                let (cell, run_id) = (cell.clone(), run.run_id.clone());
                return Err(CompareError::NotInBlocks { cell, run_id, side: *side });
            }
            [] => {}
        }
    }
    Ok(blocks)
}
