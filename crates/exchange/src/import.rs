//! From a file to records.

use streamgauge_schema::{Identifier, ImportedRequest, RunRecordV2, Timestamp};

use crate::aiperf;
use crate::error::ImportError;
use crate::record::record_of;
use crate::tool::Tool;
use crate::vllm;
use crate::{guidellm, sglang};

/// A file of another tool.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// Its name without the folder.
    pub name: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
    /// When it was last changed: the label of a run whose file tells no time.
    pub modified: Timestamp,
}

/// What the file does not tell and a person may.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Name of the run.
    pub name: Identifier,
    /// Name of its cell; `None` names it after its load.
    pub cell: Option<Identifier>,
    /// The model, where the file does not name it.
    pub model: Option<String>,
}

impl ImportOptions {
    /// A run of this name, with everything else as the file has it.
    #[must_use]
    pub fn named(name: Identifier) -> Self {
        Self { name, cell: None, model: None }
    }
}

/// One run of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Its record.
    pub record: RunRecordV2,
    /// Its single requests; none where the file has only summaries.
    pub requests: Vec<ImportedRequest>,
}

/// Reads a file: one run, or several where the tool puts several into a file.
///
/// The record is a function of the file, its name and the options; of a file that tells no time also
/// of when it was changed.
///
/// # Errors
/// When the file is none of this tool's, when it contradicts itself, or when a text may not be
/// published.
pub fn import(
    tool: Tool,
    file: &SourceFile<'_>,
    options: &ImportOptions,
) -> Result<Vec<Imported>, ImportError> {
    let found = match tool {
        Tool::Vllm => vllm::read(file.bytes)?,
        Tool::Aiperf => aiperf::read(file.bytes)?,
        Tool::Guidellm => guidellm::read(file.bytes)?,
        Tool::Sglang => sglang::read(file.bytes)?,
    };
    if found.is_empty() {
        return Err(ImportError::NoResult { tool });
    }
    found.into_iter().map(|found| record_of(tool, found, file, options)).collect()
}

/// The lines of `requests.jsonl`, which the record's evidence names by their digest.
#[must_use]
pub fn request_lines(requests: &[ImportedRequest]) -> Vec<u8> {
    let mut lines = Vec::new();
    for request in requests {
        serde_json::to_writer(&mut lines, request).expect("whole numbers and texts can be written");
        lines.push(b'\n');
    }
    lines
}
