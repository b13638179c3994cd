//! The page of several runs of one deployment: what latency a throughput costs.

use askama::Template;
use streamgauge_schema::{EvidenceMode, RunRecordV2};

use super::glossary::{Glossary, Term};
use super::rows::value;
use super::run::moment;
use super::shell::{Shell, fill};
use super::verdict::{Tone, Verdict};
use crate::error::PageError;
use crate::figures::spec;
use crate::number::{known, of};
use crate::plot::{Colour, Line, Place, Plot, curve};
use crate::words::counted;

/// What stands in the columns of the table.
const COLUMNS: [(&str, &str); 7] = [
    ("TTFT, median", "ttft_p50_ms"),
    ("TTFT, p95", "ttft_p95_ms"),
    ("E2E, median", "e2e_p50_ms"),
    ("E2E, p95", "e2e_p95_ms"),
    ("TPOT, median", "tpot_p50_ms"),
    ("Completion throughput", "completion_throughput_tps"),
    ("Request throughput", "request_throughput_per_s"),
];

#[derive(Template)]
#[template(path = "sweep.html")]
struct SweepPage {
    shell: Shell,
    heading: String,
    is_simulated: bool,
    verdict: Verdict,
    plots: Vec<Plot>,
    columns: Vec<Column>,
    rows: Vec<CellRow>,
    limitations: Vec<String>,
    glossary: Glossary,
}

/// A column of figures.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) term: Option<Term>,
}

/// One run.
#[derive(Debug)]
pub(super) struct CellRow {
    pub(super) cell: String,
    pub(super) run: String,
    pub(super) started: String,
    pub(super) succeeded: String,
    pub(super) eligible: &'static str,
    pub(super) tone: Tone,
    pub(super) figures: Vec<String>,
}

/// The table and the plots of several runs.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<CellRow>,
    pub(super) plots: Vec<Plot>,
    pub(super) knee: Knee,
}

/// Where more load stops to pay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Knee {
    /// At this cell.
    At(String),
    /// At no lighter load than that of this cell, the heaviest.
    Beyond(String),
    /// There are too few cells to tell.
    Unknown,
}

/// The page of several runs, each a cell at another load.
///
/// # Errors
/// [`PageError`], which no records that read should cause.
pub fn sweep_page(runs: &[RunRecordV2]) -> Result<String, PageError> {
    let mut glossary = Glossary::default();
    let mut sorted: Vec<&RunRecordV2> = runs.iter().collect();
    sorted.sort_by(|a, b| load_of(a).total_cmp(&load_of(b)));
    let Cells { columns, rows, plots, knee } = Cells::of(&sorted, &mut glossary)?;
    let mut models: Vec<&str> = runs.iter().map(|run| run.deployment.model.as_str()).collect();
    models.dedup();
    let heading = format!("{}, {}", models.join(", "), counted(runs.len() as u64, "run", "runs"));
    // What all of them say; the others name figures of one run.
    let first = runs.first().map_or(&[][..], |run| &run.limitations);
    let common = first.iter().filter(|it| runs.iter().all(|run| run.limitations.contains(it)));
    let limitations = common.map(ToString::to_string).collect();
    fill(&SweepPage {
        shell: Shell::titled(format!("{heading} · sweep report")),
        heading,
        is_simulated: runs.iter().any(|run| run.evidence_mode == EvidenceMode::Simulated),
        verdict: verdict(runs, knee),
        plots,
        columns,
        rows,
        limitations,
        glossary,
    })
}

fn verdict(runs: &[RunRecordV2], knee: Knee) -> Verdict {
    let eligible = runs.iter().filter(|run| run.load.performance_eligible).count();
    let tone = match eligible {
        0 => Tone::Bad,
        all if all == runs.len() => Tone::Good,
        _ => Tone::Open,
    };
    let text = format!("{} runs are eligible.", of(eligible as u64, runs.len() as u64));
    let (word, more) = match knee {
        Knee::At(cell) => (format!("Knee at {cell}"), String::new()),
        Knee::Beyond(cell) => (
            format!("No knee up to {cell}"),
            " Throughput for its latency grew up to the heaviest cell.".to_owned(),
        ),
        Knee::Unknown => {
            ("No knee known".to_owned(), " A knee needs three eligible cells.".to_owned())
        }
    };
    let text = text + &more;
    Verdict { tone, word, text, reasons: Vec::new() }
}

impl Cells {
    /// Of runs from the lightest load to the heaviest.
    pub(super) fn of(sorted: &[&RunRecordV2], glossary: &mut Glossary) -> Result<Self, PageError> {
        let columns = COLUMNS.map(|(name, id)| {
            let spec = spec(id);
            Column {
                name,
                unit: spec.map_or("", |spec| spec.unit.as_str()),
                term: spec.map(|spec| glossary.quantity(spec)),
            }
        });
        let knee = knee(sorted);
        let plots = [
            ("curve-e2e", "End-to-end latency over throughput", "e2e_p50_ms", "e2e_p95_ms"),
            ("curve-ttft", "Time to first output over throughput", "ttft_p50_ms", "ttft_p95_ms"),
        ];
        let plots = plots.into_iter().map(|(id, title, median, p95)| {
            let line = |name: &str, colour, metric| Line {
                name: name.to_owned(),
                colour,
                places: places(sorted, metric, &knee),
            };
            let lines = [line("median", Colour::First, median), line("p95", Colour::Second, p95)];
            let plot = curve(id, title, rate_of(sorted).1, &lines)?;
            let note = if id == "curve-e2e" { note(&knee) } else { String::new() };
            Ok(plot.map(|plot| Plot { note, ..plot }))
        });
        let plots = plots.filter_map(Result::transpose).collect::<Result<_, PageError>>()?;
        Ok(Self {
            columns: columns.into(),
            rows: sorted.iter().map(|run| row(run)).collect(),
            plots,
            knee,
        })
    }
}

fn note(knee: &Knee) -> String {
    if !matches!(knee, Knee::At(_)) {
        return String::new();
    }
    "The ring is the knee: the eligible cell with the most throughput for its median end-to-end \
     latency. Beyond it requests wait for longer than the server gains."
        .to_owned()
}

fn row(run: &RunRecordV2) -> CellRow {
    let shown = |(_, id): &(&str, &str)| {
        let metric = run.metrics.iter().find(|it| it.id.as_str() == *id);
        metric.map_or_else(|| crate::number::NONE.to_owned(), |it| value(it.value, it.unit))
    };
    let eligible = run.load.performance_eligible;
    CellRow {
        cell: run.load.cell.to_string(),
        run: run.run_id.to_string(),
        started: moment(run.started_at),
        succeeded: of(run.load.succeeded, run.load.offered),
        eligible: if eligible { "eligible" } else { "not eligible" },
        tone: if eligible { Tone::Good } else { Tone::Bad },
        figures: COLUMNS.iter().map(shown).collect(),
    }
}

/// How heavy the load was: what was under way at once.
fn load_of(run: &RunRecordV2) -> f64 {
    run.windows.whole.map_or(0.0, |window| window.mean_inflight)
}

/// The throughput that all runs have: of tokens, else of requests; with its unit.
fn rate_of(runs: &[&RunRecordV2]) -> (&'static str, &'static str) {
    let id = "completion_throughput_tps";
    if runs.iter().all(|run| figure_of(run, id).is_some() || run.load.succeeded == 0) {
        (id, "tok/s")
    } else {
        ("request_throughput_per_s", "req/s")
    }
}

fn figure_of(run: &RunRecordV2, id: &str) -> Option<f64> {
    let metric = run.metrics.iter().find(|metric| metric.id.as_str() == id)?;
    metric.value.filter(|value| value.is_finite() && *value >= 0.0)
}

fn places(runs: &[&RunRecordV2], latency: &str, knee: &Knee) -> Vec<Place> {
    let rate = rate_of(runs).0;
    let places = runs.iter().filter_map(|run| {
        let cell = run.load.cell.to_string();
        let is_knee = matches!(knee, Knee::At(at) if *at == cell);
        let throughput = figure_of(run, rate)?;
        Some(Place { cell, throughput, latency_ms: figure_of(run, latency)?, is_knee })
    });
    places.collect()
}

/// The eligible cell with the most throughput for its latency, of at least three.
fn knee(sorted: &[&RunRecordV2]) -> Knee {
    let rate = rate_of(sorted).0;
    let power = |run: &&RunRecordV2| {
        let latency = figure_of(run, "e2e_p50_ms").filter(|ms| *ms > 0.0)?;
        Some((figure_of(run, rate)? / latency, run.load.cell.to_string()))
    };
    let eligible = sorted.iter().filter(|run| run.load.performance_eligible);
    let powers: Vec<(f64, String)> = eligible.filter_map(power).collect();
    // A cell may have been measured several times.
    let mut cells: Vec<&str> = powers.iter().map(|(_, cell)| cell.as_str()).collect();
    cells.sort_unstable();
    cells.dedup();
    let most = powers.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    match (most, powers.last()) {
        (Some((_, cell)), Some((_, last))) if cells.len() >= 3 && cell == last => {
            Knee::Beyond(cell.clone())
        }
        (Some((_, cell)), _) if cells.len() >= 3 => Knee::At(cell.clone()),
        _ => Knee::Unknown,
    }
}

/// A load as it is said.
pub(super) fn load_figure(load: f64) -> String {
    if load.fract() == 0.0 && load.abs() < 1e15 { crate::number::tick(load) } else { known(load) }
}
