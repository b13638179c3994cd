//! `streamgauge report`: what people and other tools read, made from records.

mod html;

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge report --html runs/build-7-…             # writes report.html into it
  streamgauge report --html -o build-7.html runs/build-7-…/record.json")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    format: ReportFormat,
    /// Run directory or record
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// File to write, or - for standard output [default: report.html in the run directory, or
    /// beside the record by its name]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is written; exactly one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ReportFormat {
    /// One self-contained page, which needs no network and no script
    #[arg(long)]
    html: bool,
}

/// Writes what was asked for.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    html::html(&args.paths, args.out.as_deref())?;
    Ok(Exit::Done)
}
