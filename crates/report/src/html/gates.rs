//! The gates of a comparison: a plot and a table for each cell.

use streamgauge_metrics::{Compared, Standings, compared_direction, recorded_id};
use streamgauge_schema::{
    CellComparison, CellComparisonV2, ComparedFigure, Direction, GateStanding, Interval, StoodGate,
    Unit,
};

use super::glossary::{Glossary, Term};
use super::verdict::Tone;
use crate::error::PageError;
use crate::figures::spec;
use crate::number::{NONE, change, figure, share, tick};
use crate::plot::{Held, Plot, forest};
use crate::words::{better, standing, unit};

/// The gate on right answers, whose changes are in percentage points.
const RIGHT_ANSWERS: &str = "pass_ratio";

/// The gates of one cell.
#[derive(Debug)]
pub(super) struct GateCell {
    pub(super) name: String,
    pub(super) anchor: String,
    pub(super) plot: Option<Plot>,
    pub(super) rows: Vec<GateRow>,
    /// Why no verdict on speed is given.
    pub(super) void: Option<String>,
}

/// One gate.
#[derive(Debug)]
pub(super) struct GateRow {
    pub(super) term: Term,
    pub(super) unit: &'static str,
    pub(super) baseline: String,
    pub(super) candidate: String,
    pub(super) change: String,
    pub(super) interval: String,
    pub(super) noise: String,
    pub(super) limit: String,
    pub(super) verdict: &'static str,
    pub(super) tone: Tone,
    pub(super) reason: String,
}

/// What a comparison says of a gate beside how it stands.
struct Figures<'a> {
    baseline: Option<f64>,
    candidate: Option<f64>,
    noise_percent: Option<f64>,
    unit: Unit,
    direction: Direction,
    definition: &'a str,
}

/// The cells in the comparison's order.
pub(super) fn gate_cells(
    compared: Compared<'_>,
    standings: &Standings,
    glossary: &mut Glossary,
) -> Result<Vec<GateCell>, PageError> {
    let cells: Vec<(&str, Vec<Figures<'_>>, Option<String>)> = match compared {
        Compared::V1(it) => {
            let cells = it.cells.iter();
            cells.map(|(name, cell)| (name.as_str(), of_points(cell), None)).collect()
        }
        Compared::V2(it) => it
            .cells
            .iter()
            .map(|(name, cell)| {
                let void = cell.speed_void.as_ref().map(ToString::to_string);
                (name.as_str(), of_intervals(cell), void)
            })
            .collect(),
    };
    // Gates stand in the order of the cells and of their metrics.
    let mut gates = standings.gates.iter();
    let cells = cells.into_iter().enumerate().map(|(place, (name, figures, void))| {
        let pairs: Vec<_> = gates.by_ref().take(figures.len()).zip(figures).collect();
        let held = pairs.iter().filter(|(gate, _)| gate.metric.as_str() != RIGHT_ANSWERS);
        let held: Vec<Held<'_>> = held.map(|(gate, figures)| held_to(gate, figures)).collect();
        Ok(GateCell {
            name: name.to_owned(),
            anchor: format!("cell-{place}"),
            plot: forest(format!("forest-{place}"), &format!("Changes in cell {name}"), &held)?,
            rows: pairs.iter().map(|(gate, figures)| row(gate, figures, glossary)).collect(),
            void,
        })
    });
    cells.collect()
}

fn of_points(cell: &CellComparison) -> Vec<Figures<'_>> {
    let figures = cell.metrics.iter().map(|(metric, it)| {
        let direction = compared_direction(metric.as_str());
        let is_rate = direction == Direction::HigherIsBetter;
        Figures {
            baseline: it.baseline,
            candidate: it.candidate,
            noise_percent: None,
            unit: if is_rate { Unit::TokensPerSecond } else { Unit::Milliseconds },
            direction,
            definition: "",
        }
    });
    figures.collect()
}

fn of_intervals(cell: &CellComparisonV2) -> Vec<Figures<'_>> {
    let mean = |values: &[ComparedFigure]| {
        let known: Vec<f64> = values.iter().filter_map(|it| it.value).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let answers = cell.correctness.as_ref().map(|it| Figures {
        baseline: mean(&it.baseline),
        candidate: mean(&it.candidate),
        noise_percent: None,
        unit: Unit::Ratio,
        direction: Direction::HigherIsBetter,
        definition: "",
    });
    let metrics = cell.metrics.iter().map(|(_, it)| Figures {
        baseline: it.baseline_mean,
        candidate: it.candidate_mean,
        noise_percent: it.noise_percent,
        unit: it.unit,
        direction: it.direction,
        definition: it.definition.as_str(),
    });
    answers.into_iter().chain(metrics).collect()
}

fn held_to<'a>(gate: &'a StoodGate, figures: &Figures<'_>) -> Held<'a> {
    Held {
        name: gate.metric.to_string(),
        direction: figures.direction,
        limit_percent: gate.limit_percent,
        delta_percent: gate.delta_percent,
        pass_interval: gate.pass_interval.as_ref(),
        fail_interval: gate.fail_interval.as_ref(),
    }
}

fn row(gate: &StoodGate, figures: &Figures<'_>, glossary: &mut Glossary) -> GateRow {
    let in_points = gate.metric.as_str() == RIGHT_ANSWERS;
    let behind = if in_points { " points" } else { " %" };
    let value = |value: Option<f64>| match (figures.unit, value) {
        (Unit::Ratio, Some(value)) => share(value),
        (_, value) => figure(value),
    };
    GateRow {
        term: term(gate, figures, glossary),
        unit: unit(figures.unit),
        baseline: value(figures.baseline),
        candidate: value(figures.candidate),
        change: gate
            .delta_percent
            .map_or_else(|| NONE.to_owned(), |delta| format!("{}{behind}", change(delta))),
        interval: gate.pass_interval.as_ref().map_or_else(|| NONE.to_owned(), ends),
        noise: figures.noise_percent.map_or_else(|| NONE.to_owned(), |it| format!("{it:.2} %")),
        limit: format!("{}{behind}", tick(gate.limit_percent)),
        verdict: standing(gate.verdict),
        tone: tone(gate.verdict),
        reason: gate.reason.to_string(),
    }
}

/// The metric, by its own id: of a quantity there may be several gates.
fn term(gate: &StoodGate, figures: &Figures<'_>, glossary: &mut Glossary) -> Term {
    let id = gate.metric.as_str();
    let named = match spec(recorded_id(id)) {
        Some(spec) => Term { definition: spec.definition.to_string(), ..glossary.quantity(spec) },
        None => glossary.own(
            id,
            if figures.definition.is_empty() { gate.reason.as_str() } else { figures.definition },
            (figures.unit, better(figures.direction), "as the metric's definition says"),
        ),
    };
    Term { name: id.to_owned(), ..named }
}

fn ends(interval: &Interval) -> String {
    let end = |value: Option<f64>, without: &str| value.map_or_else(|| without.to_owned(), change);
    format!("{} … {}", end(interval.lower, "−∞"), end(interval.upper, "∞"))
}

/// How a standing is meant.
pub(super) fn tone(of: GateStanding) -> Tone {
    match of {
        GateStanding::Fail => Tone::Bad,
        GateStanding::Pass => Tone::Good,
        GateStanding::Inconclusive | GateStanding::Ineligible | GateStanding::NotEvaluated => {
            Tone::Open
        }
    }
}
