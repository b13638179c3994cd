//! The answers of a run that asked each prompt several times, read back from its directory.

use std::collections::{BTreeMap, HashMap};
use std::io::BufReader;

use anyhow::{Context, bail};
use streamgauge_client::{AnswerReader, RunDir, bounded};
use streamgauge_grade::{GivenAnswer, RepeatedAnswers};
use streamgauge_schema::{
    AnswerLine, Completion, Digest, Document, Plan, RequestLine, RunRecord, Stage,
};

use crate::input::read_document;
use crate::journals::Journals;
use crate::rebuild::{open, read_plan};

/// More rounds than anybody asks for.
pub(crate) const MOST_REPETITIONS: u64 = 1_000;

/// The answers, and what a dataset calls their prompts.
#[derive(Debug)]
pub(crate) struct Repeated {
    pub(crate) answers: RepeatedAnswers,
    pub(crate) names: BTreeMap<Digest, String>,
    plan: Plan,
    /// A model that answered, and was not expected to.
    other_model: Option<String>,
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
        if repetitions > MOST_REPETITIONS {
            bail!(
                "{}: workload.repetitions is {repetitions}, and a run has at most {MOST_REPETITIONS}: \
                 the plan was changed",
                dir.plan().display()
            );
        }
        let RunRecord::V2(record) = record(dir)? else {
            bail!("{}: a record of version 1 belongs to no run directory", dir.record().display());
        };
        let mut answers = kept(dir)?;
        let (mut names, mut other_model) = (BTreeMap::new(), None);
        let mut prompts: BTreeMap<Digest, Vec<Option<GivenAnswer>>> = BTreeMap::new();
        for line in measured(dir)? {
            if other_model.is_none() {
                other_model = another_model(&plan, &line).map(bounded);
            }
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
            cell: plan.load.cell.clone(),
            temperature: plan.request.temperature,
            repetitions,
            prompts,
        };
        Ok(Self { answers, names, plan, other_model })
    }

    /// Refuses runs that did not ask the same, or whose answers another model gave: they differ, or do
    /// not, whatever the builds are.
    ///
    /// # Errors
    /// When they differ in what they asked for, each difference of which is named; or when another model
    /// than the expected one answered.
    pub(crate) fn check_alike(&self, other: &Self) -> anyhow::Result<()> {
        for run in [self, other] {
            if let Some(model) = &run.other_model {
                bail!(
                    "{}: {model:?} answered, and {:?} was expected: its answers say nothing of the build",
                    run.answers.run_id,
                    bounded(&run.plan.target.expect_model)
                );
            }
        }
        let differing: Vec<String> = asked(&self.plan)
            .into_iter()
            .zip(asked(&other.plan))
            .filter(|((_, one), (_, other))| one != other)
            .map(|((name, one), (_, other))| format!("{name} ({one} and {other})"))
            .collect();
        if differing.is_empty() {
            return Ok(());
        }
        bail!(
            "the runs did not ask the same, so that their answers say nothing of the builds: {}",
            differing.join(", ")
        )
    }
}

/// What an answer depends on besides its prompt, apart from the temperature, which the report tells.
fn asked(plan: &Plan) -> [(&'static str, String); 6] {
    let request = &plan.request;
    let text = |value: Option<u64>| value.map_or_else(|| "none".to_owned(), |it| it.to_string());
    let body = serde_json::to_string(&request.extra_body).unwrap_or_default();
    [
        ("API", plan.target.dialect.to_string()),
        ("prompts", plan.load.requests.to_string()),
        ("tokens at most", request.max_tokens.to_string()),
        ("ignore_eos", request.ignore_eos.to_string()),
        ("seed", text(request.seed)),
        ("extra body", bounded(&body)),
    ]
}

/// Another model than the expected one that a response names.
fn another_model<'a>(plan: &Plan, line: &'a RequestLine) -> Option<&'a str> {
    let named = line.observation.as_ref().map(|seen| seen.returned_models.as_slice());
    let mut named = named.unwrap_or_default().iter();
    named.find(|model| **model != plan.target.expect_model).map(String::as_str)
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
    let mut answers = AnswerReader::new(BufReader::new(open(&path)?), &path);
    let mut found = HashMap::new();
    while let Some(answer) = answers.next_line()? {
        found.insert(answer.index, answer);
    }
    Ok(found)
}

fn measured(dir: &RunDir) -> anyhow::Result<Vec<RequestLine>> {
    let journals = Journals::open(dir)?;
    let mut journal = journals.lines();
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
