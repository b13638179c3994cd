//! A qualification's directory and its log: made before the first step, never renamed, never
//! overwritten.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_client::{RunClock, read_file, write_new};
use streamgauge_schema::{
    Digest, Layout, QualificationLine, QualificationOpened, QualificationPlan, QualificationStep,
    file_bytes, read_typed,
};

/// The directory of one qualification.
#[derive(Clone, Debug)]
pub(crate) struct QualificationDir(PathBuf);

/// Its log, open for appending. A line is on the disk when [`Self::append`] returns.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    clock: RunClock,
    lines: Vec<QualificationLine>,
}

impl QualificationDir {
    /// Makes `<parent>/<name>-<start>-<first 4 digits of the plan's digest>` with the plan in it.
    pub(crate) fn create(parent: &Path, plan: &QualificationPlan) -> anyhow::Result<Self> {
        let digest = Digest::of_value(plan)?.prefix(4);
        let start = RunClock::start().started_at().compact();
        let path = parent.join(format!("{}-{start}-{digest}", plan.name));
        let shown = || format!("cannot make {}", path.display());
        fs::create_dir_all(parent).with_context(shown)?;
        DirBuilder::new().mode(0o755).create(&path).with_context(shown)?;
        let dir = Self(path);
        fs::create_dir(dir.runs())
            .with_context(|| format!("cannot make {}", dir.runs().display()))?;
        write_new(&dir.plan(), &file_bytes(plan, Layout::Sorted)?, 0o600)?;
        Ok(dir)
    }

    /// An existing directory.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Whether it is one: it has a plan and a place for runs.
    pub(crate) fn is_one(&self) -> bool {
        self.plan().is_file() && self.runs().is_dir()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// `plan.json`.
    pub(crate) fn plan(&self) -> PathBuf {
        self.0.join("plan.json")
    }

    /// `log.jsonl`.
    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("log.jsonl")
    }

    /// `runs`, the folder of run directories.
    pub(crate) fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// `activation.log`, what the programs that bring arms up say.
    pub(crate) fn activation_log(&self) -> PathBuf {
        self.0.join("activation.log")
    }

    /// A comparison of it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Its plan.
    pub(crate) fn read_plan(&self) -> anyhow::Result<QualificationPlan> {
        let path = self.plan();
        read_typed(&read_file(&path)?).with_context(|| path.display().to_string())
    }

    /// Its log, and the bytes of a torn last line, which was being written when the end came. There
    /// is no log before the first step.
    pub(crate) fn read_log(&self) -> anyhow::Result<(Vec<QualificationLine>, usize)> {
        let path = self.log();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n').zip(1..);
        let lines = lines.map(|(line, number)| {
            read_typed(line).with_context(|| format!("{} line {number}", path.display()))
        });
        Ok((lines.collect::<anyhow::Result<_>>()?, bytes.len() - whole))
    }
}

impl Log {
    /// Takes the work up: nobody else may while this process lives. A torn last line is cut off.
    pub(crate) fn open(dir: &QualificationDir, plan: &QualificationPlan) -> anyhow::Result<Self> {
        let path = dir.log();
        let shown = || format!("cannot open {}", path.display());
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .with_context(shown)?;
        if file.try_lock().is_err() {
            bail!("{} is being carried out by another process", dir.path().display());
        }
        let (lines, torn) = dir.read_log()?;
        if torn > 0 {
            let whole = file.metadata().with_context(shown)?.len() - torn as u64;
            file.set_len(whole).with_context(shown)?;
        }
        let clock = RunClock::start();
        let mut log = Self { path, file, clock, lines };
        log.append(QualificationStep::Opened(QualificationOpened {
            plan_sha256: Digest::of_value(plan)?,
            started_at: clock.started_at(),
            instrument_version: env!("CARGO_PKG_VERSION").to_owned(),
        }))?;
        Ok(log)
    }

    /// Every line so far.
    pub(crate) fn lines(&self) -> &[QualificationLine] {
        &self.lines
    }

    /// Milliseconds since the work was taken up.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.now().as_millis()).unwrap_or(u64::MAX)
    }

    /// Appends one line in one write, and forces it to the disk.
    pub(crate) fn append(&mut self, step: QualificationStep) -> anyhow::Result<()> {
        let line = QualificationLine { at_ms: self.now_ms(), step };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        let written = self.file.write(&bytes).and_then(|written| {
            if written < bytes.len() {
                return Err(io::Error::new(
                    io::ErrorKind::WriteZero,
                    "the line was cut (disk full?)",
                ));
            }
            self.file.sync_data()
        });
        written.with_context(|| format!("cannot write to {}", self.path.display()))?;
        self.lines.push(line);
        Ok(())
    }
}
