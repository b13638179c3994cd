//! Tables for other programs: which records and requests stand behind the paths, and where the table
//! goes.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use streamgauge_client::{RunDir, read_file};
use streamgauge_report::{MetricTable, RequestRow, RequestTable};
use streamgauge_schema::{EvidenceMode, ImportedRequest, RunRecord, RunRecordV2, read_typed};

use crate::commands::import::REQUESTS;
use crate::console;
use crate::journals::Journals;
use crate::records::{load_place, places};

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CsvTable {
    /// A metric of a record
    Metrics,
    /// A request of a run directory
    Requests,
}

/// Writes a table of all that stands behind `paths`.
pub(super) fn csv(table: CsvTable, paths: &[PathBuf], out: Option<&Path>) -> anyhow::Result<()> {
    let places = all_places(paths)?;
    let out = out.filter(|out| *out != Path::new("-"));
    let writer: Box<dyn Write> = match out {
        None => Box::new(io::stdout().lock()),
        Some(path) => Box::new(create(path)?),
    };
    let mut writer = match table {
        CsvTable::Metrics => metrics(&places, writer)?,
        CsvTable::Requests => requests(&places, writer)?,
    };
    writer.flush().context("cannot write the table")?;
    match out {
        None => Ok(()),
        Some(path) => console::result(&path.display().to_string()),
    }
}

/// Writes the requests of all that stands behind `paths` as Parquet.
#[cfg(feature = "parquet")]
pub(super) fn parquet(paths: &[PathBuf], out: Option<&Path>) -> anyhow::Result<()> {
    let out = out.filter(|out| *out != Path::new("-"));
    let Some(out) = out else { bail!("--parquet needs -o FILE: the format is not for terminals") };
    let places = all_places(paths)?;
    let table = streamgauge_report::RequestParquet::new(create(out)?);
    let mut table = table.context("cannot write the table")?;
    for place in &places {
        each_request(place, &mut |run, row| table.add(run, row))?;
    }
    let mut file = table.finish().context("cannot write the table")?;
    file.flush().context("cannot write the table")?;
    console::result(&out.display().to_string())
}

/// Says how to get a program that writes Parquet.
#[cfg(not(feature = "parquet"))]
pub(super) fn parquet(_: &[PathBuf], _: Option<&Path>) -> anyhow::Result<()> {
    bail!(
        "this program was built without Parquet, which few need; `cargo build --release --features \
         parquet` builds one with it"
    )
}

/// Records and run directories, those of folders included.
fn all_places(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let each: Vec<Vec<PathBuf>> =
        paths.iter().map(|path| places(path)).collect::<anyhow::Result<_>>()?;
    Ok(each.concat())
}

/// A file that must not exist.
fn create(path: &Path) -> anyhow::Result<BufWriter<std::fs::File>> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    Ok(BufWriter::new(file.with_context(|| format!("cannot make {}", path.display()))?))
}

fn metrics<W: Write>(places: &[PathBuf], writer: W) -> anyhow::Result<W> {
    let mut table = MetricTable::new(writer).context("cannot write the table")?;
    for place in places {
        table.add(&load_place(place)?.record).context("cannot write the table")?;
    }
    table.finish().context("cannot write the table")
}

fn requests<W: Write>(places: &[PathBuf], writer: W) -> anyhow::Result<W> {
    let mut table = RequestTable::new(writer).context("cannot write the table")?;
    for place in places {
        each_request(place, &mut |run, row| table.add(run, row))?;
    }
    table.finish().context("cannot write the table")
}

/// Hands over every request of a run directory, in the order of its file.
fn each_request(
    place: &Path,
    take: &mut dyn FnMut(&RunRecordV2, RequestRow<'_>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let RunRecord::V2(run) = load_place(place)?.record else {
        bail!("{} is a record of version 1, beside which no requests stand", place.display())
    };
    if run.evidence_mode == EvidenceMode::Imported {
        return each_imported(place, &run, take);
    }
    let dir = RunDir::at(place);
    if !Journals::exist(&dir) {
        bail!("{}: single requests stand in run directories; name one", place.display());
    }
    let journals = Journals::open(&dir)?;
    let mut lines = journals.lines();
    while let Some(line) = lines.next_request()? {
        take(&run, RequestRow::Measured(&line)).context("cannot write the table")?;
    }
    Ok(())
}

fn each_imported(
    place: &Path,
    run: &RunRecordV2,
    take: &mut dyn FnMut(&RunRecordV2, RequestRow<'_>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let file = place.join(REQUESTS);
    if !file.exists() {
        let shown = place.display();
        bail!("{shown}: the file that it was imported from has no single requests");
    }
    let bytes = read_file(&file)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (line, number) in lines.zip(1..) {
        let request: ImportedRequest =
            read_typed(line).with_context(|| format!("{}, line {number}", file.display()))?;
        take(run, RequestRow::Imported(&request)).context("cannot write the table")?;
    }
    Ok(())
}
