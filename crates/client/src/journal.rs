//! The journal's file: each line in one write as its request ends, and reading it back.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use streamgauge_schema::{
    JournalHeader, JournalLine, JournalTrailer, RequestLine, Stage, read_typed,
};

use crate::error::JournalError;

/// How often what was written is forced to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Writes a journal. A line is in the file, though perhaps not yet on the disk, when
/// [`Self::append`] returns: it survives the end of this process at any moment.
#[derive(Debug)]
pub struct JournalWriter {
    path: PathBuf,
    file: File,
    line: Vec<u8>,
    syncer: Option<Syncer>,
}

#[derive(Debug)]
struct Syncer {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl JournalWriter {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// When it exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        let io_error =
            |source| JournalError::Io { action: "cannot create", path: path.into(), source };
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(io_error)?;
        let syncer = Syncer::start(file.try_clone().map_err(io_error)?).map_err(io_error)?;
        Ok(Self { path: path.into(), file, line: Vec::new(), syncer: Some(syncer) })
    }

    /// Appends one line in one write.
    ///
    /// # Errors
    /// When the file does not take the whole line.
    pub fn append(&mut self, line: &JournalLine) -> Result<(), JournalError> {
        self.write(line).map_err(|source| JournalError::Io {
            action: "cannot write to",
            path: self.path.clone(),
            source,
        })
    }

    fn write(&mut self, line: &JournalLine) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        let written = self.file.write(&self.line)?;
        if written < self.line.len() {
            return Err(io::Error::new(io::ErrorKind::WriteZero, "the line was cut (disk full?)"));
        }
        Ok(())
    }

    /// Forces everything to the disk.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn finish(mut self) -> Result<(), JournalError> {
        let synced = match self.syncer.take() {
            Some(syncer) => syncer.stop(),
            None => Ok(()),
        };
        synced.and_then(|()| self.file.sync_all()).map_err(|source| JournalError::Io {
            action: "cannot force to the disk",
            path: self.path.clone(),
            source,
        })
    }
}

impl Syncer {
    fn start(file: File) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread =
            std::thread::Builder::new().name("journal-sync".to_owned()).spawn(move || {
                while stopped.recv_timeout(SYNC_EVERY) == Err(RecvTimeoutError::Timeout) {
                    file.sync_data()?;
                }
                Ok(())
            })?;
        Ok(Self { stop, thread })
    }

    fn stop(self) -> io::Result<()> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the syncing thread died")))
    }
}

/// A journal as it was read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// How it begins.
    pub header: JournalHeader,
    /// The requests in the order in which they ended.
    pub requests: Vec<RequestLine>,
    /// How it ends; `None` when the run was cut off.
    pub trailer: Option<JournalTrailer>,
    /// Bytes of a torn last line, which were dropped.
    pub torn_bytes: usize,
}

impl Journal {
    /// Reads a journal from its bytes; `path` is for errors. A last line without its line feed
    /// was being written when the run was cut off: it is dropped and counted.
    ///
    /// # Errors
    /// When a line is broken, doubled or out of place.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, JournalError> {
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let order = |line, problem: &str| JournalError::Order {
            path: path.into(),
            line,
            problem: problem.to_owned(),
        };
        let mut header = None;
        let mut requests: Vec<RequestLine> = Vec::new();
        let mut trailer = None;
        let mut seen = std::collections::HashSet::new();
        for (number, text) in (1..).zip(bytes[..whole].split_inclusive(|&b| b == b'\n')) {
            if trailer.is_some() {
                return Err(order(number, "a line after the trailer"));
            }
            let line = read_typed(text).map_err(|source| JournalError::Line {
                path: path.into(),
                line: number,
                source,
            })?;
            match line {
                JournalLine::Header(_) if number > 1 => {
                    return Err(order(number, "a second header"));
                }
                JournalLine::Header(found) => header = Some(found),
                _ if header.is_none() => return Err(order(number, "the header is missing")),
                JournalLine::Request(request) => {
                    if !seen.insert((request.stage, request.index)) {
                        return Err(order(number, &doubled(&request)));
                    }
                    requests.push(*request);
                }
                JournalLine::Trailer(found) if found.lines != requests.len() as u64 => {
                    let count = requests.len();
                    let problem =
                        format!("{count} request lines, the trailer says {}", found.lines);
                    return Err(order(number, &problem));
                }
                JournalLine::Trailer(found) => trailer = Some(found),
            }
        }
        let header = header.ok_or_else(|| order(1, "the header is missing"))?;
        Ok(Self { header, requests, trailer, torn_bytes: bytes.len() - whole })
    }
}

fn doubled(request: &RequestLine) -> String {
    let stage = match request.stage {
        Stage::Measured => "measured",
        Stage::Warmup => "warm-up",
    };
    format!("{stage} request {} stands here twice", request.index)
}
