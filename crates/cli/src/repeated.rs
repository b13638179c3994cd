//! The answers of a run that asked each prompt several times, read back from its directory.

use std::collections::{BTreeMap, HashMap};
use std::io::BufReader;

use anyhow::{Context, bail};
use streamgauge_client::{AnswerReader, JournalReader, RunDir, open_regular};
use streamgauge_grade::{GivenAnswer, RepeatedAnswers};
use streamgauge_schema::{
    AnswerLine, Completion, Digest, Document, Plan, RequestLine, RunRecord, Stage,
};

use crate::input::read_document;
use crate::rebuild::read_plan;

/// The answers, and what a dataset calls their prompts.
#[derive(Debug)]
pub(crate) struct Repeated {
    pub(crate) answers: RepeatedAnswers,
    pub(crate) names: BTreeMap<Digest, String>,
}

impl Repeated {
    /// Reads what `run --determinism` left in a directory.
    ///
    /// # Errors
    /// When the run asked nothing twice, kept no answers, or has no record.
    pub(crate) fn read(dir: &RunDir) -> anyhow::Result<Self> {
        let plan = read_plan(dir)?;
        let shown = dir.path().display();
        let Some(repetitions) = plan.workload.repetitions else {
            bail!(
                "{shown} asked no prompt several times: `run --determinism 3` does, and keeps the answers"
            );
        };
        let RunRecord::V2(record) = record(dir)? else {
            bail!("{}: a record of version 1 belongs to no run directory", dir.record().display());
        };
        let mut answers = kept(dir)?;
        let mut names = BTreeMap::new();
        let mut prompts: BTreeMap<Digest, Vec<Option<GivenAnswer>>> = BTreeMap::new();
        for line in measured(dir)? {
            if let Some(id) = &line.dataset_id {
                names.entry(line.prompt_sha256).or_insert_with(|| id.clone());
            }
            let answer = answers.remove(&line.index);
            let answer = answer.filter(|_| line.completion == Completion::Succeeded).map(given);
            let round = round(&plan, repetitions, line.index);
            let of_prompt = prompts.entry(line.prompt_sha256).or_default();
            of_prompt.resize(of_prompt.len().max(round + 1), None);
            of_prompt[round] = answer;
        }
        let answers = RepeatedAnswers {
            run_id: record.run_id,
            cell: plan.load.cell,
            temperature: plan.request.temperature,
            repetitions,
            prompts,
        };
        Ok(Self { answers, names })
    }
}

/// The round that a request belongs to. Its number is below that of the repetitions in any run of ours;
/// a plan that was changed is not to fill the memory.
fn round(plan: &Plan, repetitions: u64, index: u64) -> usize {
    let prompts = (plan.load.requests / repetitions.max(1)).max(1);
    (index / prompts).min(repetitions.saturating_sub(1)) as usize
}

fn record(dir: &RunDir) -> anyhow::Result<RunRecord> {
    let path = dir.record();
    if !path.exists() {
        let run = dir.path().display();
        bail!("{run} has no record yet; `streamgauge record {run}` builds it");
    }
    match Document::read(&read_document(&path)?).with_context(|| path.display().to_string())? {
        Document::Run(record) => Ok(record),
        _ => bail!("{} is no run record", path.display()),
    }
}

/// The answers that were kept, by the place of their request.
fn kept(dir: &RunDir) -> anyhow::Result<HashMap<u64, AnswerLine>> {
    let path = dir.answers();
    let file = open_regular(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut answers = AnswerReader::new(BufReader::new(file), &path);
    let mut found = HashMap::new();
    while let Some(answer) = answers.next_answer()? {
        found.insert(answer.index, answer);
    }
    Ok(found)
}

fn measured(dir: &RunDir) -> anyhow::Result<Vec<RequestLine>> {
    let path = dir.journal();
    let mut journal = JournalReader::new(BufReader::new(open_regular(&path)?), &path)?;
    let mut lines = Vec::new();
    while let Some(line) = journal.next_request()? {
        if line.stage == Stage::Measured {
            lines.push(line);
        }
    }
    Ok(lines)
}

fn given(line: AnswerLine) -> GivenAnswer {
    GivenAnswer {
        reasoning: line.reasoning.unwrap_or_default(),
        content: line.answer.unwrap_or_default(),
        finish_reasons: line.finish_reasons,
        event_ends: line.event_ends,
    }
}
