//! Graders made of the expectations of a dataset, before anything is sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use streamgauge_grade::{Grader, GraderError};
use streamgauge_schema::{Digest, Expectation, JsonPath, Position};
use streamgauge_workload::Dataset;

/// A grader of one answer, and where what it expects stands.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) grader: Grader,
    /// The marker that its answer has to begin with.
    pub(crate) marker: Option<String>,
    /// What errors call it, such as `line 3`.
    pub(crate) place: String,
}

impl Prepared {
    /// Makes the grader.
    pub(crate) fn new(expectation: &Expectation, place: String) -> Result<Self, GraderError> {
        let marker = match expectation {
            Expectation::Canary(canary) => Some(canary.marker.clone()),
            Expectation::ControlledOutput(output) => output.canary.clone(),
            _ => None,
        };
        Ok(Self { grader: Grader::new(expectation)?, marker, place })
    }
}

/// The graders of a dataset, by the lines of its file.
#[derive(Debug)]
pub(crate) struct Expectations {
    pub(crate) file: String,
    pub(crate) sha256: Digest,
    by_line: BTreeMap<usize, Arc<Prepared>>,
}

impl Expectations {
    /// The graders of a dataset; `None` when no line expects anything. `bytes` are those of its file.
    ///
    /// # Errors
    /// When only some lines expect something, or nothing could be held against what one expects.
    pub(crate) fn of(dataset: &Dataset, bytes: &[u8]) -> anyhow::Result<Option<Self>> {
        let file = dataset.file_name();
        let lines = dataset.lines();
        let Some(first) = lines.iter().find(|line| line.expect.is_some()) else { return Ok(None) };
        let mut by_line = BTreeMap::new();
        for line in lines {
            let Some(expectation) = &line.expect else {
                bail!(
                    "{file}: line {}: expect: missing, and line {} has one; of a graded dataset every \
                     line has one (--no-grade grades nothing)",
                    line.line,
                    first.line
                );
            };
            let prepared = Prepared::new(expectation, format!("line {}", line.line))
                .with_context(|| format!("{file}: {}: expect", position(bytes, line.line)))?;
            by_line.insert(line.line, Arc::new(prepared));
        }
        Ok(Some(Self { file: file.to_owned(), sha256: dataset.digest(), by_line }))
    }

    /// The grader of a line.
    pub(crate) fn of_line(&self, line: usize) -> Option<&Arc<Prepared>> {
        self.by_line.get(&line)
    }
}

/// Where the `expect` of a line stands.
fn position(bytes: &[u8], number: usize) -> Position {
    let line = bytes.split(|byte| *byte == b'\n').nth(number.saturating_sub(1));
    let text = line.and_then(|line| std::str::from_utf8(line).ok());
    // Only the first line of a file can begin with a mark of its byte order, which is no column.
    let text = text.map(|text| text.strip_prefix('\u{feff}').unwrap_or(text));
    let found = text.and_then(|text| Position::of(text, &JsonPath::root().key("expect")));
    Position { line: number, column: found.map_or(1, |found| found.column) }
}
