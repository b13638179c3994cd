//! A TOML file with its text, so that whatever is wrong in it can be placed.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// A file with its text, so that whatever is wrong in it can be placed.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// A file of this text; the path is for errors, and for what its paths lead from.
    pub(crate) fn new(path: &Path, text: String) -> Self {
        Self { path: path.to_owned(), text }
    }

    /// The text as a table of this type.
    ///
    /// # Errors
    /// When it is none; `kind` says what it was to be.
    pub(crate) fn read<T: DeserializeOwned>(&self, kind: &str) -> anyhow::Result<T> {
        toml::from_str(&self.text).map_err(|error: toml::de::Error| {
            // Without the line as it stands, which may hold a key.
            let problem = format!("no {kind}: {}", error.message());
            match error.span() {
                Some(place) => self.fault(place, &problem),
                None => self.fault_of_all(&problem),
            }
        })
    }

    /// The folder from which relative paths in it lead.
    pub(crate) fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// What is wrong with the part of the file at `place`.
    pub(crate) fn fault(&self, place: Range<usize>, problem: &str) -> anyhow::Error {
        let before = self.text.get(..place.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        anyhow::anyhow!("{} line {line} column {column}: {problem}", self.path.display())
    }

    /// What is wrong with the file as a whole.
    pub(crate) fn fault_of_all(&self, problem: &str) -> anyhow::Error {
        anyhow::anyhow!("{}: {problem}", self.path.display())
    }
}
