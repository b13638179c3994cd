//! The journal's file: each line in one write as its request ends, and reading it back.

use std::collections::{HashSet, VecDeque};
use std::fs::OpenOptions;
use std::io::BufRead;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use streamgauge_schema::{
    Completion, EndReason, JournalBegun, JournalHeader, JournalLine, JournalResumed,
    JournalTrailer, RequestLine, Stage,
};

use crate::error::JournalError;
use crate::lines::{Appender, Lines, is_without_lines};
use crate::lock::{RunLock, lock_to_write};

/// Writes a journal, and holds its directory: nobody else adds to it meanwhile.
///
/// A line is in the file, though perhaps not yet on the disk, when [`Self::append`] returns: it
/// survives the end of this process at any moment. Once a second what was written is forced to the
/// disk.
#[derive(Debug)]
pub struct JournalWriter(Appender);

impl JournalWriter {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// When it exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        let lines = Appender::create(path)?;
        lock_to_write(lines.file(), lines.path())?;
        Ok(Self(lines))
    }

    /// Begins the file, which may be there: `None` when it holds a line, so that its run has to be taken
    /// up instead. A first line that was cut off is none.
    ///
    /// # Errors
    /// When a run is still going there, or the file cannot be made.
    pub fn begin(path: &Path) -> Result<Option<Self>, JournalError> {
        let io_error =
            |source| JournalError::Io { action: "cannot begin", path: path.to_owned(), source };
        let file = OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(path);
        let file = file.map_err(io_error)?;
        lock_to_write(&file, path)?;
        if !is_without_lines(&file).map_err(io_error)? {
            return Ok(None);
        }
        Ok(Some(Self(Appender::add_to_open(file, path)?)))
    }

    /// Adds to a journal whose lock is held.
    pub(crate) fn add_to(lines: Appender) -> Self {
        Self(lines)
    }

    /// Appends one line in one write.
    ///
    /// # Errors
    /// When the file does not take the whole line, or when earlier ones could not be forced to the
    /// disk.
    pub fn append(&mut self, line: &JournalLine) -> Result<(), JournalError> {
        self.0.append(line)
    }

    /// Forces everything to the disk. The directory is still held, for whatever else belongs to the
    /// run.
    ///
    /// # Errors
    /// When the disk does not take it, or the file was removed.
    pub fn finish(self) -> Result<RunLock, JournalError> {
        self.0.finish().map(RunLock::held)
    }
}

/// A journal that is read line by line, so that its length does not matter.
///
/// A last line without its line feed was being written when the run was cut off: it is dropped and
/// counted. Where a run was taken up again, lines whose requests were asked again are passed over.
#[derive(Debug)]
pub struct JournalReader<R> {
    lines: Lines<R>,
    header: JournalHeader,
    requests: u64,
    trailer: Option<JournalTrailer>,
    resumptions: Vec<JournalResumed>,
    begun: Option<JournalBegun>,
    /// Measured requests that were cancelled: they count unless the run is taken up again.
    cancelled: VecDeque<RequestLine>,
}

impl<R: BufRead> JournalReader<R> {
    /// Reads the header; `path` is for errors.
    ///
    /// # Errors
    /// When the source cannot be read, or does not begin with a header.
    pub fn new(source: R, path: &Path) -> Result<Self, JournalError> {
        let mut lines = Lines::new(source, path);
        match lines.next()? {
            Some(JournalLine::Header(header)) => Ok(Self {
                lines,
                header,
                requests: 0,
                trailer: None,
                resumptions: Vec::new(),
                begun: None,
                cancelled: VecDeque::new(),
            }),
            _ => Err(lines.out_of_order("the header is missing")),
        }
    }

    /// How the journal begins.
    pub fn header(&self) -> &JournalHeader {
        &self.header
    }

    /// The next request that counts, in the order in which they ended, those last that were cancelled
    /// when the run ended; `None` at the end of the journal.
    ///
    /// # Errors
    /// When the source cannot be read, or a line is broken or out of place. Whether a request stands
    /// twice is not looked for.
    pub fn next_request(&mut self) -> Result<Option<RequestLine>, JournalError> {
        while let Some(line) = self.lines.next()? {
            match line {
                JournalLine::Resumed(resumed) => self.take_up(resumed)?,
                _ if self.trailer.is_some() => {
                    return Err(self.lines.out_of_order("a line after the trailer"));
                }
                JournalLine::Header(_) => return Err(self.lines.out_of_order("a second header")),
                JournalLine::Begun(_) if self.begun.is_some() => {
                    return Err(self.lines.out_of_order("the run begins a second time"));
                }
                JournalLine::Begun(begun) => self.begun = Some(begun),
                JournalLine::Request(request) => {
                    self.requests += 1;
                    if !can_be_asked_again(&request) {
                        return Ok(Some(*request));
                    }
                    self.cancelled.push_back(*request);
                }
                JournalLine::Trailer(found) if found.lines != self.requests => {
                    let (count, announced) = (self.requests, found.lines);
                    let problem = format!("{count} request lines, the trailer says {announced}");
                    return Err(self.lines.out_of_order(&problem));
                }
                JournalLine::Trailer(found) => self.trailer = Some(found),
            }
        }
        Ok(self.cancelled.pop_front())
    }

    fn take_up(&mut self, resumed: JournalResumed) -> Result<(), JournalError> {
        let ended = self.trailer.take().map(|trailer| trailer.reason);
        if ended == Some(EndReason::Finished) {
            return Err(self.lines.out_of_order("a run that had finished is taken up again"));
        }
        let cancelled = self.cancelled.len() as u64;
        if resumed.dropped != cancelled {
            let announced = resumed.dropped;
            let problem = format!("{cancelled} requests were cancelled, dropped is {announced}");
            return Err(self.lines.out_of_order(&problem));
        }
        self.cancelled.clear();
        self.resumptions.push(resumed);
        Ok(())
    }

    /// Request lines so far, those that count no more among them.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Where the run was taken up again, once [`Self::next_request`] gave `None`.
    pub fn resumptions(&self) -> &[JournalResumed] {
        &self.resumptions
    }

    /// How the measured part began, once [`Self::next_request`] gave `None`; `None` where the journal does
    /// not say.
    pub fn begun(&self) -> Option<&JournalBegun> {
        self.begun.as_ref()
    }

    /// How the journal ends, once [`Self::next_request`] gave `None`; `None` when the run was cut
    /// off.
    pub fn trailer(&self) -> Option<&JournalTrailer> {
        self.trailer.as_ref()
    }

    /// Bytes of a torn last line, once [`Self::next_request`] gave `None`.
    pub fn torn_bytes(&self) -> usize {
        self.lines.torn_bytes()
    }
}

/// A journal as it was read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// How it begins.
    pub header: JournalHeader,
    /// The requests that count, in the order in which they ended.
    pub requests: Vec<RequestLine>,
    /// Where the run was taken up again.
    pub resumptions: Vec<JournalResumed>,
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
            // Each time that a run is taken up its warm-up is done again.
            let warmup = (request.stage == Stage::Warmup).then_some(reader.resumptions.len());
            if !seen.insert((warmup, request.index)) {
                return Err(reader.lines.out_of_order(&doubled(&request)));
            }
            requests.push(request);
        }
        let JournalReader { lines, header, resumptions, trailer, .. } = reader;
        Ok(Self { header, requests, resumptions, trailer, torn_bytes: lines.torn_bytes() })
    }
}

/// Whether a request is asked again when its run is taken up: it was cancelled when that ended.
pub(crate) fn can_be_asked_again(request: &RequestLine) -> bool {
    request.stage == Stage::Measured && request.completion == Completion::Cancelled
}

fn doubled(request: &RequestLine) -> String {
    let stage = match request.stage {
        Stage::Measured => "measured",
        Stage::Warmup => "warm-up",
    };
    format!("{stage} request {} stands here twice", request.index)
}
