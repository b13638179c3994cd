//! What a plan will take and what it can decide: known before anything is contacted.

mod time;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;
use streamgauge_client::read_file;
use streamgauge_metrics::{BlockNoise, Change, Limit, Sureness};
use streamgauge_schema::{
    Activation, ComparisonV2, Direction, Document, Gate, Identifier, QualificationPlan, RunRecord,
};

use self::time::Earlier;
use super::dir::QualificationDir;
use super::resolve::Resolved;
use crate::console;
use crate::gates::needs_grader;
use crate::records::load;

pub(crate) use self::time::TimeOutlook;

/// The chance of a decision that the numbers of blocks are given for.
const POWER: f64 = 0.8;
/// Runs of one build from which the noise between them is known.
const FEWEST_RUNS: usize = 3;
/// How sure the upper bound of the noise is.
const NOISE_LEVEL: f64 = 0.8;

/// A plan before its first step.
#[derive(Debug, Serialize)]
pub(crate) struct Outlook {
    pub(crate) name: Identifier,
    pub(crate) planned_blocks: Vec<u64>,
    pub(crate) visits: Vec<PlannedVisit>,
    /// Runs up to the last look.
    pub(crate) runs: u64,
    /// Requests up to the last look, warm-up included.
    pub(crate) requests: u64,
    /// Whether time ends a cell, so that fewer may be sent.
    pub(crate) requests_at_most: bool,
    pub(crate) activations: u64,
    pub(crate) time: TimeOutlook,
    /// Chance of a wrong verdict in each look.
    pub(crate) alpha: f64,
    pub(crate) power: f64,
    pub(crate) gates: Vec<GateOutlook>,
}

/// One visit of an arm.
#[derive(Debug, Serialize)]
pub(crate) struct PlannedVisit {
    pub(crate) visit: String,
    pub(crate) activates: bool,
}

/// One gate in one cell.
#[derive(Debug, Serialize)]
pub(crate) struct GateOutlook {
    pub(crate) cell: Identifier,
    pub(crate) metric: Identifier,
    pub(crate) limit_percent: f64,
    /// `None` where no source knows the noise.
    pub(crate) noise: Option<NoiseOutlook>,
}

/// What earlier runs say of a gate.
#[derive(Debug, Serialize)]
pub(crate) struct NoiseOutlook {
    /// Where the noise comes from.
    pub(crate) source: String,
    /// Noise of a block.
    pub(crate) percent: f64,
    /// The most that it is, with a chance of four in five.
    pub(crate) upper_percent: Option<f64>,
    /// Smallest change that the planned blocks tell from none.
    pub(crate) detectable_percent: Option<f64>,
    /// Blocks by which an unchanged candidate passes the limit.
    pub(crate) blocks_needed: Option<u64>,
    /// The same, if the noise is the most that it may be.
    pub(crate) blocks_needed_at_most: Option<u64>,
}

/// Earlier measurements that tell the noise.
enum Source {
    Comparison { name: String, comparison: Box<ComparisonV2> },
    Runs(Vec<RunRecord>),
}

impl Outlook {
    /// Looks ahead, with the noise of earlier measurements.
    pub(crate) fn of(resolved: &Resolved, from: &[PathBuf]) -> anyhow::Result<Self> {
        let plan = &resolved.plan;
        let sources = sources(from)?;
        let visits = visits(plan);
        let loads = resolved.loads();
        let requests = loads
            .iter()
            .map(|(load, runs)| load.requests.saturating_add(load.warmup).saturating_mul(*runs));
        let alpha = plan.gates.alpha() / plan.planned_blocks.len() as f64;
        let sureness = Sureness { alpha, power: POWER };
        let gates = plan
            .cells
            .iter()
            .flat_map(|cell| plan.gates.gates().iter().map(move |gate| (cell, gate)));
        let gates: Vec<GateOutlook> = gates
            .map(|(cell, gate)| GateOutlook {
                cell: cell.clone(),
                metric: gate.metric.clone(),
                limit_percent: gate.limit_percent,
                noise: noise(&sources, cell, gate, plan.most_blocks(), sureness),
            })
            .collect();
        say_too_few(&sources, &gates);
        let activations = visits.iter().filter(|visit| visit.activates).count() as u64;
        Ok(Self {
            name: plan.name.clone(),
            planned_blocks: plan.planned_blocks.clone(),
            runs: loads.iter().map(|(_, runs)| runs).sum(),
            requests: requests.fold(0, u64::saturating_add),
            requests_at_most: loads.iter().any(|(load, _)| load.duration_ms.is_some()),
            activations,
            time: Earlier::read(from)?.outlook(&loads, activations),
            visits,
            alpha,
            power: POWER,
            gates,
        })
    }
}

fn visits(plan: &QualificationPlan) -> Vec<PlannedVisit> {
    let mut before = None;
    let visit = |visit: streamgauge_schema::Visit| {
        let switches = visit.switches_from(before);
        before = Some(visit);
        let activates = switches && plan.arm(visit).activation != (Activation::None {});
        PlannedVisit { visit: visit.to_string(), activates }
    };
    plan.visits().into_iter().map(visit).collect()
}

/// Says of which cells too few runs were given to know the noise.
fn say_too_few(sources: &[Source], gates: &[GateOutlook]) {
    let runs = sources.iter().find_map(|source| match source {
        Source::Runs(runs) => Some(runs),
        Source::Comparison { .. } => None,
    });
    let Some(runs) = runs else { return };
    let mut cells: Vec<&Identifier> =
        gates.iter().filter(|gate| gate.noise.is_none()).map(|gate| &gate.cell).collect();
    cells.dedup();
    for cell in cells {
        let is_of_cell =
            |run: &&RunRecord| matches!(run, RunRecord::V2(run) if run.load.cell == *cell);
        let found = runs.iter().filter(is_of_cell).count();
        if found < FEWEST_RUNS {
            console::remark(&format!(
                "note: --from: runs of cell {cell}: {found}; {FEWEST_RUNS} of one build are needed to \
                 know its noise"
            ));
        }
    }
}

fn sources(from: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut runs = Vec::new();
    for path in from {
        let dir = QualificationDir::at(path);
        if dir.is_one() {
            sources.extend(of_qualification(&dir)?);
        } else if let Some(comparison) = comparison(path)? {
            sources.push(comparison);
        } else {
            runs.extend(load(path)?.into_iter().map(|run| run.record));
        }
    }
    if !runs.is_empty() {
        sources.push(Source::Runs(runs));
    }
    Ok(sources)
}

/// The comparisons of a qualification: each tells the noise of its blocks.
fn of_qualification(dir: &QualificationDir) -> anyhow::Result<Vec<Source>> {
    let compared = super::Course::of(&dir.read_log()?.0).compared;
    if compared.is_empty() {
        bail!("{} has no comparison yet", dir.path().display());
    }
    let of = |known| {
        let comparison = Box::new(super::kept(dir, known)?);
        Ok(Source::Comparison { name: known.file.to_string(), comparison })
    };
    compared.iter().map(of).collect()
}

fn comparison(path: &Path) -> anyhow::Result<Option<Source>> {
    if path.is_dir() {
        return Ok(None);
    }
    let shown = || path.display().to_string();
    match Document::read(&read_file(path)?).with_context(shown)? {
        Document::ComparisonV2(comparison) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Some(Source::Comparison { name, comparison }))
        }
        Document::Comparison(_) => {
            bail!("{} is a comparison by points, which knows no noise", path.display())
        }
        _ => Ok(None),
    }
}

/// The noise of one gate in one cell, from the source that knows it best.
fn noise(
    sources: &[Source],
    cell: &Identifier,
    gate: &Gate,
    blocks: u64,
    sureness: Sureness,
) -> Option<NoiseOutlook> {
    let known = sources.iter().filter_map(|source| source.noise(cell, gate));
    let best = known.reduce(|best, other| {
        if other.noise.degrees_of_freedom() > best.noise.degrees_of_freedom() {
            other
        } else {
            best
        }
    })?;
    let limit = Limit::new(gate.limit_percent, gate.direction.unwrap_or(best.direction));
    let upper = best.noise.upper(NOISE_LEVEL);
    let needed = |noise: BlockNoise| noise.blocks_needed(limit?, sureness);
    Some(NoiseOutlook {
        source: best.source,
        percent: best.noise.percent(),
        upper_percent: upper.map(BlockNoise::percent),
        detectable_percent: best.noise.detectable_percent(blocks, sureness),
        blocks_needed: needed(best.noise),
        blocks_needed_at_most: upper.and_then(needed),
    })
}

struct Known {
    noise: BlockNoise,
    direction: Direction,
    source: String,
}

impl Source {
    /// Right answers are judged by pairs of prompts, and runs tell no noise of these.
    fn noise(&self, cell: &Identifier, gate: &Gate) -> Option<Known> {
        if needs_grader(&gate.metric) {
            return None;
        }
        match self {
            Self::Comparison { name, comparison } => {
                let (_, compared) = comparison.cells.iter().find(|(known, _)| *known == cell)?;
                let (_, metric) = compared.metrics.iter().find(|(id, _)| **id == gate.metric)?;
                let noise = BlockNoise::of(&Change::recorded(comparison.method, metric)?)?;
                let source = format!("{} blocks, {name}", metric.baseline.len());
                Some(Known { noise, direction: metric.direction, source })
            }
            Self::Runs(runs) => {
                let of_cell = runs.iter().filter_map(|run| match run {
                    RunRecord::V2(run) if run.load.cell == *cell => {
                        run.metrics.iter().find(|metric| metric.id == gate.metric)
                    }
                    _ => None,
                });
                let metrics: Vec<_> = of_cell.collect();
                let figures: Vec<f64> = metrics.iter().filter_map(|metric| metric.value).collect();
                let noise = BlockNoise::of_runs(&figures)?;
                let direction = metrics.first()?.direction;
                Some(Known { noise, direction, source: format!("{} runs", figures.len()) })
            }
        }
    }
}
