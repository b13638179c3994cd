//! A decision under `verify`: held against its comparison, where that is at hand.

use std::path::{Path, PathBuf};

use streamgauge_metrics::verify_decision;
use streamgauge_schema::{Decision, DecisionEvidence, Digest, Document};

use super::{Broken, Report, broken_rules};
use crate::input::read_document;

/// Adds what the comparison says of a decision to its report.
pub(super) fn hold(
    report: &mut Report,
    path: &Path,
    (decision, bytes): (&Decision, &[u8]),
    given: &[PathBuf],
) -> anyhow::Result<()> {
    // A decision without a comparison breaks a rule of its own.
    let Some(evidence) = decision.comparison() else { return Ok(()) };
    let Some(comparison) = find(evidence, path, given) else {
        report.notes.push(format!(
            "{} is neither named nor beside it: the decision was not held against the comparison",
            evidence.name
        ));
        return Ok(());
    };
    let file = read_document(&comparison)?;
    match Document::read(&file) {
        Ok(document) => {
            let found = verify_decision(decision, &document, &file);
            report.rules += found.findings.len();
            report.broken.extend(broken_rules(&found, &String::from_utf8_lossy(bytes)));
        }
        Err(error) => report.broken.push(Broken {
            rule: "comparison-is-the-one-decided-on".to_owned(),
            statement: format!("{}: {error}", comparison.display()),
            members: Vec::new(),
        }),
    }
    report.notes.push(format!("held against {}", comparison.display()));
    report.holds = report.broken.is_empty();
    Ok(())
}

/// The comparison's file: of those given the one with its digest, else the one with its name; else
/// what lies beside the decision under its name.
fn find(evidence: &DecisionEvidence, decision: &Path, given: &[PathBuf]) -> Option<PathBuf> {
    let name = Path::new(evidence.name.as_str());
    let others = || given.iter().filter(|path| path.as_path() != decision && path.is_file());
    let has_digest =
        |path: &&PathBuf| read_document(path).is_ok_and(|it| Digest::of(&it) == evidence.sha256);
    let has_name = |path: &&PathBuf| path.file_name() == Some(name.as_os_str());
    let named = others().find(has_digest).or_else(|| others().find(has_name)).cloned();
    named.or_else(|| {
        // A name with a folder in it leads nowhere.
        let is_plain = name.file_name() == Some(name.as_os_str());
        Some(decision.with_file_name(name)).filter(|path| is_plain && path.is_file())
    })
}
