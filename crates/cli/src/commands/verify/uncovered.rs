//! Documents of ours that no rule covers: what they say is borne out by others.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use streamgauge_schema::{Grades, Plan, QualificationPlan, SearchReport, SearchSchema, read_typed};

use super::{Report, unreadable};

/// Reads such a document, and says what to verify instead; `None` for any other.
pub(super) fn check(path: &Path, bytes: &[u8]) -> Option<anyhow::Result<Report>> {
    let document: Value = serde_json::from_slice(bytes).ok()?;
    let schema = document.get("schema").and_then(Value::as_str);
    if schema == Some(SearchSchema::V1.as_str()) {
        let note =
            "a search report, which no rule covers; verify the run directories of its probes";
        return Some(read::<SearchReport>(path, bytes, note));
    }
    if document.get("plan_version").is_some() {
        let note = "a plan, which no rule covers alone; verify its run directory";
        return Some(read::<Plan>(path, bytes, note));
    }
    if document.get("grades_version").is_some() {
        let note = "receipts of graders, which no rule covers alone; verify their run directory";
        return Some(read::<Grades>(path, bytes, note));
    }
    if document.get("qualification_version").is_some() {
        let note = "a plan, which no rule covers alone; verify its qualification's directory";
        return Some(read::<QualificationPlan>(path, bytes, note));
    }
    None
}

/// It must at least be what it says it is.
fn read<T: DeserializeOwned>(path: &Path, bytes: &[u8], note: &str) -> anyhow::Result<Report> {
    match read_typed::<T>(bytes) {
        Ok(_) => Ok(Report {
            path: path.display().to_string(),
            holds: true,
            notes: vec![note.to_owned()],
            ..Report::default()
        }),
        Err(error) => unreadable(path, error),
    }
}
