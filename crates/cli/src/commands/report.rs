//! `streamgauge report`: what people and other tools read, made from records.

mod html;
mod table;

use std::path::{Path, PathBuf};

use clap::Args;

use self::table::CsvTable;

use crate::exit::Exit;

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge report --html runs/build-7-…             # report.html in the run
  streamgauge report --html qualifications/change-…    # its last comparison
  streamgauge report --html comparison.json runs       # with its runs' curves
  streamgauge report --html runs/build-7-search-….json # with its probes
  streamgauge report --html -o sweep.html runs/c1-… runs/c8-… runs/c32-…
  streamgauge report --csv requests runs/build-7-… > requests.csv
  streamgauge report --csv metrics runs -o metrics.csv")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    format: ReportFormat,
    /// Run directories, records, or folders of run directories. A page is of one run or of several,
    /// or of a comparison, a search or a qualification, behind which folders of its runs may stand
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// File to write, or - for standard output [default: a page goes to report.html in the
    /// directory, or beside the file by its name; a table to standard output]
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
    /// A table for spreadsheets and data frames: missing values are empty, units are in the names of
    /// columns. Requests are as private as their journal
    #[arg(long, value_name = "ROWS", value_enum)]
    csv: Option<CsvTable>,
    /// Requests as Apache Parquet, with the arrivals of output as lists; in programs that were built
    /// with the feature parquet
    #[arg(long)]
    parquet: bool,
}

/// Writes the page of what stands behind a path, where such pages go, and names its file.
pub(crate) fn page(path: &Path) -> anyhow::Result<()> {
    html::html(&[path.to_owned()], None)
}

/// Writes what was asked for.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let out = args.out.as_deref();
    match args.format.csv {
        Some(table) => table::csv(table, &args.paths, out)?,
        None if args.format.parquet => table::parquet(&args.paths, out)?,
        None => html::html(&args.paths, out)?,
    }
    Ok(Exit::Done)
}
