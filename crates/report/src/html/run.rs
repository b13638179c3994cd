//! The page of one run: the verdict, what was measured, the figures, and what they do not say.

use askama::Template;
use streamgauge_schema::{
    Condition, Evidence, EvidenceMode, RunRecord, RunRecordV2, Timestamp, WindowName,
};

use super::glossary::Glossary;
use super::plots::{FailureRow, Plots, failures, not_succeeded};
use super::replicas::{ReplicaRow, replica_rows};
use super::rows::Tables;
use super::shards::{ShardRow, shard_rows};
use super::shell::{Shell, fill};
use super::tiles::{Tile, tiles};
use super::verdict::Verdict;
use crate::error::PageError;
use crate::figures::Figures;
use crate::number::{count, figure, known, of};
use crate::requests::Requests;
use crate::words::spaced;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    shell: Shell,
    heading: String,
    is_simulated: bool,
    verdict: Verdict,
    tiles: Vec<Tile>,
    facts: Vec<Fact>,
    tables: Tables,
    replicas: Vec<ReplicaRow>,
    shards: Vec<ShardRow>,
    nothing_succeeded: bool,
    steady: Option<Steady>,
    plots: Option<Plots>,
    outcomes: Vec<Fact>,
    failures: Vec<FailureRow>,
    conditions: Vec<Fact>,
    limitations: Vec<String>,
    glossary: Glossary,
    evidence: Vec<Fact>,
}

/// Something that is so.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) label: String,
    pub(super) value: String,
}

/// The figures of the steady window.
struct Steady {
    place: String,
    tables: Tables,
}

/// The page of a run, from its record and the requests of its journal. Without them the plots that need
/// single requests are left out, and the page says so.
///
/// # Errors
/// [`PageError`], which no record that reads should cause.
pub fn run_page(record: &RunRecord, requests: Option<&Requests>) -> Result<String, PageError> {
    let heading = heading(record);
    let mut glossary = Glossary::default();
    let (tables, steady) = match record {
        RunRecord::V1(record) => (Tables::of_version_1(&record.metrics, &mut glossary), None),
        RunRecord::V2(record) => (
            Tables::of(&Figures::of(&record.metrics, WindowName::Whole), &mut glossary),
            steady(record, &mut glossary),
        ),
    };
    let (plots, failures, outcomes) = match (record, requests) {
        (RunRecord::V2(record), Some(requests)) => (
            Some(Plots::of(record, requests)?),
            failures(requests, record.load.offered),
            outcomes(record),
        ),
        (RunRecord::V2(record), None) => (None, Vec::new(), outcomes(record)),
        (RunRecord::V1(_), _) => (None, Vec::new(), Vec::new()),
    };
    fill(&RunPage {
        shell: Shell::titled(format!("{heading} · run report")),
        heading,
        is_simulated: *record.evidence_mode() == EvidenceMode::Simulated,
        verdict: Verdict::of_run(record),
        tiles: match record {
            RunRecord::V1(_) => Vec::new(),
            RunRecord::V2(record) => tiles(record),
        },
        facts: facts(record),
        tables,
        replicas: match record {
            RunRecord::V1(_) => Vec::new(),
            RunRecord::V2(record) => replica_rows(&record.replicas),
        },
        shards: match record {
            RunRecord::V1(_) => Vec::new(),
            RunRecord::V2(record) => shard_rows(&record.shards),
        },
        nothing_succeeded: record.performance().transport_successes == 0,
        steady,
        plots,
        outcomes,
        failures,
        conditions: conditions(record.conditions()),
        limitations: record.limitations().iter().map(ToString::to_string).collect(),
        glossary,
        evidence: evidence(record),
    })
}

impl Fact {
    pub(super) fn new(label: &str, value: impl Into<String>) -> Self {
        Self { label: label.to_owned(), value: value.into() }
    }
}

/// What was measured, in a few words.
pub(super) fn heading(record: &RunRecord) -> String {
    let cell = match record {
        RunRecord::V1(record) => record.deployment.profile.to_string(),
        RunRecord::V2(record) => record.load.cell.to_string(),
    };
    format!("{}, cell {cell}", record.deployment().model)
}

fn facts(record: &RunRecord) -> Vec<Fact> {
    let (deployment, cell) = (record.deployment(), record.performance());
    let text = |value: &Option<_>| value.as_ref().map(ToString::to_string);
    let runtime = deployment.runtime.as_ref().map(|runtime| match &deployment.runtime_version {
        Some(version) => format!("{runtime} {version}"),
        None => runtime.to_string(),
    });
    let tokens = cell.actual_input_tokens_min.zip(cell.actual_input_tokens_max);
    let found = [
        ("Run", Some(record.run_id().to_string())),
        ("Started", Some(moment(*record.started_at()))),
        ("Ended", Some(moment(*record.completed_at()))),
        ("Evidence", Some(spaced(record.evidence_mode().as_str()))),
        ("Deployment", Some(deployment.id.to_string())),
        ("Model", Some(deployment.model.to_string())),
        ("Revision", text(&deployment.revision)),
        ("Runtime", runtime),
        ("Quantization", text(&deployment.quantization)),
        ("Variant", text(&deployment.variant)),
        ("Hardware", text(&deployment.hardware)),
        ("Load", load(record)),
        ("Caches", Some(spaced(cell.cache_state.as_str()))),
        (
            "Prompt tokens",
            tokens.map(|(least, most)| match least == most {
                true => count(least),
                false => format!("{} to {}", count(least), count(most)),
            }),
        ),
        ("Peak in flight", cell.observed_peak_inflight.map(count)),
    ];
    found.into_iter().filter_map(|(label, value)| Some(Fact::new(label, value?))).collect()
}

/// A moment to the second, which is what a reader looks for; the record has its microseconds.
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('T') {
        Some((day, time)) => format!("{day} {} UTC", time.get(..8).unwrap_or(time)),
        None => text,
    }
}

fn load(record: &RunRecord) -> Option<String> {
    let RunRecord::V2(record) = record else { return None };
    let load = &record.load;
    let warmup = match load.warmup {
        0 => String::new(),
        some => format!(", after {} of warm-up", count(some)),
    };
    Some(format!("{}, {} requests{warmup}", spaced(load.shape.as_str()), count(load.offered)))
}

fn steady(record: &RunRecordV2, glossary: &mut Glossary) -> Option<Steady> {
    let window = record.windows.steady?;
    let figures = Figures::of(&record.metrics, WindowName::Steady);
    let tables = Tables::of(&figures, glossary);
    let seconds = |ms: f64| figure(Some(ms / 1000.0));
    let place = format!(
        "from {} s to {} s of the run, with {} requests in flight on average",
        seconds(window.from_ms.value()),
        seconds(window.to_ms.value()),
        known(window.mean_inflight),
    );
    let shown = !tables.quantities.is_empty() || !tables.singles.is_empty();
    shown.then_some(Steady { place, tables })
}

/// What became of the requests that did not succeed.
fn outcomes(record: &RunRecordV2) -> Vec<Fact> {
    let found = not_succeeded(record).into_iter();
    found.map(|(what, number)| Fact::new(&spaced(what), of(number, record.load.offered))).collect()
}

fn conditions(of: &[Condition]) -> Vec<Fact> {
    of.iter().map(|it| Fact::new(it.label.as_str(), it.value.as_str())).collect()
}

fn evidence(record: &RunRecord) -> Vec<Fact> {
    let files = match record {
        RunRecord::V1(record) => &record.evidence,
        RunRecord::V2(record) => &record.evidence,
    };
    let value = |file: &Evidence| format!("{} bytes, SHA-256 {}", count(file.bytes), file.sha256);
    files.iter().map(|file| Fact::new(file.name.as_str(), value(file))).collect()
}
