//! A run directory read back: its record is a function of plan, journal and nothing else.

use std::path::Path;

use anyhow::{Context, bail};
use streamgauge_client::{Journal, RunDir, read_file, write_new};
use streamgauge_metrics::{MAX_CASES_IN_RECORD, RunCollector};
use streamgauge_schema::{
    Case, Digest, Evidence, Identifier, Plan, RunRecordV2, digest_bytes, read_typed,
};

/// A run directory's plan and journal, and the record that they make.
#[derive(Debug)]
pub(crate) struct Rebuilt {
    pub(crate) journal: Journal,
    pub(crate) record: RunRecordV2,
    /// What `record.json` must hold.
    pub(crate) bytes: Vec<u8>,
    /// What `cases.jsonl` must hold, where the record does not hold its cases.
    pub(crate) cases: Option<Vec<u8>>,
}

impl Rebuilt {
    /// Writes the record, and its cases where they stand apart. Neither file may exist.
    pub(crate) fn write(&self, dir: &RunDir) -> anyhow::Result<()> {
        if let Some(cases) = &self.cases {
            write_new(&dir.cases(), cases, 0o644)?;
        }
        Ok(write_new(&dir.record(), &self.bytes, 0o644)?)
    }

    /// Where the files of the directory first differ from what plan and journal give.
    pub(crate) fn difference(&self, dir: &RunDir) -> anyhow::Result<Option<String>> {
        let mut files = vec![(dir.record(), &self.bytes)];
        files.extend(self.cases.as_ref().map(|cases| (dir.cases(), cases)));
        for (path, bytes) in files {
            if let Some(difference) = first_difference(&read_file(&path)?, bytes) {
                return Ok(Some(format!("{}: {difference}", path.display())));
            }
        }
        Ok(None)
    }
}

/// Builds the record of a run directory. It does not look at a `record.json` that is there.
pub(crate) fn rebuild(dir: &RunDir) -> anyhow::Result<Rebuilt> {
    let plan_path = dir.plan();
    let plan: Plan =
        read_typed(&read_file(&plan_path)?).with_context(|| plan_path.display().to_string())?;
    let journal_path = dir.journal();
    let journal_bytes = read_file(&journal_path)?;
    let journal = Journal::parse(&journal_bytes, &journal_path)?;
    if Digest::of_value(&plan)? != journal.header.plan_sha256 {
        bail!(
            "{}: the journal was written for another plan ({} in its header)",
            plan_path.display(),
            journal.header.plan_sha256.prefix(12)
        );
    }
    let mut run = RunCollector::new(&plan, &journal.header)?;
    journal.requests.iter().try_for_each(|line| run.add(line))?;
    let run = run.close(journal.trailer.as_ref())?;
    let mut files = vec![evidence(&journal_path, &journal_bytes)?];
    let mut cases = None;
    if run.declared() > MAX_CASES_IN_RECORD {
        let lines = one_a_line(run.cases())?;
        files.push(evidence(&dir.cases(), &lines)?);
        cases = Some(lines);
    }
    let record = run.into_record(files)?;
    let bytes = digest_bytes(&record)?;
    Ok(Rebuilt { journal, record, bytes, cases })
}

fn one_a_line(cases: impl Iterator<Item = Case>) -> anyhow::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for case in cases {
        serde_json::to_writer(&mut lines, &case)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn evidence(path: &Path, bytes: &[u8]) -> anyhow::Result<Evidence> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = Identifier::new(name).context("name of a file of evidence")?;
    Ok(Evidence { name, sha256: Digest::of(bytes), bytes: bytes.len() as u64 })
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
