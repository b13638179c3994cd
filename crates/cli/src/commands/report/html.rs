//! Pages of HTML: which page the paths ask for, and where it goes.

mod subject;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_client::{RunDir, read_regular};
use streamgauge_metrics::{Compared, verify};
use streamgauge_report::{Requests, comparison_page, is_page, run_page, search_page, sweep_page};
use streamgauge_schema::{Document, Identifier, RunRecord, RunRecordV2, SearchReport};

use self::subject::{Subject, subject};
use crate::console;
use crate::evidence::records_at_hand;
use crate::input::read_document;
use crate::journals::Journals;
use crate::records::{load_all, load_run};

/// Longest file that is looked into before it is written over: a page has a tenth of it.
const MOST_PAGE_BYTES: u64 = 16 << 20;

/// Writes the page of what stands behind `paths`.
pub(super) fn html(paths: &[PathBuf], out: Option<&Path>) -> anyhow::Result<()> {
    let Some((first, more)) = paths.split_first() else { bail!("no path is given") };
    let (page, beside) = match subject(first)? {
        Subject::Comparison(path, document) => {
            (of_comparison(&path, &document, more)?, path.with_extension("html"))
        }
        Subject::Search(report) => (of_search(first, &report, more)?, first.with_extension("html")),
        Subject::Runs => {
            let runs = load_all(paths)?;
            match (runs.as_slice(), first.is_dir()) {
                ([run], true) => {
                    let dir = dir_of(first)?;
                    let page = run_page(&run.record, requests(&dir, &run.record)?.as_ref())?;
                    (page, dir.report())
                }
                ([run], false) => (run_page(&run.record, None)?, first.with_extension("html")),
                (several, _) => {
                    let page = sweep_page(&second_versions(several.iter().map(|it| &it.record))?)?;
                    let beside =
                        if more.is_empty() { first.join("report.html") } else { "".into() };
                    (page, beside)
                }
            }
        }
    };
    write(&page, out.unwrap_or(&beside))
}

/// The page of a comparison, with the curves of those of its runs that lie beside it or are named.
fn of_comparison(path: &Path, document: &Document, more: &[PathBuf]) -> anyhow::Result<String> {
    if let Some(broken) = verify(document).broken().next() {
        bail!("{} does not verify: {}: {}", path.display(), broken.rule, broken.statement);
    }
    match document {
        Document::Comparison(comparison) => {
            Ok(comparison_page(Compared::V1(comparison), &BTreeMap::new())?)
        }
        Document::ComparisonV2(comparison) => {
            let cells = comparison.cells.iter();
            let runs = cells.flat_map(|(_, it)| it.baseline_runs.iter().chain(&it.candidate_runs));
            let ids: Vec<&Identifier> = runs.map(|run| &run.run_id).collect();
            let mut found = BTreeMap::new();
            for (dir, record) in at_hand(path, more, &ids)? {
                if let Some(requests) = requests(&dir, &RunRecord::V2(Box::new(record.clone())))? {
                    found.insert(record.run_id, requests);
                }
            }
            Ok(comparison_page(Compared::V2(comparison), &found)?)
        }
        _ => bail!("{} is no comparison", path.display()),
    }
}

fn of_search(path: &Path, report: &SearchReport, more: &[PathBuf]) -> anyhow::Result<String> {
    let ids: Vec<&Identifier> = report.probes.iter().map(|probe| &probe.run_id).collect();
    let runs: Vec<RunRecordV2> =
        at_hand(path, more, &ids)?.into_iter().map(|(_, record)| record).collect();
    Ok(search_page(report, &runs)?)
}

/// The run directories beside a document, or named, whose records it names; each must be what its
/// journal gives.
fn at_hand(
    path: &Path,
    more: &[PathBuf],
    ids: &[&Identifier],
) -> anyhow::Result<Vec<(RunDir, RunRecordV2)>> {
    let mut found: Vec<(RunDir, RunRecordV2)> = Vec::new();
    for file in records_at_hand(path, more) {
        // Whatever else lies there is none of its runs.
        let document = read_document(&file).ok().and_then(|bytes| Document::read(&bytes).ok());
        let Some(Document::Run(RunRecord::V2(record))) = document else { continue };
        let is_known = found.iter().any(|(_, known)| known.run_id == record.run_id);
        if ids.contains(&&record.run_id)
            && !is_known
            && let Some(folder) = file.parent()
        {
            let dir = RunDir::at(folder);
            load_run(&dir)?;
            found.push((dir, *record));
        }
    }
    Ok(found)
}

/// The run directory that a path names, or the only one in it.
fn dir_of(path: &Path) -> anyhow::Result<RunDir> {
    if RunDir::at(path).record().exists() {
        return Ok(RunDir::at(path));
    }
    let entries =
        std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut dirs = entries.flatten().map(|entry| RunDir::at(&entry.path()));
    dirs.find(|dir| dir.record().exists())
        .with_context(|| format!("{} is no run directory and holds none", path.display()))
}

fn second_versions<'a>(
    records: impl Iterator<Item = &'a RunRecord>,
) -> anyhow::Result<Vec<RunRecordV2>> {
    let each = records.map(|record| match record {
        RunRecord::V2(record) => Ok(RunRecordV2::clone(record)),
        RunRecord::V1(record) => bail!(
            "{}: a record of version 1 does not say what load it was measured at; a page of it alone \
             shows it",
            record.run_id
        ),
    });
    each.collect()
}

/// The requests of a run directory, where its journal is there.
fn requests(dir: &RunDir, record: &RunRecord) -> anyhow::Result<Option<Requests>> {
    let RunRecord::V2(record) = record else { return Ok(None) };
    if !Journals::exist(dir) {
        return Ok(None);
    }
    let mut requests = Requests::of(record);
    let journals = Journals::open(dir)?;
    let mut lines = journals.lines();
    while let Some(line) = lines.next_request()? {
        requests.add(&line);
    }
    Ok(Some(requests))
}

/// Writes a page and names its file; an older page is replaced, and nothing else is.
fn write(page: &str, path: &Path) -> anyhow::Result<()> {
    if path.as_os_str().is_empty() {
        bail!("a page of several paths belongs to none of them: name its file with -o");
    }
    if path == Path::new("-") {
        return console::result(page);
    }
    if path.exists() && !read_regular(path, MOST_PAGE_BYTES).is_ok_and(|there| is_page(&there)) {
        bail!("{}: the file is there and is no report; -o names another", path.display());
    }
    std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    console::result(&path.display().to_string())
}
