//! The records of the runs that were compared, as evidence of a decision: those that were named, or
//! those that lie where a comparison's runs usually do.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_client::RunDir;
use streamgauge_metrics::{Compared, verify, was_compared};
use streamgauge_schema::{DecisionEvidence, Digest, Document, EvidenceKind, PublicText};

use crate::input::read_document;

/// Entries of a folder that are looked through for runs.
pub(crate) const MAX_ENTRIES: usize = 10_000;

/// The records found, by name.
pub(crate) fn run_records(
    compared: Compared<'_>,
    comparison: &Path,
    named: &[PathBuf],
) -> anyhow::Result<Vec<DecisionEvidence>> {
    let mut found = match named {
        [] => beside(compared, comparison),
        named => all_named(compared, named)?,
    };
    found.sort_by(|one, other| (&one.name, one.sha256).cmp(&(&other.name, other.sha256)));
    found.dedup();
    Ok(found)
}

/// How many runs a comparison compared.
pub(crate) fn compared_runs(compared: Compared<'_>) -> usize {
    match compared {
        Compared::V1(comparison) => 2 * comparison.cells.0.len(),
        Compared::V2(comparison) => {
            let cells = comparison.cells.iter();
            let of_cell =
                cells.map(|(_, cell)| cell.baseline_runs.len() + cell.candidate_runs.len());
            let turnovers = comparison.turnover.iter();
            of_cell.chain(turnovers.map(|it| it.baseline.len() + it.candidate.len())).sum()
        }
    }
}

fn all_named(compared: Compared<'_>, named: &[PathBuf]) -> anyhow::Result<Vec<DecisionEvidence>> {
    let mut found = Vec::new();
    for path in named {
        let records = if path.is_dir() { records_in(path) } else { vec![path.clone()] };
        if records.is_empty() {
            bail!("{} is no run directory and holds none", path.display());
        }
        for record in records {
            found.push(evidence(compared, &record).with_context(|| record.display().to_string())?);
        }
    }
    Ok(found)
}

/// What lies beside the comparison, and in a folder `runs` there. Whatever else lies there is none of
/// its runs.
fn beside(compared: Compared<'_>, comparison: &Path) -> Vec<DecisionEvidence> {
    let records = records_at_hand(comparison, &[]).into_iter();
    records.filter_map(|record| evidence(compared, &record).ok()).collect()
}

/// The records beside a comparison, and those behind other paths that were given with it.
pub(crate) fn records_at_hand(comparison: &Path, given: &[PathBuf]) -> Vec<PathBuf> {
    let folder = folder_of(comparison);
    let mut records: Vec<PathBuf> =
        [folder.to_owned(), folder.join("runs")].iter().flat_map(|it| records_in(it)).collect();
    for path in given.iter().filter(|path| path.as_path() != comparison) {
        records.extend(if path.is_dir() { records_in(path) } else { vec![path.clone()] });
    }
    records
}

/// The folder in which a file lies.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The record of a run directory, or those of the run directories in a folder.
fn records_in(folder: &Path) -> Vec<PathBuf> {
    let own = RunDir::at(folder).record();
    if own.is_file() {
        return vec![own];
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let records = entries.take(MAX_ENTRIES).flatten().map(|it| RunDir::at(&it.path()).record());
    let mut records: Vec<PathBuf> = records.filter(|record| record.is_file()).collect();
    records.sort();
    records
}

fn evidence(compared: Compared<'_>, path: &Path) -> anyhow::Result<DecisionEvidence> {
    let file = read_document(path)?;
    let document = Document::read(&file)?;
    let Document::Run(record) = &document else { bail!("it is no run record") };
    if !was_compared(compared, record) {
        bail!(
            "{} is none of the runs that were compared, or has other figures than the comparison",
            record.run_id()
        );
    }
    if let Some(broken) = verify(&document).broken().next() {
        bail!("it does not verify: {}: {}", broken.rule, broken.statement);
    }
    Ok(DecisionEvidence {
        kind: EvidenceKind::RunRecord,
        name: PublicText::new(record.run_id().as_str())?,
        sha256: Digest::of(&file),
        bytes: file.len() as u64,
    })
}
