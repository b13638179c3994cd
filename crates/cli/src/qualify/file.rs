//! The file that a qualification is planned in: `PLAN.toml`, as its author wrote it.
//!
//! Its version is closed: an unknown key is an error with its place. The tables of flags are read as
//! they are; [`super::flags`] turns them into arguments of `run`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use streamgauge_schema::{Gate, Identifier};
use toml::{Spanned, Value};

/// Version of the file's layout.
const VERSION: u64 = 1;

/// Flags of `run` by their long names.
pub(super) type Flags = BTreeMap<Spanned<String>, Spanned<Value>>;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanFile {
    version: Spanned<u64>,
    pub(super) name: Spanned<String>,
    pub(super) blocks: Option<Spanned<u64>>,
    pub(super) until_decided: Option<UntilDecided>,
    pub(super) aa: Option<Spanned<u64>>,
    pub(super) gates: Option<Spanned<PathBuf>>,
    pub(super) gate: Option<Spanned<Vec<Gate>>>,
    pub(super) alpha: Option<Spanned<f64>>,
    pub(super) max_failure_ratio: Option<Spanned<f64>>,
    #[serde(default)]
    pub(super) allow_differing: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) run: Flags,
    #[serde(default)]
    pub(super) cell: Vec<Flags>,
    pub(super) turnover: Option<Flags>,
    pub(super) baseline: Flags,
    pub(super) candidate: Flags,
}

/// Blocks until every gate is decided, or an end is reached.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UntilDecided {
    pub(super) max_blocks: Option<Spanned<u64>>,
    pub(super) max_time_s: Option<Spanned<f64>>,
}

/// A file with its text, so that whatever is wrong in it can be placed.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// Reads a file's text; the path is for errors, and for what its paths lead from.
    pub(super) fn parse(path: &Path, text: String) -> anyhow::Result<(Self, PlanFile)> {
        let source = Self { path: path.to_owned(), text };
        let file: PlanFile = toml::from_str(&source.text)
            .with_context(|| format!("{} is no plan of a qualification", path.display()))?;
        let version = *file.version.get_ref();
        if version != VERSION {
            return Err(source.fault(
                file.version.span(),
                &format!("version {version} is not known here; this is version {VERSION}"),
            ));
        }
        Ok((source, file))
    }

    /// The folder from which relative paths in it lead.
    pub(super) fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// What is wrong with the part of the file at `place`.
    pub(super) fn fault(&self, place: Range<usize>, problem: &str) -> anyhow::Error {
        let before = self.text.get(..place.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        anyhow::anyhow!("{} line {line} column {column}: {problem}", self.path.display())
    }

    /// What is wrong with the file as a whole.
    pub(super) fn fault_of_all(&self, problem: &str) -> anyhow::Error {
        anyhow::anyhow!("{}: {problem}", self.path.display())
    }
}

impl PlanFile {
    /// The name, which directories and runs begin with.
    pub(super) fn name(&self, source: &Source) -> anyhow::Result<Identifier> {
        const LONGEST: usize = 60;
        let name = self.name.get_ref();
        match Identifier::new(name.as_str()).filter(|name| name.as_str().len() <= LONGEST) {
            Some(name) => Ok(name),
            None => Err(source.fault(
                self.name.span(),
                &format!(
                    "name {name:?}: a name is at most {LONGEST} letters, digits, '.', '_' and '-', \
                     beginning with a letter or digit"
                ),
            )),
        }
    }
}

/// Takes a key that is no flag out of a table.
pub(super) fn take(flags: &mut Flags, key: &str) -> Option<Spanned<Value>> {
    let found = flags.keys().find(|known| known.get_ref() == key)?.clone();
    flags.remove(&found)
}

/// The value of such a key in its own type.
pub(super) fn typed<T: serde::de::DeserializeOwned>(
    source: &Source,
    key: &str,
    value: Spanned<Value>,
) -> anyhow::Result<T> {
    let place = value.span();
    value.into_inner().try_into().map_err(|error: toml::de::Error| {
        source.fault(place, &format!("{key}: {}", error.message()))
    })
}

/// A number of whole seconds or parts of one, in milliseconds.
pub(super) fn millis(source: &Source, key: &str, seconds: &Spanned<f64>) -> anyhow::Result<u64> {
    crate::planning::millis(key, *seconds.get_ref())
        .map_err(|error| source.fault(seconds.span(), &error.to_string()))
}
