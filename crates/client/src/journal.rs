//! The journal's file: each line in one write as its request ends, and reading it back.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
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

/// Longest line that is read. Of an answer of a million events it has some ten megabytes.
const MOST_LINE_BYTES: u64 = 256 << 20;

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

/// A journal that is read line by line, so that its length does not matter.
///
/// A last line without its line feed was being written when the run was cut off: it is dropped and
/// counted.
#[derive(Debug)]
pub struct JournalReader<R> {
    lines: Lines<R>,
    header: JournalHeader,
    requests: u64,
    trailer: Option<JournalTrailer>,
}

/// The lines of a journal, whatever their order.
#[derive(Debug)]
struct Lines<R> {
    source: R,
    path: PathBuf,
    line: Vec<u8>,
    /// Lines that were read.
    count: usize,
    torn_bytes: usize,
}

impl<R: BufRead> JournalReader<R> {
    /// Reads the header; `path` is for errors.
    ///
    /// # Errors
    /// When the source cannot be read, or does not begin with a header.
    pub fn new(source: R, path: &Path) -> Result<Self, JournalError> {
        let mut lines =
            Lines { source, path: path.into(), line: Vec::new(), count: 0, torn_bytes: 0 };
        match lines.next()? {
            Some(JournalLine::Header(header)) => {
                Ok(Self { lines, header, requests: 0, trailer: None })
            }
            _ => Err(lines.out_of_order("the header is missing")),
        }
    }

    /// How the journal begins.
    pub fn header(&self) -> &JournalHeader {
        &self.header
    }

    /// The next request, in the order in which they ended; `None` at the end of the journal.
    ///
    /// # Errors
    /// When the source cannot be read, or a line is broken or out of place. Whether a request stands
    /// twice is not looked for.
    pub fn next_request(&mut self) -> Result<Option<RequestLine>, JournalError> {
        while let Some(line) = self.lines.next()? {
            if self.trailer.is_some() {
                return Err(self.lines.out_of_order("a line after the trailer"));
            }
            match line {
                JournalLine::Header(_) => return Err(self.lines.out_of_order("a second header")),
                JournalLine::Request(request) => {
                    self.requests += 1;
                    return Ok(Some(*request));
                }
                JournalLine::Trailer(found) if found.lines != self.requests => {
                    let (count, announced) = (self.requests, found.lines);
                    let problem = format!("{count} request lines, the trailer says {announced}");
                    return Err(self.lines.out_of_order(&problem));
                }
                JournalLine::Trailer(found) => self.trailer = Some(found),
            }
        }
        Ok(None)
    }

    /// How the journal ends, once [`Self::next_request`] gave `None`; `None` when the run was cut
    /// off.
    pub fn trailer(&self) -> Option<&JournalTrailer> {
        self.trailer.as_ref()
    }

    /// Bytes of a torn last line, once [`Self::next_request`] gave `None`.
    pub fn torn_bytes(&self) -> usize {
        self.lines.torn_bytes
    }
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<JournalLine>, JournalError> {
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

    /// What is wrong with the last line that was read, or with the first where there is none.
    fn out_of_order(&self, problem: &str) -> JournalError {
        let (path, line) = (self.path.clone(), self.count.max(1));
        JournalError::Order { path, line, problem: problem.to_owned() }
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
    /// Reads a whole journal from its bytes; `path` is for errors.
    ///
    /// # Errors
    /// When a line is broken, doubled or out of place.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, JournalError> {
        let mut reader = JournalReader::new(bytes, path)?;
        let mut requests = Vec::new();
        let mut seen = HashSet::new();
        while let Some(request) = reader.next_request()? {
            if !seen.insert((request.stage, request.index)) {
                return Err(reader.lines.out_of_order(&doubled(&request)));
            }
            requests.push(request);
        }
        let JournalReader { lines, header, trailer, .. } = reader;
        Ok(Self { header, requests, trailer, torn_bytes: lines.torn_bytes })
    }
}

fn doubled(request: &RequestLine) -> String {
    let stage = match request.stage {
        Stage::Measured => "measured",
        Stage::Warmup => "warm-up",
    };
    format!("{stage} request {} stands here twice", request.index)
}
