//! Receipts that were written as a run went on, read back: those of requests that the journal holds.

use std::collections::HashMap;

use streamgauge_client::{JournalReader, ReceiptReader, RunDir};
use streamgauge_schema::{Digest, Grade, Grades, Plan, Stage};

use super::receipts::{Answered, GRADES_VERSION};
use crate::rebuild::open;

/// The receipts of a run directory that its caller holds, each with its request. Of a request that was
/// asked again the last one counts; one whose request has no line was written just before the end.
pub(crate) fn kept_receipts(dir: &RunDir) -> anyhow::Result<Vec<(Answered, Grade)>> {
    let path = dir.receipts();
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut lines = ReceiptReader::new(open(&path)?, &path);
    let mut by_prompt: HashMap<Digest, Grade> = HashMap::new();
    while let Some(grade) = lines.next_line()? {
        by_prompt.insert(grade.prompt_sha256, grade);
    }
    let path = dir.journal();
    let mut journal = JournalReader::new(open(&path)?, &path)?;
    let mut kept = Vec::new();
    while let Some(line) = journal.next_request()? {
        let answered = Answered::of(&line).filter(|_| line.stage == Stage::Measured);
        if let Some(answered) = answered
            && let Some(grade) = by_prompt.remove(&line.prompt_sha256)
        {
            kept.push((answered, grade));
        }
    }
    Ok(kept)
}

/// The receipts of a run that was cut off before they were put together; `None` where nothing graded it.
pub(crate) fn grades_so_far(dir: &RunDir, plan: &Plan) -> anyhow::Result<Option<Grades>> {
    let Some(grading) = plan.grading.clone() else { return Ok(None) };
    if !dir.receipts().exists() {
        return Ok(None);
    }
    let mut receipts: Vec<Grade> =
        kept_receipts(dir)?.into_iter().map(|(_, grade)| grade).collect();
    receipts.sort_unstable_by_key(|receipt| receipt.prompt_sha256);
    Ok(Some(Grades { grades_version: GRADES_VERSION, grading, receipts }))
}
