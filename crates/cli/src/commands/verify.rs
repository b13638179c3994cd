//! `streamgauge verify`: recomputes and checks records, comparisons, decisions, ledgers, run
//! directories and datasets.

mod compared;
mod dataset;
mod decision;
mod ledger;
mod qualification;
mod uncovered;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use streamgauge_client::RunDir;
use streamgauge_metrics::{Compared, Finding, Verification, unproven, verify as check};
use streamgauge_schema::{
    Digest, Document, EvidenceMode, JsonPath, Position, ReadError, RunRecord, RunRecordV2,
};

use crate::args::Format;
use crate::commands::import;
use crate::console;
use crate::exit::Exit;
use crate::input::read_document;
use crate::journals::Journals;
use crate::qualify::QualificationDir;
use crate::rebuild::{first_difference, rebuild};

/// Arguments of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
A decision is held against its comparison where that is named too, or lies beside it, and a \
comparison against those records of its runs. A ledger is held against the decisions that lie \
beside it, a dataset against its manifest.

Examples:
  streamgauge verify runs/new-… comparison.json
  streamgauge verify decisions.jsonl --head 5b8c…
  streamgauge verify datasets")]
pub(crate) struct VerifyArgs {
    /// Records, comparisons, decisions, ledgers of decisions, run directories, qualifications, or
    /// datasets that have a manifest
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Digest of a line that the ledger must still hold, as `decide` printed it
    #[arg(long, value_name = "DIGEST", value_parser = ledger::parse_digest)]
    head: Option<Digest>,
    /// List the members that no rule covers
    #[arg(long)]
    explain: bool,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Most members of a rule whose places are looked up; a digest takes part in every member.
const MAX_PLACES: usize = 40;

/// Most members of a rule that are printed; `--format json` lists them all.
const MAX_SHOWN: usize = 400;

/// What was found in one document.
#[derive(Debug, Default, Serialize)]
struct Report {
    path: String,
    holds: bool,
    rules: usize,
    broken: Vec<Broken>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unproven: Option<Vec<String>>,
    /// What members that no rule covers are called for this kind of document.
    #[serde(skip)]
    unproven_means: &'static str,
    /// It is a ledger, which a kept head can be looked for in.
    #[serde(skip)]
    is_ledger: bool,
}

/// A rule that does not hold.
#[derive(Debug, Serialize)]
struct Broken {
    rule: String,
    statement: String,
    members: Vec<Member>,
}

/// A member that takes part in a broken rule.
#[derive(Debug, Serialize)]
struct Member {
    path: String,
    line: Option<usize>,
    column: Option<usize>,
}

/// Checks every path.
pub(crate) fn verify(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    let mut reports = Vec::new();
    for path in &args.paths {
        match check_all(path, args) {
            Ok(found) => {
                let holds = found.iter().all(|report| report.holds);
                exit = exit.max(if holds { Exit::Done } else { Exit::GateFailed });
                reports.extend(found);
            }
            // The other paths are still worth a look.
            Err(error) => {
                exit = Exit::BadInput;
                console::complain(&error);
            }
        }
    }
    if args.head.is_some() && !reports.iter().any(|report| report.is_ledger) {
        bail!("--head: no ledger is among the paths");
    }
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&reports)?,
        Format::Markdown | Format::Table => {
            console::printable(&reports.iter().map(shown).collect::<String>())
        }
    };
    console::result(&text)?;
    Ok(exit)
}

/// A qualification and a folder of datasets have many documents, any other path one.
fn check_all(path: &Path, args: &VerifyArgs) -> anyhow::Result<Vec<Report>> {
    let dir = QualificationDir::at(path);
    if dir.is_one() {
        return qualification::check(&dir, args.explain, args.head);
    }
    if path.is_dir() {
        let manifests = dataset::manifests_in(path)?;
        if manifests.is_empty() {
            return Ok(vec![check_path(path, args.explain)?]);
        }
        return manifests.iter().map(|manifest| dataset::check(manifest)).collect();
    }
    let report = match dataset::manifest_of(path) {
        Some(manifest) => dataset::check(&manifest)?,
        None => check_file(path, args)?,
    };
    Ok(vec![report])
}

/// A document or a ledger; a decision is held against its comparison, and a comparison against the records
/// of its runs.
fn check_file(path: &Path, args: &VerifyArgs) -> anyhow::Result<Report> {
    let bytes = read_document(path)?;
    let document = match Document::read(&bytes) {
        Ok(document) => document,
        Err(_) if ledger::is_one(path, &bytes) => return ledger::check(path, &bytes, args.head),
        Err(error @ ReadError::UnknownKind { .. }) => {
            return uncovered::check(path, &bytes).unwrap_or_else(|| unreadable(path, error));
        }
        Err(error) => return unreadable(path, error),
    };
    let mut report = check_read(path, &document, &bytes, args.explain)?;
    match &document {
        Document::Decision(found) => {
            decision::hold(&mut report, path, (found, &bytes), &args.paths)?;
        }
        Document::Comparison(found) => {
            compared::hold(&mut report, path, (Compared::V1(found), &bytes), &args.paths);
        }
        Document::ComparisonV2(found) => {
            compared::hold(&mut report, path, (Compared::V2(found), &bytes), &args.paths);
        }
        Document::Determinism(_) | Document::Run(_) => {}
    }
    Ok(report)
}

fn check_path(path: &Path, explain: bool) -> anyhow::Result<Report> {
    if !path.is_dir() {
        return check_document(path, &read_document(path)?, explain);
    }
    let dir = RunDir::at(path);
    if !dir.record().exists() {
        if Journals::exist(&dir) {
            Journals::open(&dir)?;
        }
        bail!("{}", without_record(&dir));
    }
    let written = read_document(&dir.record())?;
    let mut report = check_document(&dir.record(), &written, explain)?;
    report.rules += 1;
    let (rule, difference) = match imported_record(&written) {
        Some(record) => ("requests-are-the-evidence", import::broken_evidence(&dir, &record)?),
        None => ("record-is-what-the-journal-gives", rebuild(&dir)?.difference(&dir)?),
    };
    if let Some(statement) = difference {
        let rule = rule.to_owned();
        report.holds = false;
        report.broken.push(Broken { rule, statement, members: Vec::new() });
    }
    Ok(report)
}

/// The record, where another program measured it: it has no journal of ours.
fn imported_record(bytes: &[u8]) -> Option<RunRecordV2> {
    match Document::read(bytes) {
        Ok(Document::Run(RunRecord::V2(record))) => {
            Some(*record).filter(|record| record.evidence_mode == EvidenceMode::Imported)
        }
        _ => None,
    }
}

fn without_record(dir: &RunDir) -> String {
    let path = dir.path().display();
    if Journals::exist(dir) {
        format!("{path} has no record yet; `streamgauge record {path}` builds it")
    } else {
        format!("{path} is no run directory; name run directories or files")
    }
}

/// A document with a member that cannot be read does not hold; anything else is no document.
fn unreadable(path: &Path, error: ReadError) -> anyhow::Result<Report> {
    let shown = path.display().to_string();
    let ReadError::Shape { path: member, position, message } = error else {
        return Err(anyhow::Error::new(error).context(shown));
    };
    let member = Member {
        path: member.to_string(),
        line: Some(position.line),
        column: Some(position.column),
    };
    let broken = Broken { rule: "shape".to_owned(), statement: message, members: vec![member] };
    Ok(Report { path: shown, broken: vec![broken], ..Report::default() })
}

/// The rules that do not hold, with the places of their members in the text.
fn broken_rules(verification: &Verification, text: &str) -> Vec<Broken> {
    let placed = |member: &JsonPath, few: bool| {
        let position = few.then(|| Position::of(text, member)).flatten();
        Member {
            path: member.to_string(),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
        }
    };
    let rule = |finding: &Finding| {
        let few = finding.members.len() <= MAX_PLACES;
        Broken {
            rule: finding.rule.to_owned(),
            statement: finding.statement.clone(),
            members: finding.members.iter().map(|member| placed(member, few)).collect(),
        }
    };
    verification.broken().map(rule).collect()
}

fn check_document(path: &Path, bytes: &[u8], explain: bool) -> anyhow::Result<Report> {
    match Document::read(bytes) {
        Ok(document) => check_read(path, &document, bytes, explain),
        Err(error) => unreadable(path, error),
    }
}

fn check_read(
    path: &Path,
    document: &Document,
    bytes: &[u8],
    explain: bool,
) -> anyhow::Result<Report> {
    let shown = path.display().to_string();
    let verification = check(document);
    let mut broken = broken_rules(&verification, &String::from_utf8_lossy(bytes));
    if let Some(statement) = not_canonical(document, bytes)? {
        broken.push(Broken {
            rule: "bytes-are-canonical".to_owned(),
            statement,
            members: Vec::new(),
        });
    }
    Ok(Report {
        path: shown,
        holds: broken.is_empty(),
        rules: verification.findings.len() + 1,
        broken,
        notes: verification
            .notes
            .iter()
            .map(|note| format!("{}: {:?} is a word of another version", note.member, note.word))
            .collect(),
        unproven: explain.then(|| unproven(document).iter().map(ToString::to_string).collect()),
        unproven_means: match document {
            Document::Comparison(_) | Document::ComparisonV2(_) | Document::Determinism(_) => {
                "unproven: a change of these would go unnoticed"
            }
            Document::Decision(_) => "covered by the digest in decision_id alone",
            Document::Run(_) => "covered by the digest in run_id alone",
        },
        is_ledger: false,
    })
}

fn not_canonical(document: &Document, bytes: &[u8]) -> anyhow::Result<Option<String>> {
    let canonical = document.file_bytes_like(bytes)?;
    Ok(first_difference(bytes, &canonical)
        .map(|difference| difference.replace("plan and journal give", "the canonical bytes have")))
}

fn shown(report: &Report) -> String {
    let mut out = String::new();
    let verdict = match (report.holds, report.rules) {
        (true, 0) => "nothing to check".to_owned(),
        (true, rules) => format!("holds ({rules} rules)"),
        (false, rules) => format!("DOES NOT HOLD ({rules} rules)"),
    };
    let _ = writeln!(out, "{}: {verdict}", report.path);
    // A digest takes part in every member. That says something only where no other rule does.
    let (wide, narrow): (Vec<&Broken>, Vec<&Broken>) =
        report.broken.iter().partition(|broken| broken.members.len() > MAX_PLACES);
    for broken in &narrow {
        show_rule(&mut out, broken, true);
    }
    for broken in wide {
        show_rule(&mut out, broken, narrow.is_empty() && broken.members.len() <= MAX_SHOWN);
    }
    for note in &report.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    if let Some(members) = &report.unproven {
        let _ = writeln!(out, "  {} ({}):", report.unproven_means, members.len());
        for member in members {
            let _ = writeln!(out, "    {member}");
        }
    }
    out
}

fn show_rule(out: &mut String, broken: &Broken, with_members: bool) {
    let _ = writeln!(out, "  {}: {}", broken.rule, broken.statement);
    if !with_members {
        let _ = writeln!(
            out,
            "    {} members; --format json lists them, and the run directory tells which changed",
            broken.members.len()
        );
        return;
    }
    for member in &broken.members {
        let place = match (member.line, member.column) {
            (Some(line), Some(column)) => format!(" (line {line} column {column})"),
            _ => String::new(),
        };
        let _ = writeln!(out, "    {}{place}", member.path);
    }
}
