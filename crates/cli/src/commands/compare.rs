//! `streamgauge compare`: holds a candidate's runs against a baseline's.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use streamgauge_client::{RunDir, read_file, write_new};
use streamgauge_metrics::{GateOutcome, MatchingCondition, compare_point, verdict, verify};
use streamgauge_schema::{Comparison, Document, Json, Layout, RunRecord, file_bytes};

use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::rebuild::rebuild;
use crate::show;

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge compare runs/old-… runs/new-…
  streamgauge compare --baseline runs/old-c1 runs/old-c8 --candidate runs/new-c1 runs/new-c8 \\
      --out comparison.json")]
pub(crate) struct CompareArgs {
    /// The baseline and the candidate, where each is one path
    #[arg(num_args = 2, value_names = ["BASELINE", "CANDIDATE"])]
    #[arg(conflicts_with_all = ["baseline", "candidate"], required_unless_present = "baseline")]
    pair: Vec<PathBuf>,
    /// Records, run directories or folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "candidate")]
    baseline: Vec<PathBuf>,
    /// Records, run directories or folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "baseline")]
    candidate: Vec<PathBuf>,
    /// How it is judged
    #[arg(long, value_enum, default_value_t)]
    rule: Rule,
    /// Go on although this condition differs; may be given again
    #[arg(long, value_name = "FIELD")]
    allow_differing: Vec<MatchingCondition>,
    /// File to write the comparison to
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How a comparison is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// Each figure within 5 percent of the baseline's; noise is not considered
    #[default]
    Point,
}

/// Compares and judges.
pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    if let Some(out) = &args.out
        && out.exists()
    {
        bail!("--out {}: the file exists, and is not written over", out.display());
    }
    let (baseline, candidate) = match args.pair.as_slice() {
        [baseline, candidate] => (load(baseline)?, load(candidate)?),
        _ => (load_all(&args.baseline)?, load_all(&args.candidate)?),
    };
    let Rule::Point = args.rule;
    for record in &baseline {
        if candidate.iter().any(|other| other.run_id() == record.run_id()) {
            console::remark(&format!("note: {} stands on both sides", record.run_id()));
        }
    }
    declared_differently(&baseline, &candidate)?;
    let comparison = compare_point(&baseline, &candidate, &args.allow_differing)?;
    print(&comparison, args.format)?;
    if let Some(path) = &args.out {
        write_comparison(&comparison, path)?;
        let path = path.display().to_string();
        match args.format {
            Format::Json => console::remark(&path),
            Format::Markdown | Format::Table => console::result(&path)?,
        }
    }
    Ok(exit_of(&comparison))
}

/// Says what the operators declared differently of the two sides: it may be what is compared, or a
/// mistake.
fn declared_differently(baseline: &[RunRecord], candidate: &[RunRecord]) -> anyhow::Result<()> {
    let (Some(baseline), Some(candidate)) = (baseline.first(), candidate.first()) else {
        return Ok(());
    };
    let [old, new] =
        [Json::from_value(baseline.deployment())?, Json::from_value(candidate.deployment())?];
    let Json::Object(members) = &old else { return Ok(()) };
    for (name, value) in members {
        let other = new.member(name).unwrap_or(&Json::Null);
        if value != other {
            let [value, other] = [serde_json::to_string(value)?, serde_json::to_string(other)?];
            console::remark(&format!("note: {name} was declared {value}, and {other}"));
        }
    }
    Ok(())
}

/// The exit code that a comparison deserves.
pub(crate) fn exit_of(comparison: &Comparison) -> Exit {
    match verdict(comparison) {
        GateOutcome::Passed => Exit::Done,
        GateOutcome::Failed => Exit::GateFailed,
        GateOutcome::Ineligible | GateOutcome::NotEvaluated => Exit::Inconclusive,
    }
}

/// Writes a comparison's file, which must not exist.
pub(crate) fn write_comparison(comparison: &Comparison, path: &Path) -> anyhow::Result<()> {
    Ok(write_new(path, &file_bytes(comparison, Layout::AsGiven)?, 0o644)?)
}

fn print(comparison: &Comparison, format: Format) -> anyhow::Result<()> {
    let text = match format {
        Format::Json => String::from_utf8(file_bytes(comparison, Layout::AsGiven)?)
            .context("canonical bytes are ASCII")?,
        Format::Markdown | Format::Table => show::comparison(comparison, format),
    };
    Ok(console::result(&text)?)
}

fn load_all(paths: &[PathBuf]) -> anyhow::Result<Vec<RunRecord>> {
    let mut records = Vec::new();
    for path in paths {
        records.extend(load(path)?);
    }
    Ok(records)
}

/// The records behind a path: a record, a run directory, or a folder of them.
fn load(path: &Path) -> anyhow::Result<Vec<RunRecord>> {
    if !path.is_dir() {
        return Ok(vec![load_record(path)?]);
    }
    if RunDir::at(path).record().exists() {
        return Ok(vec![load_run(&RunDir::at(path))?]);
    }
    let mut found: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| RunDir::at(folder).record().exists())
        .collect();
    found.sort();
    if found.is_empty() {
        bail!("{} is no run directory and holds none", path.display());
    }
    found.iter().map(|folder| load_run(&RunDir::at(folder))).collect()
}

/// The record of a run directory, which must be what its journal gives.
fn load_run(dir: &RunDir) -> anyhow::Result<RunRecord> {
    let record = load_record(&dir.record())?;
    if dir.journal().exists()
        && let Some(difference) = rebuild(dir)?.difference(dir)?
    {
        bail!("{} does not verify: {difference}", dir.path().display());
    }
    Ok(record)
}

fn load_record(path: &Path) -> anyhow::Result<RunRecord> {
    let shown = || path.display().to_string();
    let document = Document::read(&read_file(path)?).with_context(shown)?;
    if let Some(broken) = verify(&document).broken().next() {
        bail!("{} does not verify: {}: {}", shown(), broken.rule, broken.statement);
    }
    match document {
        Document::Run(record) => Ok(record),
        Document::Comparison(_) | Document::ComparisonV2(_) => {
            bail!("{} is a comparison, not a run record", shown())
        }
    }
}
