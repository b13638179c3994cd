//! A ledger under `verify`: its chain, the decisions that lie beside it, and a head that was kept.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;
use streamgauge_metrics::{
    LedgerVerification, verify as check_rules, verify_ledger, verify_listed,
};
use streamgauge_schema::{DecisionChoice, Digest, Document, LedgerLine, LedgerSchema};

use super::{Broken, Member, Report};
use crate::evidence::{MAX_ENTRIES, folder_of};
use crate::input::read_document;
use crate::ledger::LEDGER;

/// Most files that are named of those that no line lists.
const MAX_NAMED: usize = 20;

/// Reads a digest as an argument.
pub(super) fn parse_digest(text: &str) -> Result<Digest, String> {
    serde_json::from_value(Value::String(text.to_owned())).map_err(|error| error.to_string())
}

/// Whether bytes that are no document are a ledger, or what is left of one.
pub(super) fn is_one(path: &Path, bytes: &[u8]) -> bool {
    let schema = format!("\"{}\"", LedgerSchema::V1);
    path.file_name().is_some_and(|name| name == LEDGER)
        || bytes.windows(schema.len()).any(|window| window == schema.as_bytes())
}

/// Checks a ledger.
pub(super) fn check(path: &Path, bytes: &[u8], kept: Option<Digest>) -> anyhow::Result<Report> {
    let found = verify_ledger(bytes);
    let mut broken: Vec<Broken> = found
        .faults
        .iter()
        .map(|fault| at_line(fault.line, fault.column, fault.rule, fault.statement.clone()))
        .collect();
    let mut beside = 0;
    for (place, line) in found.lines.iter().enumerate() {
        let Some(line) = line else { continue };
        let Some(wrong) = against_file(path, line) else { continue };
        beside += 1;
        let wrong = wrong.into_iter();
        broken.extend(wrong.map(|it| at_line(place + 1, None, "decision-is-as-listed", it)));
    }
    if let Some(head) = kept.filter(|head| !found.reaches(*head)) {
        broken.push(Broken {
            rule: "head-is-reached".to_owned(),
            statement: format!(
                "a line has the digest that was kept, {head}; none of {} has: lines were cut off, or \
                 written anew",
                found.lines.len()
            ),
            members: Vec::new(),
        });
    }
    Ok(Report {
        path: path.display().to_string(),
        holds: broken.is_empty(),
        rules: found.rules + beside + usize::from(kept.is_some()),
        broken,
        notes: notes(path, &found, beside, kept.is_some()),
        is_ledger: true,
        ..Report::default()
    })
}

fn at_line(line: usize, column: Option<usize>, rule: &str, statement: String) -> Broken {
    let member = Member { path: format!("line {line}"), line: Some(line), column };
    Broken {
        rule: rule.to_owned(),
        statement: format!("line {line}: {statement}"),
        members: vec![member],
    }
}

/// What is wrong between a line and the decision that it lists; `None` where that does not lie beside
/// the ledger.
fn against_file(ledger: &Path, line: &LedgerLine) -> Option<Vec<String>> {
    let name = Path::new(line.decision_file.as_str());
    // A name with a folder in it has a fault of its own, and leads nowhere.
    if name.file_name() != Some(name.as_os_str()) {
        return None;
    }
    let path = ledger.with_file_name(name);
    if !path.is_file() {
        return None;
    }
    let file = match read_document(&path) {
        Ok(file) => file,
        Err(error) => return Some(vec![format!("{error:#}")]),
    };
    let document = match Document::read(&file) {
        Ok(document) => document,
        Err(error) => return Some(vec![format!("{}: {error}", line.decision_file)]),
    };
    let Document::Decision(decision) = &document else {
        return Some(vec![format!("{} is no decision", line.decision_file)]);
    };
    let broken = check_rules(&document);
    let broken = broken.broken().map(|it| format!("{}: {}", line.decision_file, it.statement));
    Some(verify_listed(line, decision, &file).into_iter().chain(broken).collect())
}

fn notes(path: &Path, found: &LedgerVerification, beside: usize, is_kept: bool) -> Vec<String> {
    let count = found.lines.len();
    let mut notes = vec![format!("{beside} of {count} decisions lie beside it and were looked at")];
    let unlisted = unlisted(path, found);
    if !unlisted.is_empty() {
        notes.push(format!(
            "no line lists {}: lines may have been cut off, or other ledgers list them",
            unlisted.join(", ")
        ));
    }
    if let Some(head) = found.head() {
        notes.push(format!("its head is {}", head.sha256));
    }
    if !is_kept {
        notes.push(
            "a chain cannot tell that lines were cut off its end, or that all were written anew; \
             --head with a digest that was kept elsewhere can"
                .to_owned(),
        );
    }
    notes
}

/// Files beside a ledger that are called like decisions and that it does not list.
fn unlisted(path: &Path, found: &LedgerVerification) -> Vec<String> {
    let listed: HashSet<&str> =
        found.lines.iter().flatten().map(|line| line.decision_file.as_str()).collect();
    let entries = std::fs::read_dir(folder_of(path)).into_iter().flatten();
    let names =
        entries.take(MAX_ENTRIES).flatten().filter_map(|it| it.file_name().into_string().ok());
    let is_decision = |name: &String| {
        let choices = DecisionChoice::ALL.iter().map(|choice| format!("{choice}-"));
        name.ends_with(".json") && choices.into_iter().any(|choice| name.starts_with(&choice))
    };
    let mut names: Vec<String> =
        names.filter(|name| is_decision(name) && !listed.contains(name.as_str())).collect();
    names.sort();
    names.truncate(MAX_NAMED);
    names
}
