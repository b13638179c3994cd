//! The file that a qualification is planned in: `PLAN.toml`, as its author wrote it.
//!
//! Its version is closed: an unknown key is an error with its place. The tables of flags are read as
//! they are; [`super::flags`] turns them into arguments of `run`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use streamgauge_schema::{Gate, Identifier};
use toml::{Spanned, Value};

use crate::flags::{Flags, Source};

/// Version of the file's layout.
const VERSION: u64 = 1;

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
    pub(super) allow_insecure: Option<Spanned<bool>>,
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

impl PlanFile {
    /// Reads a file's text; the path is for errors, and for what its paths lead from.
    pub(super) fn parse(path: &Path, text: String) -> anyhow::Result<(Source, Self)> {
        let source = Source::new(path, text);
        let file: Self = source.read("plan of a qualification")?;
        let version = *file.version.get_ref();
        if version != VERSION {
            return Err(source.fault(
                file.version.span(),
                &format!("version {version} is not known here; this is version {VERSION}"),
            ));
        }
        Ok((source, file))
    }

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
