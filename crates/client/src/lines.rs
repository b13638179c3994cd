//! Files of JSON lines: each written at once as it comes, and read back without the one that was being
//! written when everything ended.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use streamgauge_schema::read_typed;

use crate::error::JournalError;
use crate::syncer::{Syncer, still_there, sync_entry};

/// Longest line that is read. Of an answer of a million events it has some ten megabytes.
const MOST_LINE_BYTES: u64 = 256 << 20;

/// A private file that lines are appended to. A line is in the file, though perhaps not yet on the
/// disk, when [`Self::append`] returns.
#[derive(Debug)]
pub(crate) struct Appender {
    path: PathBuf,
    file: File,
    line: Vec<u8>,
    /// `None` once it gave up.
    syncer: Option<Syncer>,
}

impl Appender {
    /// Creates the file, which must not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, JournalError> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path);
        Self::of(file, path, "cannot create")
    }

    /// Adds to a file behind its last whole line; a torn one is cut off. The file is made where it is not
    /// there.
    pub(crate) fn add_to(path: &Path) -> Result<Self, JournalError> {
        let file = OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(path);
        let file = file.and_then(|file| {
            let torn = torn_bytes(&file)?;
            if torn > 0 {
                file.set_len(file.metadata()?.len() - torn)?;
            }
            Ok(file)
        });
        Self::of(file, path, "cannot add to")
    }

    /// Adds to an open file that ends with a whole line.
    pub(crate) fn add_to_open(file: File, path: &Path) -> Result<Self, JournalError> {
        Self::of(Ok(file), path, "cannot add to")
    }

    fn of(file: io::Result<File>, path: &Path, action: &'static str) -> Result<Self, JournalError> {
        file.and_then(|file| {
            sync_entry(path)?;
            let syncer = Some(Syncer::start(file.try_clone()?)?);
            Ok(Self { path: path.into(), file, line: Vec::new(), syncer })
        })
        .map_err(|source| JournalError::Io { action, path: path.into(), source })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line in one write.
    pub(crate) fn append<T: Serialize>(&mut self, line: &T) -> Result<(), JournalError> {
        if let Some(failed) = self.syncer.take_if(|syncer| syncer.has_failed()) {
            self.stopped(failed)?;
        }
        self.write(line).map_err(|source| self.error("cannot write to", source))
    }

    fn write<T: Serialize>(&mut self, line: &T) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        let written = self.file.write(&self.line)?;
        if written < self.line.len() {
            self.take_back(written);
            return Err(io::Error::new(io::ErrorKind::WriteZero, "the line was cut (disk full?)"));
        }
        Ok(())
    }

    /// Cuts off the beginning of a line that the disk did not take. Where that fails the line is torn,
    /// which readers know.
    fn take_back(&self, written: usize) {
        let length = self.file.metadata().map(|known| known.len());
        let _ = length.and_then(|length| self.file.set_len(length - written as u64));
    }

    /// Forces everything to the disk, and gives the file back.
    pub(crate) fn finish(mut self) -> Result<File, JournalError> {
        if let Some(syncer) = self.syncer.take() {
            self.stopped(syncer)?;
        }
        let forced = self.file.sync_all().and_then(|()| still_there(&self.file));
        forced.map_err(|source| self.error("cannot force to the disk", source))?;
        Ok(self.file)
    }

    fn stopped(&self, syncer: Syncer) -> Result<(), JournalError> {
        syncer.stop().map_err(|source| self.error("cannot force to the disk", source))
    }

    fn error(&self, action: &'static str, source: io::Error) -> JournalError {
        JournalError::Io { action, path: self.path.clone(), source }
    }
}

/// Whether a file holds no whole line; what there is of one is cut off then.
pub(crate) fn is_without_lines(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let has_none = torn_bytes(file)? == length;
    if has_none && length > 0 {
        file.set_len(0)?;
    }
    Ok(has_none)
}

/// Bytes of a last line without its line feed.
fn torn_bytes(file: &File) -> io::Result<u64> {
    const PIECE: u64 = 1 << 16;
    let length = file.metadata()?.len();
    let mut piece = Vec::new();
    let mut end = length;
    while end > 0 {
        let from = end.saturating_sub(PIECE);
        piece.resize((end - from) as usize, 0);
        file.read_exact_at(&mut piece, from)?;
        if let Some(last) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(length - (from + last as u64 + 1));
        }
        end = from;
    }
    Ok(length)
}

/// Lines as they are read back.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    path: PathBuf,
    line: Vec<u8>,
    /// Lines that were read.
    count: usize,
    torn_bytes: usize,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a source; `path` is for errors.
    pub(crate) fn new(source: R, path: &Path) -> Self {
        Self { source, path: path.into(), line: Vec::new(), count: 0, torn_bytes: 0 }
    }

    /// The next line; `None` at the end, and for a last line without its line feed.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, JournalError> {
        self.line.clear();
        let mut source = self.source.by_ref().take(MOST_LINE_BYTES);
        source.read_until(b'\n', &mut self.line).map_err(|source| JournalError::Io {
            action: "cannot read",
            path: self.path.clone(),
            source,
        })?;
        if self.line.len() as u64 == MOST_LINE_BYTES && !self.line.ends_with(b"\n") {
            self.count += 1;
            return Err(self.out_of_order("the line is longer than any that is written"));
        }
        if !self.line.ends_with(b"\n") {
            self.torn_bytes = self.line.len();
            return Ok(None);
        }
        self.count += 1;
        read_typed(&self.line).map(Some).map_err(|source| JournalError::Line {
            path: self.path.clone(),
            line: self.count,
            source,
        })
    }

    /// Bytes of a torn last line, once it was reached.
    pub(crate) fn torn_bytes(&self) -> usize {
        self.torn_bytes
    }

    /// What is wrong with the last line that was read, or with the first where there is none.
    pub(crate) fn out_of_order(&self, problem: &str) -> JournalError {
        let (path, line) = (self.path.clone(), self.count.max(1));
        JournalError::Order { path, line, problem: problem.to_owned() }
    }
}
