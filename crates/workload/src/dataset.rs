//! A dataset: a file whose lines are requests, checked as a whole before anything is sent.
//!
//! Invariant: every line of a [`Dataset`] can be sent as it is. Ids are distinct, each line has
//! exactly one prompt, no member is unknown, and due times never decrease.

mod line;
mod sharegpt;
#[cfg(test)]
mod tests;
mod times;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use streamgauge_schema::{Digest, Expectation, Json, JsonPath, Position};

use crate::error::{DatasetError, MemberFault};
use line::LineFault;
pub(crate) use line::MEMBERS;
use times::Times;

/// The requests of a file.
///
/// Each line of the file is a JSON object:
///
/// | member | is |
/// | --- | --- |
/// | `id` | a name, distinct within the file |
/// | `prompt`, `messages` or `input_tokens` | a text, a list of messages, or how long a synthetic prompt is to be; one of them |
/// | `max_tokens` | tokens to stop after, instead of the plan's; may be left out |
/// | `expect` | what the answer is held against, an [`Expectation`]; may be left out |
/// | `at_ms` | when the request is due, in milliseconds from the beginning of the run; every line has it, or none |
///
/// The layout of ShareGPT is taken too: a JSON array, or lines, of objects with a list
/// `conversations` of turns with `from` and `value`. The first turn of a `human` (or `user`) is the
/// prompt. All other turns and members are left aside, answers and what a system says among them.
/// Conversations without such a turn, or with nothing in it, are [skipped](Self::skipped).
/// An `id` that is missing becomes `#` and the number of its element, from 1; one that another
/// element has already gets the same behind it.
///
/// ```
/// use streamgauge_workload::Dataset;
/// let file = b"{\"id\": \"a\", \"prompt\": \"Hello\"}\n\n{\"id\": \"b\", \"promt\": \"Hi\"}\n";
/// let error = Dataset::parse(file, "greetings.jsonl").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "greetings.jsonl: line 3 column 22: promt: unknown member; did you mean \"prompt\"?",
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    file_name: String,
    digest: Digest,
    lines: Vec<DatasetLine>,
    due_us: Option<Arc<[u64]>>,
    skipped: u64,
}

/// One request of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetLine {
    /// The dataset's own name for it, distinct within the file.
    pub id: String,
    /// Its line in the file, or its element in an array, from 1.
    pub line: usize,
    /// What is asked.
    pub prompt: Prompt,
    /// Tokens to stop after, instead of the plan's.
    pub max_tokens: Option<u64>,
    /// What the answer is held against.
    pub expect: Option<Expectation>,
}

/// What a request asks a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompt {
    /// A list of messages, sent exactly as it was written: each an object with a text `role` and a
    /// `content`, other members included.
    Messages(Json),
    /// Any prompt of this length: seeded words, others for each line.
    Synthetic {
        /// Tokens that the prompt is meant to have.
        input_tokens: u64,
    },
    /// A text.
    Text(String),
}

impl Dataset {
    /// Reads the bytes of a file. Blank lines and a leading byte order mark are skipped;
    /// `file_name` is what errors call the file.
    ///
    /// # Errors
    /// Names the first line that is no request, with its place, the member, the value and the rule.
    pub fn parse(bytes: &[u8], file_name: &str) -> Result<Self, DatasetError> {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = Reader::default();
        if text.trim_ascii_start().starts_with(b"[") {
            sharegpt::read_array(text, file_name, &mut reader)?;
        } else {
            read_lines(text, file_name, &mut reader)?;
        }
        if reader.lines.is_empty() {
            return Err(DatasetError::Empty { file: file_name.to_owned() });
        }
        Ok(Self {
            file_name: file_name.to_owned(),
            digest: Digest::of(bytes),
            lines: reader.lines,
            due_us: reader.times.finish(),
            skipped: reader.skipped,
        })
    }

    /// The file as it was named.
    #[must_use]
    pub fn file_name(&self) -> &str {
        &self.file_name
    }

    /// The digest of the file's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The lines that hold a request, at least one, in the file's order.
    #[must_use]
    pub fn lines(&self) -> &[DatasetLine] {
        &self.lines
    }

    /// When each line is due, in microseconds from the beginning of the run; `None` when the file
    /// is no trace.
    #[must_use]
    pub fn due_us(&self) -> Option<Arc<[u64]>> {
        self.due_us.clone()
    }

    /// Conversations of a ShareGPT layout that hold no prompt.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}

/// What has been read so far.
#[derive(Debug, Default)]
struct Reader {
    lines: Vec<DatasetLine>,
    line_of_id: HashMap<String, usize>,
    times: Times,
    skipped: u64,
}

fn read_lines(text: &[u8], file: &str, reader: &mut Reader) -> Result<(), DatasetError> {
    let lines = || (1..).zip(text.split(|&byte| byte == b'\n'));
    let lines = || lines().filter(|(_, line)| !line.trim_ascii().is_empty());
    let first = lines().next().and_then(|(_, line)| line::value(line).ok());
    let is_sharegpt = first.is_some_and(|value| value.member(sharegpt::CONVERSATIONS).is_some());
    for (number, line) in lines() {
        let read = line::value(line).and_then(|value| {
            if is_sharegpt {
                sharegpt::read(value, number, reader)
            } else {
                reader.read(value, number)
            }
        });
        read.map_err(|fault| locate(fault, line, number, file))?;
    }
    Ok(())
}

impl Reader {
    /// Takes a line of the own layout.
    fn read(&mut self, value: Json, number: usize) -> Result<(), LineFault> {
        let (line, at_us) = line::parse(value, number)?;
        self.times.push(number, at_us)?;
        match self.line_of_id.entry(line.id.clone()) {
            Entry::Occupied(first) => Err(LineFault::Member {
                path: JsonPath::root().key("id"),
                fault: MemberFault::DuplicateId { id: line.id, first_line: *first.get() },
            }),
            Entry::Vacant(place) => {
                place.insert(number);
                self.lines.push(line);
                Ok(())
            }
        }
    }
}

/// Adds the file and the place in it to what is wrong with a line.
fn locate(fault: LineFault, line: &[u8], number: usize, file: &str) -> DatasetError {
    let file = file.to_owned();
    let at = |column| Position { line: number, column };
    let column_of = |path: &JsonPath| {
        let text = std::str::from_utf8(line).ok()?;
        Position::of(text, path).map(|position| position.column)
    };
    let start = column_of(&JsonPath::root()).unwrap_or(1);
    match fault {
        LineFault::Member { path, fault } => {
            let position = at(column_of(&path).unwrap_or(start));
            DatasetError::Member { file, position, path, fault }
        }
        LineFault::NotJson { column, message } => {
            DatasetError::NotJson { file, position: at(column), message }
        }
        LineFault::NotObject { found } => {
            DatasetError::NotObject { file, position: at(start), found }
        }
        LineFault::NotUtf8 { valid_bytes } => {
            DatasetError::NotUtf8 { file, position: at(valid_bytes + 1) }
        }
    }
}
