//! The file of answers that were kept, private as they are: written line by line as requests end.

use std::io::BufRead;
use std::path::Path;

use streamgauge_schema::AnswerLine;

use crate::error::JournalError;
use crate::lines::{Appender, Lines};

/// Writes kept answers. A line is in the file, though perhaps not yet on the disk, when
/// [`Self::append`] returns.
#[derive(Debug)]
pub struct AnswerWriter(Appender);

impl AnswerWriter {
    /// Creates the file, which must not exist, for its owner alone.
    ///
    /// # Errors
    /// When it exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        Appender::create(path).map(Self)
    }

    /// Appends one line in one write.
    ///
    /// # Errors
    /// When the file does not take the whole line.
    pub fn append(&mut self, line: &AnswerLine) -> Result<(), JournalError> {
        self.0.append(line)
    }

    /// Forces everything to the disk.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn finish(self) -> Result<(), JournalError> {
        self.0.finish().map(drop)
    }
}

/// Kept answers, read one by one. A last line that was being written when the run was cut off is left
/// out.
///
/// ```
/// use std::path::Path;
/// use streamgauge_client::AnswerReader;
/// let torn = b"{\"prompt_sha256\":\"";
/// let mut answers = AnswerReader::new(torn.as_slice(), Path::new("answers.jsonl"));
/// assert_eq!(answers.next_answer()?, None);
/// # Ok::<(), streamgauge_client::JournalError>(())
/// ```
#[derive(Debug)]
pub struct AnswerReader<R>(Lines<R>);

impl<R: BufRead> AnswerReader<R> {
    /// The answers of a source; `path` is for errors.
    pub fn new(source: R, path: &Path) -> Self {
        Self(Lines::new(source, path))
    }

    /// The next answer, in the order in which they ended; `None` at the end.
    ///
    /// # Errors
    /// When the source cannot be read, or a line is broken.
    pub fn next_answer(&mut self) -> Result<Option<AnswerLine>, JournalError> {
        self.0.next()
    }
}
