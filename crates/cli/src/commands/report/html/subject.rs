//! What a path stands for.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_schema::{Document, ReadError, SearchReport, SearchSchema, read_typed};

use crate::input::read_document;
use crate::qualify::{COMPARISON, QualificationDir};

/// What a page is made of.
pub(super) enum Subject {
    /// A comparison, and its file.
    Comparison(PathBuf, Document),
    /// Records, run directories or folders of them.
    Runs,
    /// A search for the highest load.
    Search(Box<SearchReport>),
}

/// Looks at what is there.
pub(super) fn subject(path: &Path) -> anyhow::Result<Subject> {
    if !path.is_dir() {
        return of_file(path);
    }
    let dir = QualificationDir::at(path);
    if dir.is_one() {
        let comparison = dir.file(COMPARISON);
        if !comparison.exists() {
            bail!(
                "{0} has no comparison yet; `streamgauge qualify --resume {0}` goes on",
                path.display()
            );
        }
        return of_file(&comparison);
    }
    Ok(Subject::Runs)
}

fn of_file(path: &Path) -> anyhow::Result<Subject> {
    let shown = || path.display().to_string();
    let bytes = read_document(path)?;
    match Document::read(&bytes) {
        Ok(Document::Run(_)) => Ok(Subject::Runs),
        Ok(document @ (Document::Comparison(_) | Document::ComparisonV2(_))) => {
            Ok(Subject::Comparison(path.to_owned(), document))
        }
        Ok(Document::Decision(_)) => {
            bail!("{} is a decision: a page shows the comparison that it was made on", shown())
        }
        Ok(Document::Determinism(_)) => {
            bail!("{} is a determinism report, of which there is no page", shown())
        }
        Err(ReadError::UnknownKind { found }) if found.contains(SearchSchema::V1.as_str()) => {
            Ok(Subject::Search(Box::new(read_typed(&bytes).with_context(shown)?)))
        }
        Err(error) => Err(error).with_context(shown),
    }
}
