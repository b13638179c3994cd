//! A run's directory: made before its first request, never renamed, never overwritten.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use streamgauge_schema::{CanonicalError, Digest, Layout, Plan, Shard, Timestamp, file_bytes};

use crate::files::read_regular;
use crate::new_file::write_new;
use crate::syncer::sync_entry;

/// A directory or file of a run that cannot be made or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunDirError {
    /// The file system refuses.
    #[error("{action} {path}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The directory of a shard holds another plan.
    #[error(
        "{path} holds another plan than the one that is to be carried out: give another --name or --out"
    )]
    OtherPlan {
        /// The directory.
        path: PathBuf,
    },
    /// The plan cannot be written.
    #[error("the plan has no canonical bytes")]
    Plan(#[from] CanonicalError),
}

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir(PathBuf);

impl RunDir {
    /// Makes `<parent>/<name>-<start>-<first 4 digits of the plan's digest>` and writes the plan
    /// into it.
    ///
    /// # Errors
    /// When the directory exists or cannot be made.
    pub fn create(parent: &Path, plan: &Plan, start: Timestamp) -> Result<Self, RunDirError> {
        let digest = Digest::of_value(plan)?;
        let io_error = |path: &Path| {
            let path = path.to_owned();
            move |source| RunDirError::Io { action: "cannot make", path, source }
        };
        fs::create_dir_all(parent).map_err(io_error(parent))?;
        let name = format!("{}-{}-{}", plan.name, start.compact(), digest.prefix(4));
        let path = parent.join(name);
        DirBuilder::new().mode(0o755).create(&path).map_err(io_error(&path))?;
        sync_entry(&path).map_err(io_error(&path))?;
        let dir = Self(path);
        write_new(&dir.plan(), &file_bytes(plan, Layout::Sorted)?, 0o600)?;
        Ok(dir)
    }

    /// The directory of a shard, `<parent>/<name>-<12 digits of the plan's digest>-shard-<number>-of-<of>`,
    /// which whoever carries out the shard once more finds again. It is made where it is not there yet.
    ///
    /// # Errors
    /// When it holds another plan, or cannot be made.
    pub fn of_shard(parent: &Path, plan: &Plan, shard: Shard) -> Result<Self, RunDirError> {
        let dir = Self(parent.join(Self::name_of_shard(plan, shard)?));
        let io_error =
            |source| RunDirError::Io { action: "cannot make", path: dir.path().to_owned(), source };
        fs::create_dir_all(parent).map_err(io_error)?;
        match DirBuilder::new().mode(0o755).create(dir.path()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(io_error(error));
            }
            _ => sync_entry(dir.path()).map_err(io_error)?,
        }
        let bytes = file_bytes(plan, Layout::Sorted)?;
        // Whoever was here before may have come no further than to the directory.
        if !dir.plan().exists() {
            match write_new(&dir.plan(), &bytes, 0o600) {
                Err(RunDirError::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists => {}
                written => written?,
            }
        }
        match read_file(&dir.plan())? == bytes {
            true => Ok(dir),
            false => Err(RunDirError::OtherPlan { path: dir.path().to_owned() }),
        }
    }

    /// What the directory of a shard is called.
    ///
    /// # Errors
    /// When the plan has no digest.
    pub fn name_of_shard(plan: &Plan, shard: Shard) -> Result<String, CanonicalError> {
        let digest = Digest::of_value(plan)?;
        let (name, digest) = (&plan.name, digest.prefix(12));
        Ok(format!("{name}-{digest}-shard-{}-of-{}", shard.number(), shard.of()))
    }

    /// An existing directory.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `plan.json`.
    #[must_use]
    pub fn plan(&self) -> PathBuf {
        self.0.join("plan.json")
    }

    /// `observations.jsonl`.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.0.join("observations.jsonl")
    }

    /// `shards.json`, where the shards lie that a run was merged from, private.
    #[must_use]
    pub fn shards(&self) -> PathBuf {
        self.0.join("shards.json")
    }

    /// `grades.json`, the receipts of graders.
    #[must_use]
    pub fn grades(&self) -> PathBuf {
        self.0.join("grades.json")
    }

    /// `receipts.jsonl`, what the graders have said so far, private.
    #[must_use]
    pub fn receipts(&self) -> PathBuf {
        self.0.join("receipts.jsonl")
    }

    /// `answers.jsonl`, private.
    #[must_use]
    pub fn answers(&self) -> PathBuf {
        self.0.join("answers.jsonl")
    }

    /// `server-metrics.jsonl`, private.
    #[must_use]
    pub fn server_metrics(&self) -> PathBuf {
        self.0.join("server-metrics.jsonl")
    }

    /// `capture/`, the folder of private captures.
    #[must_use]
    pub fn captures(&self) -> PathBuf {
        self.0.join("capture")
    }

    /// `cases.jsonl`, beside a record that does not hold its cases.
    #[must_use]
    pub fn cases(&self) -> PathBuf {
        self.0.join("cases.jsonl")
    }

    /// `record.json`.
    #[must_use]
    pub fn record(&self) -> PathBuf {
        self.0.join("record.json")
    }

    /// `report.html`, the page made of them.
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.0.join("report.html")
    }
}

/// Makes a folder that only its owner can enter.
///
/// # Errors
/// When it exists or cannot be made.
pub fn make_private_folder(path: &Path) -> Result<(), RunDirError> {
    DirBuilder::new().mode(0o700).create(path).map_err(|source| RunDirError::Io {
        action: "cannot make",
        path: path.into(),
        source,
    })
}

/// Writes a file that only its owner can read and that must not exist.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Longest file that [`read_file`] reads: more than the cases of ten million requests take.
const MOST_BYTES: u64 = 4 << 30;

/// Reads a whole file of at most 4 GiB.
///
/// # Errors
/// When it is missing, cannot be read, is no regular file, or is longer.
pub fn read_file(path: &Path) -> Result<Vec<u8>, RunDirError> {
    read_regular(path, MOST_BYTES).map_err(|source| RunDirError::Io {
        action: "cannot read",
        path: path.into(),
        source,
    })
}
