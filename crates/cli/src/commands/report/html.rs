//! Pages of HTML: what the paths are, and where the page goes.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_client::{RunDir, read_regular};
use streamgauge_report::{Requests, is_page, run_page};
use streamgauge_schema::RunRecord;

use crate::console;
use crate::rebuild::open_journal;
use crate::records::load;

/// Longest file that is looked into before it is written over: a page has a tenth of it.
const MOST_PAGE_BYTES: u64 = 16 << 20;

/// Writes the page of what stands behind `paths`.
pub(super) fn html(paths: &[PathBuf], out: Option<&Path>) -> anyhow::Result<()> {
    let [path] = paths else { bail!("{} paths: a page shows one run", paths.len()) };
    let runs = load(path)?;
    let [run] = runs.as_slice() else {
        bail!("{} holds {} runs: a page shows one", path.display(), runs.len())
    };
    let page = run_page(&run.record, requests(path, &run.record)?.as_ref())?;
    write(&page, out.map_or_else(|| beside(path), Path::to_owned).as_path())
}

/// The requests of a run directory, where its journal is there.
fn requests(path: &Path, record: &RunRecord) -> anyhow::Result<Option<Requests>> {
    let (journal, RunRecord::V2(record)) = (RunDir::at(path).journal(), record) else {
        return Ok(None);
    };
    if !journal.exists() {
        return Ok(None);
    }
    let mut requests = Requests::of(record);
    let mut lines = open_journal(&journal)?;
    while let Some(line) = lines.next_request()? {
        requests.add(&line);
    }
    Ok(Some(requests))
}

/// `report.html` in a run directory, or a file by the record's name.
fn beside(path: &Path) -> PathBuf {
    if path.is_dir() { RunDir::at(path).report() } else { path.with_extension("html") }
}

/// Writes a page and names its file; an older page is replaced, and nothing else is.
fn write(page: &str, path: &Path) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return console::result(page);
    }
    if path.exists() && !read_regular(path, MOST_PAGE_BYTES).is_ok_and(|there| is_page(&there)) {
        bail!("{}: the file is there and is no report; -o names another", path.display());
    }
    std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    console::result(&path.display().to_string())
}
