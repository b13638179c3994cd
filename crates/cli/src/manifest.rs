//! The manifest that lies beside a dataset: `NAME.manifest.json` beside `NAME.jsonl`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_schema::{DatasetManifest, Digest, read_typed};

use crate::input::read_document;

/// How the names of manifests end.
pub(crate) const ENDING: &str = ".manifest.json";

/// Where the manifest of a dataset would lie.
pub(crate) fn path_beside(dataset: &Path) -> PathBuf {
    dataset.with_extension(&ENDING[1..])
}

/// The manifest of a dataset with this digest; `None` where none lies beside it.
///
/// # Errors
/// When the manifest cannot be read, or is that of other bytes: the record would name a dataset that
/// was not used.
pub(crate) fn beside(dataset: &Path, sha256: Digest) -> anyhow::Result<Option<DatasetManifest>> {
    let path = path_beside(dataset);
    if !path.is_file() {
        return Ok(None);
    }
    let manifest: DatasetManifest = read_typed(&read_document(&path)?)
        .with_context(|| format!("{} is no manifest", path.display()))?;
    if manifest.sha256 != sha256 {
        bail!(
            "{} has the SHA-256 {}…, and its manifest {} says {}…: take the file as it was made, or give \
             yours another name",
            dataset.display(),
            sha256.prefix(12),
            path.display(),
            manifest.sha256.prefix(12)
        );
    }
    Ok(Some(manifest))
}
