//! A dataset: a JSONL file whose lines are requests, checked as a whole before anything is sent.
//!
//! Invariant: every line of a [`Dataset`] can be sent as it is. Ids are distinct, each line has
//! exactly one of `prompt` and `messages`, and no member is unknown.

mod line;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use streamgauge_schema::{Digest, Json, JsonPath, Position};

use crate::error::{DatasetError, MemberFault};
use line::LineFault;
pub(crate) use line::MEMBERS;

/// The lines of a dataset file.
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
}

/// One line of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetLine {
    /// The dataset's own name for it, distinct within the file.
    pub id: String,
    /// Where it stands in the file, from 1.
    pub line: usize,
    /// What is asked.
    pub prompt: Prompt,
    /// Tokens to stop after, instead of the plan's.
    pub max_tokens: Option<u64>,
    /// What the answer is held against: the graders' input, kept as it was written.
    pub expect: Option<Json>,
}

/// What a request asks a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompt {
    /// A list of messages, sent exactly as it was written: each an object with a text `role` and a
    /// `content`, other members included.
    Messages(Json),
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
        let mut lines = Vec::new();
        let mut line_of_id = HashMap::new();
        for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let parsed = parse_line(line, number, &mut line_of_id)
                .map_err(|fault| locate(fault, line, number, file_name))?;
            lines.extend(parsed);
        }
        if lines.is_empty() {
            return Err(DatasetError::Empty { file: file_name.to_owned() });
        }
        Ok(Self { file_name: file_name.to_owned(), digest: Digest::of(bytes), lines })
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
}

/// The request of a line; `None` when the line is blank.
fn parse_line(
    line: &[u8],
    number: usize,
    line_of_id: &mut HashMap<String, usize>,
) -> Result<Option<DatasetLine>, LineFault> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let parsed = line::parse(line, number)?;
    match line_of_id.entry(parsed.id.clone()) {
        Entry::Occupied(first) => Err(LineFault::Member {
            path: JsonPath::root().key("id"),
            fault: MemberFault::DuplicateId { id: parsed.id, first_line: *first.get() },
        }),
        Entry::Vacant(place) => {
            place.insert(number);
            Ok(Some(parsed))
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
