//! One cell measured: a run directory with plan, journal, receipts of graders, and record.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use streamgauge_client::{
    Access, AnswerWriter, JournalError, JournalWriter, ReceiptWriter, RunClock, RunDir,
    RunDirError, RunError, RunSetup, Scrapes, Sink, SoFar, make_private_folder, run, write_new,
};
use streamgauge_schema::{
    AnswerLine, EndReason, Extraction, Failure, JournalLine, Plan, RequestLine, RunRecordV2, Stage,
    Timestamp, digest_bytes,
};
use tokio::sync::watch;

use crate::args::Format;
use crate::console;
use crate::exit::{Exit, Unreachable};
use crate::grading::{Receipts, Wrong};
use crate::notices::{FailureGroup, Notices};
use crate::planning::Cell;
use crate::progress::{Progress, View};
use crate::rebuild::rebuild_held;
use crate::show::{self, Page};

/// A measured cell.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) dir: RunDir,
    pub(crate) record: RunRecordV2,
    pub(crate) failures: Vec<FailureGroup>,
    /// Measured responses that named another model than the expected one.
    pub(crate) other_model: u64,
    /// Graded answers that did not pass.
    pub(crate) wrong: Vec<Wrong>,
    pub(crate) interrupted: bool,
}

/// What all cells of a command are measured with.
#[derive(Debug)]
pub(crate) struct Measuring<'a> {
    /// What is needed to be let in.
    pub(crate) access: &'a Access,
    /// How progress is shown.
    pub(crate) view: View,
    /// When it turns true, no request is begun any more.
    pub(crate) stop: &'a watch::Receiver<bool>,
}

/// Measures a cell into a new directory below `out`; `title` says to whoever watches which one it is.
pub(crate) async fn measure(
    cell: &Cell,
    title: &str,
    out: &Path,
    measuring: &Measuring<'_>,
) -> anyhow::Result<Measured> {
    measure_into(create_dir(out, &cell.plan).await?, cell, title, measuring).await
}

/// Measures a cell into a directory that was made for its plan.
pub(crate) async fn measure_into(
    dir: RunDir,
    cell: &Cell,
    title: &str,
    measuring: &Measuring<'_>,
) -> anyhow::Result<Measured> {
    let journal = JournalWriter::create(&dir.journal())?;
    begin(dir, journal, cell, title, measuring).await
}

/// Measures a cell into a directory whose journal is empty.
pub(crate) async fn begin(
    dir: RunDir,
    journal: JournalWriter,
    cell: &Cell,
    title: &str,
    measuring: &Measuring<'_>,
) -> anyhow::Result<Measured> {
    let graded = |expected| {
        let written = ReceiptWriter::create(&dir.receipts())?;
        Ok::<_, JournalError>(Graded { receipts: Receipts::new(expected), written })
    };
    let files = Files {
        journal,
        answers: cell.keep_answers.then(|| AnswerWriter::create(&dir.answers())).transpose()?,
        graded: cell.expected.clone().map(graded).transpose()?,
        so_far: None,
    };
    if cell.capture {
        make_private_folder(&dir.captures())?;
    }
    carry_out(dir, files, cell, title, measuring).await
}

/// What a run is written to.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) journal: JournalWriter,
    pub(crate) answers: Option<AnswerWriter>,
    pub(crate) graded: Option<Graded>,
    /// What is there already of a run that is taken up again.
    pub(crate) so_far: Option<SoFar>,
}

/// Receipts, in memory and as they are written.
#[derive(Debug)]
pub(crate) struct Graded {
    pub(crate) receipts: Receipts,
    pub(crate) written: ReceiptWriter,
}

/// Carries a cell out, or what is missing of it.
pub(crate) async fn carry_out(
    dir: RunDir,
    files: Files,
    cell: &Cell,
    title: &str,
    measuring: &Measuring<'_>,
) -> anyhow::Result<Measured> {
    let inflight = Arc::<AtomicU64>::default();
    let Files { journal, answers, graded, so_far } = files;
    if let Some(start) = cell.start_at {
        tell_start(title, start);
    }
    let done = so_far.as_ref().map_or(0, SoFar::done);
    let kept = Kept {
        journal,
        progress: Progress::start(title, cell, done, measuring.view, Arc::clone(&inflight)),
        notices: Notices::new(&cell.plan),
        answers,
        keep_event_ends: cell.plan.workload.repetitions.is_some(),
        graded,
    };
    let captures = cell.capture.then(|| dir.captures());
    let setup = cell.setup(measuring.access, captures, measuring.stop.clone());
    // What a server counts from one start of the run to its end says nothing of one that broke off.
    let scrapes = so_far
        .is_none()
        .then(|| Scrapes { file: dir.server_metrics(), first_failed: say_first_failed });
    let setup = RunSetup { inflight, scrapes, so_far, ..setup };
    let (trailer, kept) = match run(setup, |stage, index| cell.request(stage, index), kept).await {
        Ok(ended) => ended,
        Err(error @ RunError::Resolve { .. }) => return Err(Unreachable(error.to_string()).into()),
        Err(error) => return Err(given_up(&dir, error.into())),
    };
    let Kept { journal, progress, notices, answers, graded, .. } = kept;
    drop(progress);
    // Held until all that belongs to the run is written: nobody takes it for whole before.
    let held = journal.finish().map_err(|error| given_up(&dir, error.into()))?;
    answers.map(AnswerWriter::finish).transpose()?;
    let mut wrong = Vec::new();
    if let Some(Graded { receipts, written }) = graded {
        written.finish()?;
        let (grades, found) = receipts.finish();
        write_new(&dir.grades(), &digest_bytes(&grades)?, 0o600)?;
        wrong = found;
    }
    let mut rebuilt = rebuild_held(&dir)?;
    rebuilt.write(&dir)?;
    drop(held);
    if let Some(reason) = &rebuilt.untold {
        console::remark(&format!("note: --server-metrics found nothing: {reason}"));
    }
    let (failures, other_model) = notices.finish();
    Ok(Measured {
        dir,
        record: rebuilt.record,
        failures,
        other_model,
        wrong,
        interrupted: trailer.reason == EndReason::Interrupted,
    })
}

/// Says when measured requests begin.
fn tell_start(title: &str, start: Timestamp) {
    let now = RunClock::start().started_at();
    let as_it_is = if start > now { "" } else { ", which has passed: as soon as they can" };
    console::remark(&format!("{title}: measured requests begin at {start}{as_it_is}"));
}

/// Whoever waits for the server's own metrics can still stop the run and mend what is wrong.
fn say_first_failed(failure: &Failure) {
    console::remark(&format!(
        "note: --server-metrics: the server did not answer the first question: {}; it is asked again once \
         a second",
        failure.message
    ));
}

/// Why a run went no further, and what can be done with what there is of it.
fn given_up(dir: &RunDir, error: anyhow::Error) -> anyhow::Error {
    let path = dir.path().display();
    let left = match dir.journal().exists() {
        true => format!(
            "`streamgauge run --resume {path}` goes on with what is missing, and `streamgauge record \
             {path}` makes a record of what had finished"
        ),
        false => format!("nothing is left of it, as {path} was removed"),
    };
    error.context(format!("the run was given up; {left}"))
}

/// What is done with a line of a run.
struct Kept {
    journal: JournalWriter,
    progress: Progress,
    notices: Notices,
    answers: Option<AnswerWriter>,
    /// Answers are kept with the ends of their events.
    keep_event_ends: bool,
    graded: Option<Graded>,
}

impl Sink for Kept {
    type Error = JournalError;

    fn take(
        &mut self,
        line: JournalLine,
        said: Option<Box<Extraction>>,
    ) -> Result<(), JournalError> {
        // The answer and its receipt first: no request that the journal holds is without them.
        if let (JournalLine::Request(line), Some(said)) = (&line, &said) {
            self.answered(line, said)?;
        }
        self.journal.append(&line)?;
        if let JournalLine::Request(line) = &line {
            self.progress.note(line);
            self.notices.note(line);
        }
        Ok(())
    }
}

impl Kept {
    /// Keeps and grades what a measured request was answered.
    fn answered(&mut self, line: &RequestLine, said: &Extraction) -> Result<(), JournalError> {
        if line.stage != Stage::Measured {
            return Ok(());
        }
        if let Some(answers) = &mut self.answers {
            let ends = self.keep_event_ends && !said.output_ends.is_empty();
            let event_ends = ends.then(|| said.output_ends.clone());
            answers.append(&AnswerLine { event_ends, ..answer(line, said) })?;
        }
        if let Some(Graded { receipts, written }) = &mut self.graded
            && let Some(grade) = receipts.add(line, &said.content_text.0)
        {
            written.append(grade)?;
        }
        Ok(())
    }
}

/// The line of a kept answer.
fn answer(line: &RequestLine, said: &Extraction) -> AnswerLine {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    AnswerLine {
        prompt_sha256: line.prompt_sha256,
        index: line.index,
        dataset_id: line.dataset_id.clone(),
        answer: some(&said.content_text.0),
        reasoning: some(&said.reasoning_text.0),
        event_ends: None,
        finish_reasons: said.finish_reasons.clone(),
    }
}

/// Makes the directory of a run. Directories are named to the second. Where one of the same plan and second is there, the next
/// second is waited for.
pub(crate) async fn create_dir(out: &Path, plan: &Plan) -> Result<RunDir, RunDirError> {
    const SECOND: Duration = Duration::from_secs(1);
    for _ in 0..5 {
        match RunDir::create(out, plan, RunClock::start().started_at()) {
            Err(RunDirError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                tokio::time::sleep(SECOND).await;
            }
            other => return other,
        }
    }
    RunDir::create(out, plan, RunClock::start().started_at())
}

impl Measured {
    /// Says on stderr what failed, where what is printed does not.
    pub(crate) fn tell_failures(&self) {
        if let Some(failures) = show::failures(&self.failures, Page::of(Format::Table)) {
            console::remark(&failures);
        }
    }

    /// Says how to go on with a run that was interrupted.
    pub(crate) fn tell_how_to_go_on(&self) {
        if self.interrupted {
            let path = self.dir.path().display();
            console::remark(&format!("`streamgauge run --resume {path}` asks what is missing"));
        }
    }

    /// The exit code that this cell deserves by itself.
    pub(crate) fn exit(&self) -> Exit {
        if self.interrupted { Exit::Interrupted } else { exit_of(&self.record) }
    }
}

/// The exit code that a run which was not interrupted deserves by its record.
pub(crate) fn exit_of(record: &RunRecordV2) -> Exit {
    let load = &record.load;
    if load.succeeded == 0 {
        Exit::Unreachable
    } else if load.performance_eligible {
        Exit::Done
    } else {
        Exit::Inconclusive
    }
}
