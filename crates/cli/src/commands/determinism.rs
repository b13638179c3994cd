//! `streamgauge determinism`: which prompts a build answers the same each time, and where two builds
//! part.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use streamgauge_client::{RunDir, write_new};
use streamgauge_grade::determinism as held;
use streamgauge_schema::{ComparedPrompts, Determinism, digest_bytes};

use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::repeated::Repeated;
use crate::show;

/// Name of the report that a run leaves in its directory.
pub(crate) const REPORT: &str = "determinism.json";

/// Arguments of `determinism`.
#[derive(Debug, Args)]
#[command(after_help = "\
Both are run directories of `run --determinism`, of the same prompts. The candidate is held against \
the baseline on those prompts alone that the baseline answers the same each time. Exit code 1 where \
an answer is another one, or is not the same each time any more; 3 where nothing could be held \
against it.

Example:
  streamgauge run … --dataset prompts.jsonl --determinism 3 --out old
  streamgauge run … --dataset prompts.jsonl --determinism 3 --out new
  streamgauge determinism old/* new/*")]
pub(crate) struct DeterminismArgs {
    /// Run directory of the baseline
    baseline: PathBuf,
    /// Run directory of the candidate
    candidate: Option<PathBuf>,
    /// Where the report is written; it holds digests and places, and no text of an answer
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn determinism(args: &DeterminismArgs) -> anyhow::Result<Exit> {
    if let Some(out) = args.out.as_ref().filter(|out| out.exists()) {
        bail!("--out {}: the file exists, and is not written over", out.display());
    }
    let baseline = Repeated::read(&RunDir::at(&args.baseline))?;
    let candidate =
        args.candidate.as_ref().map(|path| Repeated::read(&RunDir::at(path))).transpose()?;
    if let Some(candidate) = &candidate {
        baseline.check_alike(candidate)?;
    }
    let report = held(&baseline.answers, candidate.as_ref().map(|it| &it.answers));
    let text = match args.format {
        Format::Json => as_json(&report)?,
        Format::Markdown | Format::Table => {
            show::determinism(&report, &baseline.names, args.format)
        }
    };
    console::result(&text)?;
    if let Some(out) = &args.out {
        write(&report, out)?;
        // The only document on standard output is the report itself.
        let shown = out.display().to_string();
        match args.format {
            Format::Json => console::remark(&shown),
            Format::Markdown | Format::Table => console::result(&shown)?,
        }
    }
    Ok(report.compared.as_ref().map_or(Exit::Done, exit))
}

/// Holds the answers of a run against each other, and writes what comes of it into its directory.
pub(crate) fn of_run(dir: &RunDir) -> anyhow::Result<(Determinism, Repeated)> {
    let repeated = Repeated::read(dir)?;
    let report = held(&repeated.answers, None);
    write(&report, &dir.path().join(REPORT))?;
    Ok((report, repeated))
}

fn write(report: &Determinism, path: &Path) -> anyhow::Result<()> {
    Ok(write_new(path, &digest_bytes(report)?, 0o644)?)
}

fn as_json(report: &Determinism) -> anyhow::Result<String> {
    String::from_utf8(digest_bytes(report)?).context("canonical bytes are ASCII")
}

fn exit(compared: &ComparedPrompts) -> Exit {
    let ComparedPrompts { same, differing, unstable_on_candidate, missing } = *compared;
    match (differing + unstable_on_candidate, missing, same) {
        (1.., _, _) => Exit::GateFailed,
        (0, 1.., _) | (0, 0, 0) => Exit::Inconclusive,
        (0, 0, _) => Exit::Done,
    }
}
