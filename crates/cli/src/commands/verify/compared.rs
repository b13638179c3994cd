//! A comparison under `verify`: held against the records of its runs, where they are at hand.

use std::path::{Path, PathBuf};

use streamgauge_metrics::{Compared, verify, verify_runs, was_compared};
use streamgauge_schema::{ComparisonV2, Document, RunRecord, RunRecordV2};

use super::{Broken, Report, broken_rules};
use crate::evidence::{compared_runs, records_at_hand};
use crate::input::read_document;

/// Adds what the records of its runs say of a comparison to its report: those that lie beside it, or in
/// a folder `runs` there, and those that were given.
pub(super) fn hold(
    report: &mut Report,
    path: &Path,
    (compared, bytes): (Compared<'_>, &[u8]),
    given: &[PathBuf],
) {
    let mut found: Vec<RunRecordV2> = Vec::new();
    for file in records_at_hand(path, given) {
        // Whatever else lies there is none of its runs.
        let Some(document) = read_document(&file).ok().and_then(|it| Document::read(&it).ok())
        else {
            continue;
        };
        let Document::Run(record) = &document else { continue };
        if !is_named(compared, record) {
            continue;
        }
        if let Some(broken) = verify(&document).broken().next() {
            report.broken.push(Broken {
                rule: "records-of-its-runs-hold".to_owned(),
                statement: format!("{}: {}: {}", file.display(), broken.rule, broken.statement),
                members: Vec::new(),
            });
        } else if let RunRecord::V2(record) = record
            && !found.iter().any(|known| known.run_id == record.run_id)
        {
            found.push(RunRecordV2::clone(record));
        }
    }
    if let Compared::V2(comparison) = compared {
        let verification = verify_runs(comparison, &found);
        report.rules += verification.findings.len();
        report.broken.extend(broken_rules(&verification, &String::from_utf8_lossy(bytes)));
    }
    let (known, all) = (found.len(), compared_runs(compared));
    report.notes.push(if known == 0 {
        format!(
            "no record of its {all} runs is named or lies beside it: its figures agree with each \
             other, and nothing shows that they are those of its runs"
        )
    } else {
        format!("held against the records of {known} of its {all} runs")
    });
    report.holds = report.broken.is_empty();
}

/// Whether a record is of one of the runs that were compared. A comparison by points names none, and is
/// told by its figures alone.
fn is_named(compared: Compared<'_>, record: &RunRecord) -> bool {
    match compared {
        Compared::V1(_) => was_compared(compared, record),
        Compared::V2(comparison) => names(comparison).any(|id| id == record.run_id().as_str()),
    }
}

fn names(comparison: &ComparisonV2) -> impl Iterator<Item = &str> {
    let runs = comparison
        .cells
        .iter()
        .flat_map(|(_, cell)| cell.baseline_runs.iter().chain(&cell.candidate_runs));
    let turnovers =
        comparison.turnover.iter().flat_map(|it| it.baseline.iter().chain(&it.candidate));
    runs.map(|run| run.run_id.as_str()).chain(turnovers.map(|run| run.run_id.as_str()))
}
