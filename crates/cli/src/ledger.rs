//! The ledger of decisions on disk: locked while it is read and written, so that of two who decide at
//! once one follows the other, and appended to with one write.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_metrics::{LedgerVerification, verify_ledger};
use streamgauge_schema::{LedgerLine, PublicText};

use crate::console;
use crate::input::read_document;

/// What a ledger is called where nobody says otherwise.
pub(crate) const LEDGER: &str = "decisions.jsonl";

/// An open ledger that nobody else writes to.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    file: File,
    /// Its length.
    bytes: u64,
    lines: LedgerVerification,
}

/// A ledger that cannot be added to, as it does not hold.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LedgerBroken(String);

impl Ledger {
    /// Opens a ledger, or makes an empty one, waits until nobody else writes to it, and checks it.
    /// The lock is released when the ledger is dropped.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = || format!("cannot open the ledger {}", path.display());
        // A pipe would wait for its other end.
        if path.exists() && !path.is_file() {
            bail!("{}: it is no regular file", shown());
        }
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o644).open(path);
        let file = file.with_context(shown)?;
        lock(&file).with_context(shown)?;
        let bytes = read_document(path)?;
        let lines = verify_ledger(&bytes);
        if let Some(problem) = problem(path, &bytes, &lines) {
            return Err(LedgerBroken(problem).into());
        }
        Ok(Self { path: path.to_owned(), file, bytes: bytes.len() as u64, lines })
    }

    /// The lines, in their order.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = &LedgerLine> {
        self.lines.lines.iter().flatten()
    }

    /// Adds a line, and forces it to the disk. A ledger that cannot hold all of it is left as it was.
    pub(crate) fn append(&mut self, line: &LedgerLine) -> anyhow::Result<()> {
        let bytes = line.file_bytes()?;
        let written = match self.file.write(&bytes) {
            Ok(count) if count == bytes.len() => self.file.sync_all(),
            Ok(count) => {
                let text = format!("only {count} of {} bytes were written", bytes.len());
                Err(io::Error::new(io::ErrorKind::WriteZero, text))
            }
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            // What was written of it would be a torn line.
            self.file.set_len(self.bytes).ok();
            let path = self.path.display();
            return Err(error).with_context(|| format!("cannot write to the ledger {path}"));
        }
        Ok(())
    }
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            console::remark("another decision is being written; waiting for it");
            file.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}

/// Why a ledger cannot be added to, and what to do.
fn problem(path: &Path, bytes: &[u8], lines: &LedgerVerification) -> Option<String> {
    let path = path.display();
    let fault = lines.faults.first()?;
    if lines.torn_bytes == 0 || lines.faults.len() > 1 {
        return Some(format!(
            "{path} line {}: {}: {}; nothing is added to a ledger that does not hold, and \
             `streamgauge verify {path}` tells all",
            fault.line, fault.rule, fault.statement
        ));
    }
    if verify_ledger(&[bytes, b"\n"].concat()).faults.is_empty() {
        return Some(format!(
            "{path} line {}: only its line feed is missing, as editors leave it; add it with `echo >> \
             {path}`, and decide again",
            fault.line
        ));
    }
    Some(format!(
        "{path} line {}: the line was cut off after {} bytes while it was written. Keep a copy, see \
         whether the decision that it begins to list is there, remove the line with `truncate -s {} \
         {path}`, and decide again",
        fault.line,
        lines.torn_bytes,
        bytes.len() - lines.torn_bytes
    ))
}

/// The name of a file, which must be fit to be published.
pub(crate) fn published_name(path: &Path) -> anyhow::Result<PublicText> {
    let Some(name) = path.file_name() else { bail!("{} names no file", path.display()) };
    let name = name.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    PublicText::new(name)
        .with_context(|| format!("the name of {} may not be published", path.display()))
}
