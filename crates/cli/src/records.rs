//! Run records from files, run directories and folders of them, each checked as it is read.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_client::RunDir;
use streamgauge_metrics::{PromptOutcomes, verify};
use streamgauge_schema::{Document, RunRecord};

use crate::input::read_document;
use crate::journals::Journals;
use crate::rebuild::{Prompts, rebuild};

/// A record, and the prompts of its run where that was graded and lies beside it.
#[derive(Debug)]
pub(crate) struct LoadedRun {
    pub(crate) record: RunRecord,
    pub(crate) prompts: Option<Prompts>,
}

/// The records behind several paths, in their order.
pub(crate) fn load_all(paths: &[PathBuf]) -> anyhow::Result<Vec<LoadedRun>> {
    let mut runs = Vec::new();
    for path in paths {
        runs.extend(load(path)?);
    }
    Ok(runs)
}

/// The records behind a path: a record, a run directory, or a folder of them.
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<LoadedRun>> {
    places(path)?.iter().map(|place| load_place(place)).collect()
}

/// The record of a record's file or a run directory.
pub(crate) fn load_place(place: &Path) -> anyhow::Result<LoadedRun> {
    if place.is_dir() {
        return load_run(&RunDir::at(place));
    }
    Ok(LoadedRun { record: load_record(place)?, prompts: None })
}

/// What a path names: a file, a run directory, or the run directories of a folder, by their names.
pub(crate) fn places(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() || RunDir::at(path).record().exists() {
        return Ok(vec![path.to_owned()]);
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
    Ok(found)
}

/// The record of a run directory, which must be what its journal gives.
pub(crate) fn load_run(dir: &RunDir) -> anyhow::Result<LoadedRun> {
    let record = load_record(&dir.record())?;
    if !Journals::exist(dir) {
        return Ok(LoadedRun { record, prompts: None });
    }
    let rebuilt = rebuild(dir)?;
    if let Some(difference) = rebuilt.difference(dir)? {
        bail!("{} does not verify: {difference}", dir.path().display());
    }
    Ok(LoadedRun { record, prompts: rebuilt.prompts })
}

/// The records apart from what became of the prompts of their runs.
pub(crate) fn without_prompts(
    runs: Vec<LoadedRun>,
    outcomes: &mut PromptOutcomes,
) -> Vec<RunRecord> {
    let each = runs.into_iter().map(|LoadedRun { record, prompts }| {
        if let Some(prompts) = prompts {
            outcomes.add(record.run_id().clone(), prompts.outcomes);
        }
        record
    });
    each.collect()
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
