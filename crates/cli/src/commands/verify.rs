//! `streamgauge verify`: recomputes and checks records, comparisons and run directories.

mod qualification;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use streamgauge_client::{RunDir, read_file};
use streamgauge_metrics::{unproven, verify as check};
use streamgauge_schema::{Document, Position, ReadError};

use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::qualify::QualificationDir;
use crate::rebuild::{first_difference, rebuild};

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Records, comparisons, run directories or qualifications
    #[arg(required = true)]
    paths: Vec<PathBuf>,
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
        match check_all(path, args.explain) {
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
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&reports)?,
        Format::Markdown | Format::Table => {
            console::printable(&reports.iter().map(shown).collect::<String>())
        }
    };
    console::result(&text)?;
    Ok(exit)
}

/// A qualification has many documents, any other path one.
fn check_all(path: &Path, explain: bool) -> anyhow::Result<Vec<Report>> {
    let dir = QualificationDir::at(path);
    if dir.is_one() {
        return qualification::check(&dir, explain);
    }
    Ok(vec![check_path(path, explain)?])
}

fn check_path(path: &Path, explain: bool) -> anyhow::Result<Report> {
    if !path.is_dir() {
        return check_document(path, &read_file(path)?, explain);
    }
    let dir = RunDir::at(path);
    if !dir.record().exists() {
        bail!("{}", without_record(&dir));
    }
    let written = read_file(&dir.record())?;
    let mut report = check_document(&dir.record(), &written, explain)?;
    report.rules += 1;
    if let Some(difference) = rebuild(&dir)?.difference(&dir)? {
        report.holds = false;
        report.broken.push(Broken {
            rule: "record-is-what-the-journal-gives".to_owned(),
            statement: difference,
            members: Vec::new(),
        });
    }
    Ok(report)
}

fn without_record(dir: &RunDir) -> String {
    let path = dir.path().display();
    if dir.journal().exists() {
        format!("{path} has no record yet; `streamgauge record {path}` builds it")
    } else {
        format!("{path} is no run directory; name run directories or files")
    }
}

fn check_document(path: &Path, bytes: &[u8], explain: bool) -> anyhow::Result<Report> {
    let shown = path.display().to_string();
    let document = match Document::read(bytes) {
        Ok(document) => document,
        Err(ReadError::Shape { path: member, position, message }) => {
            let member = Member {
                path: member.to_string(),
                line: Some(position.line),
                column: Some(position.column),
            };
            let broken =
                Broken { rule: "shape".to_owned(), statement: message, members: vec![member] };
            return Ok(Report { path: shown, broken: vec![broken], ..Report::default() });
        }
        Err(error) => return Err(anyhow::Error::new(error).context(shown)),
    };
    let text = String::from_utf8_lossy(bytes);
    let verification = check(&document);
    let mut broken: Vec<Broken> = verification
        .broken()
        .map(|finding| Broken {
            rule: finding.rule.to_owned(),
            statement: finding.statement.clone(),
            members: finding
                .members
                .iter()
                .map(|member| {
                    let placed = finding.members.len() <= MAX_PLACES;
                    let position = placed.then(|| Position::of(&text, member)).flatten();
                    Member {
                        path: member.to_string(),
                        line: position.map(|position| position.line),
                        column: position.map(|position| position.column),
                    }
                })
                .collect(),
        })
        .collect();
    if let Some(statement) = not_canonical(&document, bytes)? {
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
        unproven: explain.then(|| unproven(&document).iter().map(ToString::to_string).collect()),
        unproven_means: match document {
            Document::Comparison(_) | Document::ComparisonV2(_) => {
                "unproven: a change of these would go unnoticed"
            }
            Document::Run(_) => "covered by the digest in run_id alone",
        },
    })
}

fn not_canonical(document: &Document, bytes: &[u8]) -> anyhow::Result<Option<String>> {
    let canonical = document.file_bytes_like(bytes)?;
    Ok(first_difference(bytes, &canonical)
        .map(|difference| difference.replace("plan and journal give", "the canonical bytes have")))
}

fn shown(report: &Report) -> String {
    let mut out = String::new();
    let verdict = if report.holds { "holds" } else { "DOES NOT HOLD" };
    let _ = writeln!(out, "{}: {verdict} ({} rules)", report.path, report.rules);
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
