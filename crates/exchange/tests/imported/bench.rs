//! Reads the samples, and changes them.

use std::path::Path;

use serde_json::{Map, Value};
use streamgauge_exchange::{ImportError, ImportOptions, Imported, SourceFile, Tool, import};
use streamgauge_metrics::verify;
use streamgauge_schema::{Document, Identifier, RunRecord, RunRecordV2, Timestamp};

/// When the files were last changed.
pub(crate) const MODIFIED: i64 = 1_764_500_000_000_000;

pub(crate) fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    std::fs::read(path).unwrap()
}

pub(crate) fn read(tool: Tool, bytes: &[u8]) -> Result<Vec<Imported>, ImportError> {
    let modified = Timestamp::from_unix_micros(MODIFIED);
    let file = SourceFile { name: "result.json", bytes, modified };
    import(tool, &file, &ImportOptions::named(Identifier::new("nightly").unwrap()))
}

/// The runs of a sample, each of which verifies.
pub(crate) fn runs(tool: Tool, name: &str) -> Vec<Imported> {
    let runs = read(tool, &sample(name)).unwrap();
    runs.iter().for_each(|run| assert_verifies(&run.record));
    runs
}

pub(crate) fn assert_verifies(record: &RunRecordV2) {
    let document = Document::Run(RunRecord::V2(Box::new(record.clone())));
    let bytes = document.file_bytes().unwrap();
    assert_eq!(Document::read(&bytes).unwrap(), document);
    let broken: Vec<_> = verify(&document).broken().cloned().collect();
    assert_eq!(broken, []);
}

pub(crate) fn figure(record: &RunRecordV2, id: &str) -> Option<f64> {
    let found = record.metrics.iter().find(|metric| metric.id.as_str() == id);
    found.unwrap_or_else(|| panic!("no metric {id}")).value
}

pub(crate) fn ids(record: &RunRecordV2) -> Vec<&str> {
    record.metrics.iter().map(|metric| metric.id.as_str()).collect()
}

pub(crate) fn says(record: &RunRecordV2, words: &str) -> bool {
    record.limitations.iter().any(|limitation| limitation.as_str().contains(words))
}

/// The sample with some members changed, or taken away where the change is `None`.
pub(crate) fn changed(name: &str, changes: &[(&str, Option<Value>)]) -> Vec<u8> {
    let mut members: Map<String, Value> = serde_json::from_slice(&sample(name)).unwrap();
    for (key, value) in changes {
        match value {
            Some(value) => drop(members.insert((*key).to_owned(), value.clone())),
            None => drop(members.remove(*key)),
        }
    }
    serde_json::to_vec(&members).unwrap()
}

/// The whole chain of an error, as the command prints it.
pub(crate) fn words(error: &ImportError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
