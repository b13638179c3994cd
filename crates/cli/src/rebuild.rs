//! A run directory read back: its record is a function of plan, journal, grades and what the server said
//! of itself, and of nothing else.

mod cases;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::iter;
use std::path::Path;

use anyhow::{Context, bail};
use streamgauge_client::{
    RunDir, ScrapeReader, lock_to_read, open_regular, read_file, remove_leftovers, write_new,
};
use streamgauge_metrics::{MAX_CASES_IN_RECORD, RunCollector};
use streamgauge_schema::{
    Digest, Evidence, Grades, Identifier, Plan, RunRecordV2, Tally, digest_bytes, read_typed,
};

use self::cases::Cases;
use crate::grading::grades_so_far;
use crate::journals::{Ended, JournalFile, Journals};

/// Bytes of a journal that are held at a time, its longest line apart.
pub(crate) const PIECE_BYTES: usize = 1 << 18;

/// What the files of a run directory make.
#[derive(Debug)]
pub(crate) struct Rebuilt {
    /// What is to be said of journals whose last line was cut off, and was dropped.
    pub(crate) torn: Vec<String>,
    pub(crate) record: RunRecordV2,
    /// What `record.json` must hold.
    pub(crate) bytes: Vec<u8>,
    /// What `grades.json` must hold, where the run was cut off before it was written.
    grades: Option<Vec<u8>>,
    /// What became of `cases.jsonl`, where the record does not hold its cases.
    cases: Option<Cases>,
    /// What became of its prompts, where it was graded.
    pub(crate) prompts: Option<Prompts>,
    /// Why the server told nothing of itself, where it was asked and never did.
    pub(crate) untold: Option<String>,
    /// Which shard is no longer what was merged.
    changed: Option<String>,
    /// Digests of the journals, in their order.
    pub(crate) journals: Vec<Digest>,
}

/// The prompts of a graded run: a record names none.
#[derive(Debug)]
pub(crate) struct Prompts {
    pub(crate) outcomes: BTreeMap<Digest, Tally>,
    /// What the dataset calls them, whatever they are known by.
    pub(crate) ids: BTreeMap<Digest, String>,
}

impl Rebuilt {
    /// Writes the record, and what it is made of where that stands apart. No file may exist.
    pub(crate) fn write(&mut self, dir: &RunDir) -> anyhow::Result<()> {
        if let Some(changed) = &self.changed {
            bail!("{}: {changed}", dir.shards().display());
        }
        if let Some(grades) = &self.grades {
            write_new(&dir.grades(), grades, 0o600)?;
        }
        if let Some(cases) = self.cases.take() {
            cases.keep(dir)?;
        }
        Ok(write_new(&dir.record(), &self.bytes, 0o644)?)
    }

    /// Where the files of the directory first differ from what plan and journal give.
    pub(crate) fn difference(&self, dir: &RunDir) -> anyhow::Result<Option<String>> {
        if let Some(changed) = &self.changed {
            return Ok(Some(format!("{}: {changed}", dir.shards().display())));
        }
        let path = dir.record();
        let difference = first_difference(&read_file(&path)?, &self.bytes);
        let difference = difference.map(|it| format!("{}: {it}", path.display()));
        Ok(difference.or_else(|| self.cases.as_ref()?.difference(dir)))
    }
}

/// Builds the record of a run directory whose run has ended. It does not look at a `record.json` that
/// is there.
pub(crate) fn rebuild(dir: &RunDir) -> anyhow::Result<Rebuilt> {
    let plan = read_plan(dir)?;
    rebuild_from(dir, &plan, &Journals::open(dir)?)
}

/// As [`rebuild`], of a directory that the caller holds.
pub(crate) fn rebuild_held(dir: &RunDir) -> anyhow::Result<Rebuilt> {
    let plan = read_plan(dir)?;
    rebuild_from(dir, &plan, &Journals::open_held(dir)?)
}

/// As [`rebuild`], from journals that are open.
pub(crate) fn rebuild_from(
    dir: &RunDir,
    plan: &Plan,
    journals: &Journals,
) -> anyhow::Result<Rebuilt> {
    let headers = journals.headers();
    check_plan(dir, plan, journals)?;
    let written = read_grades(dir)?;
    let is_written = written.is_some();
    let grades = match written {
        Some(grades) => Some(grades),
        None => grades_so_far(dir, plan)?,
    };
    let mut run = match headers.as_slice() {
        [only] if !journals.is_merged => RunCollector::new(plan, only)?,
        _ => RunCollector::merged(plan, &headers)?,
    };
    if let Some(grades) = &grades {
        run = run.graded(grades).with_context(|| dir.grades().display().to_string())?;
    }
    let mut ids = BTreeMap::new();
    let is_graded = grades.is_some() || plan.grading.is_some();
    let ended = journals.read_all(|place, line| {
        run.add_to(place, &line)?;
        if let Some(id) = line.dataset_id.filter(|_| is_graded) {
            ids.insert(Digest::of(id.as_bytes()), id.clone());
            ids.insert(line.prompt_sha256, id);
        }
        Ok(())
    })?;
    for (place, ended) in ended.iter().enumerate() {
        run.end(place, ended.said());
    }
    let is_told = plan.instrument.server_metrics.is_some()
        && dir.server_metrics().exists()
        && ended.iter().all(|ended| ended.resumptions.is_empty())
        && headers.iter().all(|header| header.shard.is_none());
    let untold = match is_told {
        true => add_scrapes(&mut run, &dir.server_metrics())?,
        false => None,
    };
    let run = run.finish()?;
    let prompts = run.outcomes().map(|outcomes| Prompts { outcomes, ids });
    let read = journals.files.iter().zip(&ended);
    let mut files: Vec<Evidence> = read.map(|(file, ended)| file.evidence(ended)).collect();
    let mut grades_bytes = None;
    match &grades {
        Some(_) if is_written => files.push(evidence(&dir.grades())?),
        Some(grades) => {
            let bytes = digest_bytes(grades)?;
            files.push(named_evidence(&dir.grades(), Digest::of(&bytes), bytes.len() as u64)?);
            grades_bytes = Some(bytes);
        }
        None => {}
    }
    if is_told {
        files.push(evidence(&dir.server_metrics())?);
    }
    let mut cases = None;
    if run.declared() > MAX_CASES_IN_RECORD {
        let (made, evidence) = Cases::make(dir, run.cases())?;
        files.push(evidence);
        cases = Some(made);
    }
    let record = run.into_record(files)?;
    let bytes = digest_bytes(&record)?;
    let (torn, grades) = (torn(journals, &ended), grades_bytes);
    let changed = journals.changed(&ended);
    let journals = ended.iter().map(|ended| ended.sha256).collect();
    Ok(Rebuilt { torn, record, bytes, grades, cases, prompts, untold, changed, journals })
}

/// Holds the plan to what the journals were written for.
fn check_plan(dir: &RunDir, plan: &Plan, journals: &Journals) -> anyhow::Result<()> {
    let digest = Digest::of_value(plan)?;
    for JournalFile { path, header, .. } in &journals.files {
        if digest != header.plan_sha256 {
            let journal = match journals.is_merged {
                true => path.display().to_string(),
                false => "the journal".to_owned(),
            };
            bail!(
                "{}: {journal} was written for another plan ({} in its header)",
                dir.plan().display(),
                header.plan_sha256.prefix(12)
            );
        }
    }
    Ok(())
}

/// What was left out of journals whose last line was cut off.
fn torn(journals: &Journals, ended: &[Ended]) -> Vec<String> {
    let torn = journals.files.iter().zip(ended).filter(|(_, ended)| ended.torn_bytes > 0);
    torn.map(|(file, ended)| {
        let journal = match journals.is_merged {
            true => format!("the last line of {}", file.path.display()),
            false => "the journal's last line".to_owned(),
        };
        format!("{journal} was cut off after {} bytes and is left out", ended.torn_bytes)
    })
    .collect()
}

/// Removes what processes that were killed left of files that they were writing here.
pub(crate) fn remove_all_leftovers(dir: &RunDir) -> anyhow::Result<()> {
    for path in [dir.plan(), dir.shards(), dir.grades(), dir.cases(), dir.record()] {
        remove_leftovers(&path)
            .with_context(|| format!("cannot clear {}", dir.path().display()))?;
    }
    Ok(())
}

/// Adds what the server said of itself; a torn last line was being written when the run was cut off. Gives
/// why it said nothing, where it never did.
fn add_scrapes(run: &mut RunCollector<'_>, path: &Path) -> anyhow::Result<Option<String>> {
    let mut scrapes = ScrapeReader::new(open(path)?, path);
    let (mut untold, mut is_told) = (None, false);
    while let Some(line) = scrapes.next_scrape()? {
        run.add_scrape(&line).with_context(|| path.display().to_string())?;
        is_told |= line.failure.is_none();
        untold = untold.or(line.failure.map(|failure| failure.message));
    }
    Ok(untold.filter(|_| !is_told))
}

/// A journal that nobody adds to as long as it is open here.
pub(crate) fn open_at_rest(path: &Path) -> anyhow::Result<BufReader<File>> {
    let file = open(path)?;
    lock_to_read(file.get_ref(), path)?;
    Ok(file)
}

/// The plan of a run directory.
pub(crate) fn read_plan(dir: &RunDir) -> anyhow::Result<Plan> {
    let path = dir.plan();
    if !path.exists() {
        bail!("{} is no run directory: it has no plan.json", dir.path().display());
    }
    read_typed(&read_file(&path)?).with_context(|| path.display().to_string())
}

/// The receipts of the run's graders, where it has some.
pub(crate) fn read_grades(dir: &RunDir) -> anyhow::Result<Option<Grades>> {
    let path = dir.grades();
    if !path.exists() {
        return Ok(None);
    }
    let grades = read_typed(&read_file(&path)?).with_context(|| path.display().to_string())?;
    Ok(Some(grades))
}

/// A file, to be read from its beginning.
pub(crate) fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    let file = open_regular(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(BufReader::with_capacity(PIECE_BYTES, file))
}

fn evidence(path: &Path) -> anyhow::Result<Evidence> {
    let mut file = open(path)?;
    let mut bytes = 0;
    let mut fault = None;
    let sha256 = Digest::of_parts(iter::from_fn(|| {
        let piece = file.fill_buf().map(<[u8]>::to_vec).unwrap_or_else(|error| {
            fault = Some(error);
            Vec::new()
        });
        file.consume(piece.len());
        bytes += piece.len() as u64;
        (!piece.is_empty()).then_some(piece)
    }));
    match fault {
        Some(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        None => named_evidence(path, sha256, bytes),
    }
}

fn named_evidence(path: &Path, sha256: Digest, bytes: u64) -> anyhow::Result<Evidence> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = Identifier::new(name).context("name of a file of evidence")?;
    Ok(Evidence { name, sha256, bytes })
}

/// Where a written record first differs from the one that plan and journal give.
pub(crate) fn first_difference(written: &[u8], rebuilt: &[u8]) -> Option<String> {
    if written == rebuilt {
        return None;
    }
    let [written, rebuilt] = [written, rebuilt].map(String::from_utf8_lossy);
    let mut pairs = written.lines().zip(rebuilt.lines()).zip(1..);
    let text = match pairs.find(|((there, here), _)| there != here) {
        Some(((there, here), line)) => {
            format!("line {line} reads {:?}; plan and journal give {:?}", there.trim(), here.trim())
        }
        None => "its end differs from what plan and journal give".to_owned(),
    };
    Some(text)
}
