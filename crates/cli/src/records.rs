//! Run records from files, run directories and folders of them, each checked as it is read.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_client::RunDir;
use streamgauge_metrics::verify;
use streamgauge_schema::{Document, RunRecord};

use crate::input::read_document;
use crate::rebuild::rebuild;

/// The records behind several paths, in their order.
pub(crate) fn load_all(paths: &[PathBuf]) -> anyhow::Result<Vec<RunRecord>> {
    let mut records = Vec::new();
    for path in paths {
        records.extend(load(path)?);
    }
    Ok(records)
}

/// The records behind a path: a record, a run directory, or a folder of them.
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<RunRecord>> {
    if !path.is_dir() {
        return Ok(vec![load_record(path)?]);
    }
    if RunDir::at(path).record().exists() {
        return Ok(vec![load_run(&RunDir::at(path))?]);
    }
    let mut found: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| RunDir::at(folder).record().exists())
        .collect();
    found.sort();
    if found.is_empty() {
        bail!("{} is no run directory and holds none", path.display());
    }
    found.iter().map(|folder| load_run(&RunDir::at(folder))).collect()
}

/// The record of a run directory, which must be what its journal gives.
fn load_run(dir: &RunDir) -> anyhow::Result<RunRecord> {
    let record = load_record(&dir.record())?;
    if dir.journal().exists()
        && let Some(difference) = rebuild(dir)?.difference(dir)?
    {
        bail!("{} does not verify: {difference}", dir.path().display());
    }
    Ok(record)
}

fn load_record(path: &Path) -> anyhow::Result<RunRecord> {
    let shown = || path.display().to_string();
    let document = Document::read(&read_document(path)?).with_context(shown)?;
    if let Some(broken) = verify(&document).broken().next() {
        bail!("{} does not verify: {}: {}", shown(), broken.rule, broken.statement);
    }
    match document {
        Document::Run(record) => Ok(record),
        Document::Comparison(_) | Document::ComparisonV2(_) => {
            bail!("{} is a comparison, not a run record", shown())
        }
        Document::Decision(_) => bail!("{} is a decision, not a run record", shown()),
        Document::Determinism(_) => bail!("{} is a determinism report, not a run record", shown()),
    }
}
