//! One cell measured: a run directory with plan, journal and record.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use streamgauge_client::{
    Access, JournalError, JournalWriter, RunClock, RunDir, RunDirError, RunError, Sink,
    make_private_folder, run,
};
use streamgauge_schema::{EndReason, Extraction, JournalLine, Plan, RunRecordV2};
use tokio::sync::watch;

use crate::exit::{Exit, Unreachable};
use crate::notices::{FailureGroup, Notices};
use crate::planning::Cell;
use crate::progress::Progress;
use crate::rebuild::rebuild;

/// A measured cell.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) dir: RunDir,
    pub(crate) record: RunRecordV2,
    pub(crate) failures: Vec<FailureGroup>,
    /// Measured responses that named another model than the expected one.
    pub(crate) other_model: u64,
    pub(crate) interrupted: bool,
}

/// Measures a cell into a new directory below `out`.
pub(crate) async fn measure(
    cell: &Cell,
    access: &Access,
    out: &Path,
    stop: watch::Receiver<bool>,
) -> anyhow::Result<Measured> {
    measure_into(create_dir(out, &cell.plan).await?, cell, access, stop).await
}

/// Measures a cell into a directory that was made for its plan.
pub(crate) async fn measure_into(
    dir: RunDir,
    cell: &Cell,
    access: &Access,
    stop: watch::Receiver<bool>,
) -> anyhow::Result<Measured> {
    let kept = Kept {
        journal: JournalWriter::create(&dir.journal())?,
        progress: Progress::new(cell.plan.load.cell.as_str(), cell.plan.load.requests),
        notices: Notices::new(&cell.plan),
    };
    let captures = match cell.capture {
        true => {
            make_private_folder(&dir.captures())?;
            Some(dir.captures())
        }
        false => None,
    };
    let setup = cell.setup(access, captures, stop);
    let (trailer, kept) = match run(setup, |stage, index| cell.request(stage, index), kept).await {
        Ok(ended) => ended,
        Err(error @ RunError::Resolve { .. }) => return Err(Unreachable(error.to_string()).into()),
        Err(error) => return Err(error.into()),
    };
    let Kept { journal, notices, .. } = kept;
    journal.finish()?;
    let rebuilt = rebuild(&dir)?;
    rebuilt.write(&dir)?;
    let (failures, other_model) = notices.finish();
    Ok(Measured {
        dir,
        record: rebuilt.record,
        failures,
        other_model,
        interrupted: trailer.reason == EndReason::Interrupted,
    })
}

/// What is done with a line of a run.
struct Kept {
    journal: JournalWriter,
    progress: Progress,
    notices: Notices,
}

impl Sink for Kept {
    type Error = JournalError;

    fn take(
        &mut self,
        line: JournalLine,
        _said: Option<Box<Extraction>>,
    ) -> Result<(), JournalError> {
        self.journal.append(&line)?;
        if let JournalLine::Request(line) = &line {
            self.progress.note(line);
            self.notices.note(line);
        }
        Ok(())
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
    /// The exit code that this cell deserves by itself.
    pub(crate) fn exit(&self) -> Exit {
        let load = &self.record.load;
        if self.interrupted {
            Exit::Interrupted
        } else if load.succeeded == 0 {
            Exit::Unreachable
        } else if load.performance_eligible {
            Exit::Done
        } else {
            Exit::Inconclusive
        }
    }
}
