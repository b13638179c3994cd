//! The files of answers and of their receipts, private as they are: written line by line as requests
//! end.

use std::io::BufRead;
use std::marker::PhantomData;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use streamgauge_schema::{AnswerLine, Grade};

use crate::error::JournalError;
use crate::lines::{Appender, Lines};

/// Writes kept answers.
pub type AnswerWriter = LineWriter<AnswerLine>;
/// Writes the receipts of graders.
pub type ReceiptWriter = LineWriter<Grade>;
/// Kept answers, read one by one, in the order in which they ended.
pub type AnswerReader<R> = LineReader<R, AnswerLine>;
/// The receipts of graders, read one by one, in the order in which the answers ended.
pub type ReceiptReader<R> = LineReader<R, Grade>;

/// Writes a private file of lines. A line is in the file, though perhaps not yet on the disk, when
/// [`Self::append`] returns; once a second what was written is forced to the disk.
#[derive(Debug)]
pub struct LineWriter<T>(Appender, PhantomData<fn(T)>);

impl<T: Serialize> LineWriter<T> {
    /// Creates the file, which must not exist, for its owner alone.
    ///
    /// # Errors
    /// When it exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        Ok(Self(Appender::create(path)?, PhantomData))
    }

    /// Adds to the file behind its last whole line; one that was cut off goes. Where there is no file it
    /// is created.
    ///
    /// # Errors
    /// When it cannot be opened, or cut.
    pub fn add_to(path: &Path) -> Result<Self, JournalError> {
        Ok(Self(Appender::add_to(path)?, PhantomData))
    }

    /// Appends one line in one write.
    ///
    /// # Errors
    /// When the file does not take the whole line.
    pub fn append(&mut self, line: &T) -> Result<(), JournalError> {
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

/// A file of lines, read one by one. A last line that was being written when the run was cut off is left
/// out. Of a request that was asked again when its run was taken up, the last line counts.
///
/// ```
/// use std::path::Path;
/// use streamgauge_client::AnswerReader;
/// let torn = b"{\"prompt_sha256\":\"";
/// let mut answers = AnswerReader::new(torn.as_slice(), Path::new("answers.jsonl"));
/// assert_eq!(answers.next_line()?, None);
/// # Ok::<(), streamgauge_client::JournalError>(())
/// ```
#[derive(Debug)]
pub struct LineReader<R, T>(Lines<R>, PhantomData<fn() -> T>);

impl<R: BufRead, T: DeserializeOwned> LineReader<R, T> {
    /// The lines of a source; `path` is for errors.
    pub fn new(source: R, path: &Path) -> Self {
        Self(Lines::new(source, path), PhantomData)
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// When the source cannot be read, or a line is broken.
    pub fn next_line(&mut self) -> Result<Option<T>, JournalError> {
        self.0.next()
    }
}
