//! Captures: the raw bytes of one response with their arrival times, to be observed again.
//!
//! A capture is a file that can be written as the bytes come and read as far as it goes:
//!
//! ```text
//! {"capture_version":1,"dialect":"openai-chat","status":200,…}     head, one JSON object
//! read 51800 214                                                    arrival (µs), length
//! …214 bytes as they came, HTTP framing taken off…
//! read 62010 97
//! …
//! end 62010 clean                                                   arrival (µs), how
//! ```
//!
//! What was sent in secret and came back is made unreadable, byte for byte, so that everything else stays
//! in its place.
//!
//! Each line ends with a line feed, and so does each block of bytes. Arrivals count from the moment
//! before the first byte of the request was written. Without an `end` line the capture was cut off.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use streamgauge_observer::{Observed, Observer, ObserverConfig, Progress};
use streamgauge_schema::{Dialect, End, Head, ReadError, read_typed};

use crate::clock::micros;
use crate::replay::SavedRead;
use crate::secret::Redactor;

/// Version of the format that is written.
const VERSION: u32 = 1;
/// How every capture begins.
const BEGINNING: &[u8] = b"{\"capture_version\":";

/// One response as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The API that was asked.
    pub dialect: Dialect,
    /// The head of the response.
    pub head: Head,
    /// The bytes of the body, by read.
    pub reads: Vec<SavedRead>,
    /// When and how the body ended; `None` when the capture was cut off.
    pub end: Option<(Duration, End)>,
}

/// A file that is no capture.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The first line is not the head of a capture.
    #[error("the first line is no head of a capture")]
    Head(#[source] ReadError),
    /// A capture of another version.
    #[error("capture version {found} is not {VERSION}, the one that is read here")]
    Version {
        /// The version.
        found: u32,
    },
    /// A line that is neither `read` nor `end`.
    #[error("byte {offset}: {line:?} is no line of a capture")]
    Line {
        /// Where it begins.
        offset: usize,
        /// Its beginning.
        line: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadLine {
    capture_version: u32,
    dialect: Dialect,
    status: u16,
    content_type: Option<String>,
    content_encoding: Option<String>,
    retry_after: Option<String>,
    date: Option<String>,
}

/// Collects a capture while its response is read.
#[derive(Clone, Debug)]
pub(crate) struct CaptureWriter {
    dialect: Dialect,
    redactor: Redactor,
    head: Head,
    /// All bytes of the body, and when so many of them had arrived.
    body: Vec<u8>,
    reads: Vec<(Duration, usize)>,
}

impl CaptureWriter {
    /// A writer that makes what the redactor finds unreadable. Everything else stays as it came, and in
    /// its place.
    pub(crate) fn new(dialect: Dialect, redactor: Redactor) -> Self {
        let (head, body, reads) = (Head::default(), Vec::new(), Vec::new());
        Self { dialect, redactor, head, body, reads }
    }

    pub(crate) fn head(&mut self, head: &Head) {
        self.head = head.clone();
    }

    pub(crate) fn read(&mut self, bytes: &[u8], at: Duration) {
        self.body.extend_from_slice(bytes);
        self.reads.push((at, bytes.len()));
    }

    /// Bytes of memory that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.body.capacity() + self.reads.capacity() * size_of::<(Duration, usize)>()
    }

    /// The bytes of the file.
    pub(crate) fn finish(self, end: End, at: Duration) -> Vec<u8> {
        let Self { dialect, redactor, head, mut body, reads } = self;
        let masked = |text: Option<String>| {
            text.map(|mut text| {
                redactor.mask_text(&mut text);
                text
            })
        };
        let line = HeadLine {
            capture_version: VERSION,
            dialect,
            status: head.status,
            content_type: masked(head.content_type),
            content_encoding: masked(head.content_encoding),
            retry_after: masked(head.retry_after),
            date: masked(head.date),
        };
        // As a whole: a secret may be torn over two reads.
        redactor.mask(&mut body);
        let mut file = serde_json::to_vec(&line).expect("texts and numbers are JSON");
        file.push(b'\n');
        let mut rest = &body[..];
        for (at, length) in reads {
            let (block, others) = rest.split_at(length);
            file.extend(format!("read {} {length}\n", micros(at)).bytes());
            file.extend_from_slice(block);
            file.push(b'\n');
            rest = others;
        }
        let how = match end {
            End::Clean => "clean",
            End::Incomplete => "incomplete",
            End::Reset => "reset",
            End::Timeout => "timeout",
        };
        file.extend(format!("end {} {how}\n", micros(at)).bytes());
        file
    }
}

impl Capture {
    /// Whether bytes begin as a capture does.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(BEGINNING)
    }

    /// Reads a capture. One that was cut off is read as far as it goes; the last block of bytes may
    /// then be short.
    ///
    /// ```
    /// use streamgauge_client::Capture;
    /// let file = b"{\"capture_version\":1,\"dialect\":\"openai-chat\",\"status\":200,\
    ///     \"content_type\":null,\"content_encoding\":null,\"retry_after\":null,\"date\":null}\n\
    ///     read 1500 14\ndata: [DONE]\n\n\nend 1500 clean\n";
    /// let capture = Capture::parse(file)?;
    /// assert_eq!(capture.reads[0].bytes, b"data: [DONE]\n\n");
    /// # Ok::<(), streamgauge_client::CaptureError>(())
    /// ```
    ///
    /// # Errors
    /// When the head or a line between the blocks is none of a capture.
    pub fn parse(bytes: &[u8]) -> Result<Self, CaptureError> {
        let mut rest = Lines { bytes, offset: 0 };
        let head: HeadLine =
            read_typed(rest.line().unwrap_or(bytes)).map_err(CaptureError::Head)?;
        if head.capture_version != VERSION {
            return Err(CaptureError::Version { found: head.capture_version });
        }
        let mut capture = Self {
            dialect: head.dialect,
            head: Head {
                status: head.status,
                content_type: head.content_type,
                content_encoding: head.content_encoding,
                retry_after: head.retry_after,
                date: head.date,
            },
            reads: Vec::new(),
            end: None,
        };
        while capture.end.is_none() {
            let offset = rest.offset;
            let Some(line) = rest.line() else { break };
            match mark(line) {
                Some(Mark::Read(at, length)) => {
                    capture.reads.push(SavedRead { at, bytes: rest.block(length).to_vec() });
                }
                Some(Mark::End(at, end)) => capture.end = Some((at, end)),
                None => {
                    let line = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
                    return Err(CaptureError::Line { offset, line });
                }
            }
        }
        Ok(capture)
    }

    /// Observes the response again, by the limits and the dialect of `config`.
    #[must_use]
    pub fn observe(&self, config: ObserverConfig) -> Observed {
        let mut observer = Observer::new(config);
        observer.head(self.head.clone());
        let last = self.reads.last().map_or(Duration::ZERO, |read| read.at);
        for read in &self.reads {
            if observer.feed(&read.bytes, read.at) == Progress::Over {
                break;
            }
        }
        let (at, end) = self.end.unwrap_or((last, End::Incomplete));
        observer.finish(end, at)
    }
}

struct Lines<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Lines<'a> {
    /// The next whole line, without its line feed.
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.offset..];
        let length = rest.iter().position(|&b| b == b'\n')?;
        self.offset += length + 1;
        Some(&rest[..length])
    }

    /// The next `length` bytes, or fewer at the end, and the line feed behind them.
    fn block(&mut self, length: usize) -> &'a [u8] {
        let rest = &self.bytes[self.offset..];
        let block = &rest[..length.min(rest.len())];
        self.offset = (self.offset + block.len() + 1).min(self.bytes.len());
        block
    }
}

enum Mark {
    Read(Duration, usize),
    End(Duration, End),
}

fn mark(line: &[u8]) -> Option<Mark> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let [kind, at, last] = [words.next()?, words.next()?, words.next()?];
    let at = Duration::from_micros(at.parse().ok()?);
    let mark = match (kind, last) {
        ("read", length) => Mark::Read(at, length.parse().ok()?),
        ("end", "clean") => Mark::End(at, End::Clean),
        ("end", "incomplete") => Mark::End(at, End::Incomplete),
        ("end", "reset") => Mark::End(at, End::Reset),
        ("end", "timeout") => Mark::End(at, End::Timeout),
        _ => return None,
    };
    words.next().is_none().then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn written() -> Vec<u8> {
        let mut writer = CaptureWriter::new(Dialect::OpenaiChat, Redactor::default());
        writer
            .head(&Head { content_type: Some("text/event-stream".to_owned()), ..Head::default() });
        writer.read(
            b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            Duration::from_millis(3),
        );
        writer.read(b"data: [DONE]\n\n", Duration::from_micros(4_567));
        writer.finish(End::Clean, Duration::from_micros(4_567))
    }

    #[test]
    fn what_is_written_is_read_and_observed_again() {
        let bytes = written();
        assert!(Capture::is_one(&bytes));
        let capture = Capture::parse(&bytes).unwrap();
        assert_eq!(capture.end, Some((Duration::from_micros(4_567), End::Clean)));
        let observed = capture.observe(ObserverConfig::new(capture.dialect));
        assert_eq!(observed.observation.first_output_us, Some(3_000));
        assert_eq!(observed.observation.elapsed_us, 4_567);
        assert_eq!(observed.extraction.content_text.0, "a");
    }

    #[test]
    fn a_secret_that_comes_back_is_unreadable_and_nothing_moves() {
        // Digits, as they stand in the lines between the blocks, too.
        let redactor = Redactor::of(&["3000", "s3cret"].map(Secret::new));
        let mut writer = CaptureWriter::new(Dialect::OpenaiChat, redactor);
        writer.head(&Head { date: Some("s3cret".to_owned()), ..Head::default() });
        writer.read(b"data: s3c", Duration::from_millis(3));
        writer.read(b"ret 3000\n\n", Duration::from_millis(4));
        let capture = Capture::parse(&writer.finish(End::Clean, Duration::from_millis(5))).unwrap();
        assert_eq!(capture.head.date.as_deref(), Some("******"));
        let reads: Vec<&[u8]> = capture.reads.iter().map(|read| &read.bytes[..]).collect();
        assert_eq!(reads, [&b"data: ***"[..], b"*** ****\n\n"]);
        assert_eq!(capture.reads[0].at, Duration::from_millis(3));
    }

    #[test]
    fn a_cut_capture_is_read_as_far_as_it_goes() {
        let bytes = written();
        let head = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
        for length in head..bytes.len() {
            let capture = Capture::parse(&bytes[..length]).unwrap();
            assert_eq!(capture.end, None);
            assert!(capture.reads.len() <= 2);
        }
    }

    #[test]
    fn other_files_are_refused_with_their_place() {
        let head = &written()[..written().iter().position(|&b| b == b'\n').unwrap() + 1];
        for (after_head, expected) in [
            ("reed 1 2\n", "\"reed 1 2\" is no line of a capture"),
            ("read 1\n", "\"read 1\" is no line of a capture"),
            ("read 1 2 3\n", "\"read 1 2 3\" is no line of a capture"),
            ("read -1 2\n", "\"read -1 2\" is no line of a capture"),
            ("end 1 well\n", "\"end 1 well\" is no line of a capture"),
        ] {
            let bytes = [head, after_head.as_bytes()].concat();
            let error = Capture::parse(&bytes).unwrap_err().to_string();
            assert_eq!(error, format!("byte {}: {expected}", head.len()));
        }
        assert!(matches!(Capture::parse(b"data: x\n"), Err(CaptureError::Head(_))));
        let newer = String::from_utf8_lossy(head).replace("version\":1", "version\":2");
        assert_eq!(Capture::parse(newer.as_bytes()), Err(CaptureError::Version { found: 2 }));
    }
}
