//! The manifest of a dataset that is handed on: which bytes it is, what it measures, who may use it.
//!
//! It lies beside the file that it describes:
//!
//! ```
//! use streamgauge_schema::{DatasetManifest, GraderName, read_typed};
//! let text = br#"{
//!   "schema": "streamgauge-dataset/v1",
//!   "name": "arithmetic", "version": 1, "file": "arithmetic-v1.jsonl",
//!   "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
//!   "bytes": 0, "lines": 0,
//!   "measures": "Whether sums come out right.", "graders": ["numeric-v1"], "answer_tokens": 512,
//!   "licence": "MIT OR Apache-2.0",
//!   "generator": null
//! }"#;
//! let manifest: DatasetManifest = read_typed(text).unwrap();
//! assert_eq!(manifest.graders, [GraderName::Numeric]);
//! assert_eq!(manifest.suite_version().as_str(), "arithmetic-v1");
//! ```

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::grade::GraderName;
use crate::nullable::nullable;
use crate::text::{Identifier, PublicText};
use crate::vocabulary::closed_vocabulary;

closed_vocabulary! {
    /// The layout of a dataset's manifest.
    DatasetManifestSchema {
        /// One file of one JSON object a line.
        V1 = "streamgauge-dataset/v1",
    }
}

/// What a dataset's file is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DatasetManifest {
    /// The layout.
    pub schema: DatasetManifestSchema,
    /// Its name, without its version.
    pub name: Identifier,
    /// Counts up with every change of its bytes.
    pub version: u32,
    /// Name of the file, which lies beside the manifest.
    pub file: Identifier,
    /// Digest of the file's bytes.
    pub sha256: Digest,
    /// Length of the file.
    pub bytes: u64,
    /// Requests in the file.
    pub lines: u64,
    /// What it measures.
    pub measures: PublicText,
    /// The graders that its expectations name, each once, in the order of their names.
    pub graders: Vec<GraderName>,
    /// Tokens that are enough for any right answer without reasoning; `None` where nobody says.
    #[serde(deserialize_with = "nullable")]
    pub answer_tokens: Option<u64>,
    /// The licence, as SPDX writes it.
    pub licence: PublicText,
    /// What made it; `None` of a set that people wrote.
    #[serde(deserialize_with = "nullable")]
    pub generator: Option<DatasetGenerator>,
}

/// A program that makes a dataset from a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DatasetGenerator {
    /// The program.
    pub name: Identifier,
    /// Its seed.
    pub seed: u64,
}

impl DatasetManifest {
    /// Name and version in one, as records call the suite: `arithmetic-v1`. Of a name that is too long
    /// for that, the name alone.
    #[must_use]
    pub fn suite_version(&self) -> Identifier {
        let both = format!("{}-v{}", self.name, self.version);
        Identifier::new(both).unwrap_or_else(|| self.name.clone())
    }
}
