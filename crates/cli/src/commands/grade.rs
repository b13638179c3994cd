//! `streamgauge grade`: grades the answers that a run kept, long after it.
//!
//! What a run directory holds stays as it is. Where it has neither receipts nor a record, both are
//! written into it; else into a new directory beside it, which shares the plan and the journal.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use streamgauge_client::{AnswerReader, RunDir, read_file, write_new};
use streamgauge_schema::{Digest, Grades, Plan, PromptSource, Stage, digest_bytes, read_typed};
use streamgauge_workload::{Dataset, Prompts, Requests, RequestsSpec, Reuse};

use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::grading::{Answered, Expectations, Expected, Receipts, Wrong};
use crate::input::read_dataset;
use crate::journals::{Journals, is_merged};
use crate::planning::lengths_of;
use crate::rebuild::{open, read_plan, rebuild};
use crate::show::{self, Page};

/// Arguments of `grade`.
#[derive(Debug, Args)]
#[command(after_help = "\
The answers are those that `run --keep-answers` kept; what they are held against is the \"expect\" of \
the dataset's lines, which are found by their prompts. No timing changes. A run directory that has a \
record or receipts already is left as it is, and the graded run is written beside it.

Examples:
  streamgauge run … --dataset prompts.jsonl --no-grade --keep-answers
  streamgauge grade runs/build-7-… --dataset corrected.jsonl")]
pub(crate) struct GradeArgs {
    /// Run directory
    run_dir: PathBuf,
    /// Dataset whose lines say what is expected
    #[arg(long, value_name = "FILE")]
    dataset: PathBuf,
}

/// Grades, writes, and shows what came of it.
pub(crate) fn grade(args: &GradeArgs) -> anyhow::Result<Exit> {
    let dir = RunDir::at(&args.run_dir);
    if is_merged(&dir) {
        bail!(
            "{} was merged from shards, which keep the answers: grade each of them, and merge them then",
            dir.path().display()
        );
    }
    if !dir.answers().exists() {
        bail!(
            "{} has no answers.jsonl: answers are kept by `run --keep-answers`",
            dir.path().display()
        );
    }
    let plan = read_plan(&dir)?;
    let expected = Arc::new(expected(&plan, &dir.plan(), &args.dataset)?);
    let (grades, wrong) = graded(&dir, expected)?;
    if grades.receipts.is_empty() {
        bail!(
            "no answer in {} has a prompt of {}",
            dir.answers().display(),
            args.dataset.display()
        );
    }
    let target = write(&dir, &grades)?;
    let mut rebuilt = rebuild(&target)?;
    if !target.record().exists() {
        rebuilt.write(&target)?;
    }
    let record = target.record();
    let shown = show::answers(&rebuilt.record, &wrong, Page::of(Format::Table)).unwrap_or_default();
    console::result(&console::printable(&format!("{shown}\n{}", record.display())))?;
    let eligible = rebuilt.record.load.performance_eligible;
    Ok(if eligible { Exit::Done } else { Exit::Inconclusive })
}

/// What the prompts of a run have to be answered, by this file.
fn expected(plan: &Plan, of: &Path, file: &Path) -> anyhow::Result<Expected> {
    let PromptSource::Dataset { nonce, .. } = plan.workload.source else {
        bail!(
            "{}: the run's prompts were synthetic: no dataset says what is expected of them",
            of.display()
        );
    };
    let bytes = read_dataset(file)?;
    let dataset = Dataset::parse(&bytes, &file.display().to_string())?;
    let Some(expectations) = Expectations::of(&dataset, &bytes)? else {
        bail!("{}: no line has \"expect\"", file.display());
    };
    // Of another file than the run's, any line may be the one that was asked.
    let is_same = dataset.digest() == plan.workload.dataset_sha256;
    let lines = dataset.lines().len() as u64;
    let requests = Requests::new(RequestsSpec {
        dialect: plan.target.dialect,
        model: plan.target.model.clone(),
        settings: plan.request.clone(),
        prompts: Prompts::Dataset { dataset, reuse: Reuse::Repeat, nonce },
        target_input_tokens: None,
        lengths: lengths_of(plan).with_context(|| of.display().to_string())?,
        suite_version: plan.workload.suite_version.clone(),
        requests: if is_same || nonce.is_some() { plan.load.requests } else { lines },
        repetitions: if is_same { plan.workload.repetitions.unwrap_or(1) } else { 1 },
        warmup: 0,
    })
    .with_context(|| file.display().to_string())?;
    Expected::of_lines(&expectations, &requests)
}

/// The receipts of all answers that were kept, and those that did not pass.
fn graded(dir: &RunDir, expected: Arc<Expected>) -> anyhow::Result<(Grades, Vec<Wrong>)> {
    let mut answered = answered(dir)?;
    let (all, mut kept) = (answered.len(), 0);
    let mut receipts = Receipts::new(expected);
    let path = dir.answers();
    // A prompt that was asked again, when its run was taken up, was answered last.
    let mut times: HashMap<Digest, u64> = HashMap::new();
    let mut answers = AnswerReader::new(open(&path)?, &path);
    while let Some(answer) = answers.next_line()? {
        *times.entry(answer.prompt_sha256).or_default() += 1;
    }
    let mut answers = AnswerReader::new(open(&path)?, &path);
    while let Some(answer) = answers.next_line()? {
        let prompt = answer.prompt_sha256;
        let left = times.entry(prompt).or_default();
        *left = left.saturating_sub(1);
        if *left == 0
            && let Some(answered) = answered.remove(&prompt)
        {
            kept += 1;
            receipts.grade(prompt, &answered, answer.answer.as_deref().unwrap_or_default());
        }
    }
    let (grades, wrong) = receipts.finish();
    let (lost, unknown) = (all - kept, kept - grades.receipts.len());
    for (count, what) in
        [(lost, "were not kept"), (unknown, "are to prompts that the dataset does not have")]
    {
        if count > 0 {
            console::remark(&format!("note: {count} of {all} answers {what}; they stay ungraded"));
        }
    }
    Ok((grades, wrong))
}

/// The measured requests that succeeded, by their prompts.
fn answered(dir: &RunDir) -> anyhow::Result<HashMap<Digest, Answered>> {
    let path = dir.journal();
    let journals = Journals::open(dir)?;
    let mut journal = journals.lines();
    let mut found = HashMap::new();
    while let Some(line) = journal.next_request()? {
        let Some(answered) = Answered::of(&line).filter(|_| line.stage == Stage::Measured) else {
            continue;
        };
        let (id, index) = (answered.id.clone(), answered.index);
        if let Some(other) = found.insert(line.prompt_sha256, answered) {
            bail!(
                "{}: requests {} and {index}{} were sent the same prompt, and receipts are joined by \
                 prompts",
                path.display(),
                other.index,
                id.map_or_else(String::new, |id| format!(" ({})", console::printable(&id)))
            );
        }
    }
    Ok(found)
}

/// Writes the receipts where they change nothing that is there.
fn write(dir: &RunDir, grades: &Grades) -> anyhow::Result<RunDir> {
    let bytes = digest_bytes(grades)?;
    if !dir.grades().exists() && !dir.record().exists() {
        write_new(&dir.grades(), &bytes, 0o600)?;
        return Ok(dir.clone());
    }
    let shown = dir.path().display();
    let path = fs::canonicalize(dir.path()).with_context(|| format!("cannot read {shown}"))?;
    let mut name = path.file_name().with_context(|| format!("{shown} has no name"))?.to_owned();
    name.push(format!("-graded-{}", Digest::of(&bytes).prefix(4)));
    let beside = RunDir::at(&path.with_file_name(name));
    if beside.path().exists() {
        let known: Grades = read_typed(&read_file(&beside.grades())?)
            .with_context(|| beside.grades().display().to_string())?;
        if known != *grades {
            bail!("{} holds other grades already", beside.path().display());
        }
        return Ok(beside);
    }
    DirBuilder::new()
        .create(beside.path())
        .with_context(|| format!("cannot make {}", beside.path().display()))?;
    for (old, new) in [
        (dir.plan(), beside.plan()),
        (dir.journal(), beside.journal()),
        (dir.server_metrics(), beside.server_metrics()),
    ] {
        if old.exists() {
            share(&old, &new)?;
        }
    }
    write_new(&beside.grades(), &bytes, 0o600)?;
    Ok(beside)
}

/// The same file under another name, or, where the file system has no such thing, a copy.
fn share(old: &Path, new: &Path) -> anyhow::Result<()> {
    fs::hard_link(old, new)
        .or_else(|_| fs::copy(old, new).map(drop))
        .with_context(|| format!("cannot write {}", new.display()))
}
