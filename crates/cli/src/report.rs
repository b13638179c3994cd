//! What a comparison is told with: printed, as a test report, and in the summary of a CI step. One
//! way for every command that ends in a comparison.

mod step_summary;

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use streamgauge_client::{open_regular, write_new};
use streamgauge_metrics::{Compared, standings};
use streamgauge_schema::{CanonicalError, GateStanding, Layout, file_bytes};

use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::show::{self, Page};

/// How a comparison is reported.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// File to write a JUnit report to: one test for each gate and cell; what is inconclusive or
    /// could not be judged is an error in it
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

impl ReportArgs {
    /// Refuses before anything is measured or compared what could not be written after it.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let Some(path) = &self.junit else { return Ok(()) };
        let mut beginning = Vec::new();
        if !path.exists() {
            return Ok(());
        }
        let file = open_regular(path);
        file.and_then(|file| file.take(5).read_to_end(&mut beginning))
            .with_context(|| format!("--junit {}", path.display()))?;
        // A report of last time is replaced; evidence is not.
        if !beginning.is_empty() && beginning != b"<?xml" {
            bail!("--junit {}: the file is there and is no report", path.display());
        }
        Ok(())
    }
}

/// Prints a comparison, writes the JUnit report where one was asked for, and adds to the summary of
/// a GitHub Actions step where it runs in one.
pub(crate) fn report_comparison(compared: Compared<'_>, args: &ReportArgs) -> anyhow::Result<()> {
    let page = Page::of(args.format);
    console::result(&match args.format {
        Format::Json => String::from_utf8(bytes(compared)?).context("canonical bytes are ASCII")?,
        Format::Markdown => show::comparison(compared, page),
        Format::Table => console::printable(&show::comparison(compared, page)),
    })?;
    step_summary::add(compared);
    if let Some(path) = &args.junit {
        // Since it was checked first, a comparison may have been written there.
        args.check()?;
        std::fs::write(path, show::junit(compared)?)
            .with_context(|| format!("cannot write the JUnit report to {}", path.display()))?;
        console::remark(&path.display().to_string());
    }
    Ok(())
}

/// Says where something was written: last, and beside a document of JSON on stderr.
pub(crate) fn tell_path(path: &Path, format: Format) -> anyhow::Result<()> {
    let path = path.display().to_string();
    match format {
        Format::Json => console::remark(&path),
        // In Markdown the last list would take it in.
        Format::Markdown | Format::Table => console::result(&format!("\n{path}"))?,
    }
    Ok(())
}

/// The exit code that a comparison deserves.
pub(crate) fn exit_of(compared: Compared<'_>) -> Exit {
    match standings(compared).outcome {
        GateStanding::Fail => Exit::GateFailed,
        GateStanding::Inconclusive | GateStanding::Ineligible | GateStanding::NotEvaluated => {
            Exit::Inconclusive
        }
        GateStanding::Pass => Exit::Done,
    }
}

/// Writes a comparison's file, which must not exist.
pub(crate) fn write_comparison(compared: Compared<'_>, path: &Path) -> anyhow::Result<()> {
    Ok(write_new(path, &bytes(compared)?, 0o644)?)
}

fn bytes(compared: Compared<'_>) -> Result<Vec<u8>, CanonicalError> {
    match compared {
        Compared::V1(comparison) => file_bytes(comparison, Layout::AsGiven),
        Compared::V2(comparison) => file_bytes(comparison, Layout::AsGiven),
    }
}
