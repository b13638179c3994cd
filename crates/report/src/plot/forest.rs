//! What changed, how surely, and which change a gate allows.

use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::style::ShapeStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use streamgauge_schema::{Direction, Interval};

use super::axis::{Axis, frame};
use super::{Colour, Key, Plot, WIDTH, draw, text};
use crate::error::PageError;
use crate::number::{change, tick};

/// Height of a row, and of what stands around the rows, in units of the plot.
const ROW: u32 = 104;
const AROUND: u32 = 136;
/// How often a limit may lie within the plot: what changed more is drawn at its edge.
const MOST_LIMITS: f64 = 12.0;

/// A gate that a change is held to.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) limit_percent: f64,
    pub(crate) delta_percent: Option<f64>,
    pub(crate) pass_interval: Option<&'a Interval>,
    pub(crate) fail_interval: Option<&'a Interval>,
}

impl Held<'_> {
    /// The change at which the limit lies, by which way the metric gets worse.
    fn edge(&self) -> f64 {
        if self.direction == Direction::HigherIsBetter {
            -self.limit_percent
        } else {
            self.limit_percent
        }
    }
}

/// The gates of one cell, one a row; `None` where none has a change.
pub(crate) fn forest(
    id: String,
    title: &str,
    gates: &[Held<'_>],
) -> Result<Option<Plot>, PageError> {
    if gates.iter().all(|gate| gate.delta_percent.is_none()) {
        return Ok(None);
    }
    let (low, high) = bounds(gates);
    let x = Axis::linear(low, high, "", "change of the candidate, in percent");
    let rows = gates.len() as f64;
    let y = Axis { low: rows, high: 0.0, ticks: Vec::new(), name: String::new() };
    let height = AROUND + ROW * gates.len() as u32;
    let body = draw("changes", height, |area| {
        let mut chart = frame(area, &x, &y)?;
        for (gate, row) in gates.iter().zip(0_u32..) {
            // The name has the upper part of a row, and the lines the lower.
            let row = f64::from(row);
            let (top, lines_from, middle, end) = (row + 0.06, row + 0.44, row + 0.68, row + 0.94);
            let edge = gate.edge();
            let beyond = if edge > 0.0 { x.high } else { x.low };
            let shade = ShapeStyle::from(&Colour::Beyond.rgb()).filled();
            chart.draw_series([Rectangle::new([(edge, lines_from), (beyond, end)], shade)])?;
            let line = |colour: Colour, width, points: [(f64, f64); 2]| {
                let style = ShapeStyle::from(&colour.rgb()).stroke_width(width);
                PathElement::new(points.to_vec(), style)
            };
            let across = |interval: &Interval| {
                let from = interval.lower.unwrap_or(x.low);
                [(from, middle), (interval.upper.unwrap_or(x.high), middle)]
            };
            let mut lines = vec![
                line(Colour::Ink, 2, [(0.0, lines_from), (0.0, end)]),
                line(Colour::Bad, 4, [(edge, lines_from), (edge, end)]),
            ];
            lines.extend(gate.fail_interval.map(|it| line(Colour::First, 3, across(it))));
            lines.extend(gate.pass_interval.map(|it| line(Colour::First, 9, across(it))));
            chart.draw_series(lines)?;
            let filled = ShapeStyle::from(&Colour::First.rgb()).filled();
            chart.draw_series(gate.delta_percent.map(|at| Circle::new((at, middle), 9, filled)))?;
            let style = text(Colour::Ink).pos(Pos::new(HPos::Left, VPos::Top));
            let place = (x.low + (x.high - x.low) * 0.01, top);
            chart.draw_series([Text::new(gate.name.clone(), place, style)])?;
        }
        Ok(())
    })?;
    let has_interval = gates.iter().any(|it| it.pass_interval.or(it.fail_interval).is_some());
    let key = match has_interval {
        true => "change: thick, interval of a pass; thin, of a fail",
        false => "change",
    };
    Ok(Some(Plot {
        id,
        title: title.to_owned(),
        description: format!("{title}: {}.", gates.iter().map(said).collect::<Vec<_>>().join("; ")),
        legend: vec![
            Key::new(Colour::First, key),
            Key::new(Colour::Bad, "limit"),
            Key::new(Colour::Beyond, "worse than the limit"),
        ],
        note: String::new(),
        width: WIDTH,
        height,
        body,
    }))
}

/// What the plot reaches over: no change, the limits on both sides, and what is known, as far as that
/// leaves the limits apart.
fn bounds(gates: &[Held<'_>]) -> (f64, f64) {
    let limit = gates.iter().map(|gate| gate.limit_percent).fold(0.0, f64::max).max(0.1);
    let ends = |gate: &Held<'_>| {
        let of =
            |interval: Option<&Interval>| interval.map_or([None; 2], |it| [it.lower, it.upper]);
        let [a, b] = of(gate.pass_interval);
        let [c, d] = of(gate.fail_interval);
        [a, b, c, d, gate.delta_percent].into_iter().flatten()
    };
    let all = || gates.iter().flat_map(ends).filter(|end| end.is_finite());
    let low = all().fold(-limit * 1.4, f64::min).max(-limit * MOST_LIMITS);
    let high = all().fold(limit * 1.4, f64::max).min(limit * MOST_LIMITS);
    (low, high)
}

fn said(gate: &Held<'_>) -> String {
    let change = gate.delta_percent.map_or_else(
        || "no change is known".to_owned(),
        |delta| format!("a change of {} percent", change(delta)),
    );
    format!("{}: {change}, the limit is {} percent", gate.name, tick(gate.edge()))
}
