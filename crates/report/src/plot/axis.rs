//! Axes with round ticks, linear and logarithmic, and the frame of a plot.

use std::ops::Range;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::SVGBackend;
use plotters::style::ShapeStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, Colour, text};
use crate::number::tick;

/// Room for what is written at the axes, in units of the plot.
const LEFT: u32 = 136;
const BELOW: u32 = 84;
const ABOVE: u32 = 52;
const RIGHT: u32 = 56;

/// One axis. Where it is logarithmic its bounds and ticks are logarithms.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<(f64, String)>,
    pub(super) name: String,
}

/// A plot with its frame drawn.
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        // Bounds are never equal; what is no number has no place, and is drawn where the axis begins.
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        from + (f64::from(to - from) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Only labelled lines: the light ones between them are asked for by another weight.
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl Axis {
    /// From `low` to the first round value at or above `high`, with `unit` behind each tick.
    pub(super) fn linear(low: f64, high: f64, unit: &str, name: &str) -> Self {
        let high = if high > low && (high - low).is_finite() { high } else { low + 1.0 };
        let step = step(high - low, 5.0);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let ticks = (0..=((last - first) as u32).min(20)).map(|n| (first + f64::from(n)) * step);
        let ticks: Vec<_> = ticks.map(|at| (at, format!("{}{unit}", tick(at)))).collect();
        let bound = |at: Option<&(f64, String)>, or| at.map_or(or, |(at, _)| *at);
        Self {
            low: bound(ticks.first(), low),
            high: bound(ticks.last(), high),
            ticks,
            name: name.to_owned(),
        }
    }

    /// From `low` to `high` as they are, with the round values between them as ticks.
    pub(super) fn between(low: f64, high: f64, name: &str) -> Self {
        let round = Self::linear(low, high, "", name);
        let high = if high > low && high.is_finite() { high } else { round.high };
        let ticks = round.ticks.into_iter().filter(|(at, _)| (low..=high).contains(at)).collect();
        Self { low, high, ticks, name: round.name }
    }

    /// From `low` to `high`, both above 0, on a scale of logarithms.
    pub(super) fn logarithmic(low: f64, high: f64, name: &str) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        let high = high.max(low * 1.02);
        let decades = (high / low).log10();
        let margin = decades * 0.02;
        let at = |value: f64| (value.log10(), tick(value));
        Self {
            low: low.log10() - margin,
            high: high.log10() + margin,
            ticks: round_values(low, high, decades).into_iter().map(at).collect(),
            name: name.to_owned(),
        }
    }

    fn label(&self, at: f64) -> String {
        let nearest = |tick: &&(f64, String)| (tick.0 - at).abs() < 1e-9 * at.abs().max(1.0);
        self.ticks.iter().find(nearest).map_or_else(String::new, |(_, label)| label.clone())
    }
}

/// Values for ticks between two bounds, about six of them.
fn round_values(low: f64, high: f64, decades: f64) -> Vec<f64> {
    if decades < 0.7 {
        let step = step(high - low, 5.0);
        let first = (low / step).ceil();
        let values = (0..12).map(|n| (first + f64::from(n)) * step);
        return values.filter(|value| *value <= high * (1.0 + 1e-9)).collect();
    }
    let steps: &[f64] = match decades {
        few if few < 2.2 => &[1.0, 2.0, 5.0],
        some if some < 3.2 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let every = (decades / 7.0).ceil().max(1.0) as usize;
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    powers
        .step_by(every)
        .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
        .filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
        .collect()
}

/// The round step that cuts a length into about so many.
fn step(length: f64, parts: f64) -> f64 {
    let least = length / parts;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= least * 0.999).unwrap_or(least)
}

/// Draws the frame of a plot: lines at the ticks of `y`, a line below, and the names of both axes.
pub(super) fn frame<'a, 'b>(
    area: &'a Area<'b>,
    x: &Axis,
    y: &Axis,
) -> Result<Chart<'a, 'b>, Box<dyn std::error::Error + Send + Sync>> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(ABOVE)
        .margin_right(RIGHT)
        .x_label_area_size(BELOW)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let grid = ShapeStyle::from(&Colour::Grid.rgb()).stroke_width(2);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(grid)
        .axis_style(grid)
        .set_all_tick_mark_size(6)
        .label_style(text(Colour::Muted))
        .x_label_formatter(&|at| x.label(*at))
        .y_label_formatter(&|at| y.label(*at))
        .draw()?;
    let (_, height) = area.dim_in_pixel();
    let name = text(Colour::Muted);
    area.draw_text(&y.name, &name.pos(Pos::new(HPos::Left, VPos::Top)), (8, 4))?;
    let middle = (LEFT + super::WIDTH - RIGHT) as i32 / 2;
    let below = (middle, height as i32 - 8);
    area.draw_text(&x.name, &name.pos(Pos::new(HPos::Center, VPos::Bottom)), below)?;
    Ok(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        for (low, high, expected) in [
            (0.0, 8.0, vec!["0", "2", "4", "6", "8"]),
            (0.0, 0.43, vec!["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
            (-7.0, 12.0, vec!["−10", "−5", "0", "5", "10", "15"]),
            (0.0, 0.0, vec!["0", "0.2", "0.4", "0.6", "0.8", "1"]),
            (
                0.0,
                1_234_567.0,
                vec!["0", "250,000", "500,000", "750,000", "1,000,000", "1,250,000"],
            ),
        ] {
            assert_eq!(labels(&Axis::linear(low, high, "", "")), expected, "{low} {high}");
        }
        for (low, high, expected) in [
            (100.0, 2_000.0, vec!["100", "200", "500", "1,000", "2,000"]),
            (9.9, 10.6, vec!["10", "10.2", "10.4", "10.6"]),
            (0.01, 1_000.0, vec!["0.01", "0.1", "1", "10", "100", "1,000"]),
            (200.0, 200.0, vec!["200", "201", "202", "203", "204"]),
        ] {
            assert_eq!(labels(&Axis::logarithmic(low, high, "")), expected, "{low} {high}");
        }
    }

    #[test]
    fn no_bounds_are_too_odd() {
        for low in [0.0, 1e-300, 1.0, 1e300, f64::MAX] {
            for high in [0.0, 1.0, 1e300, f64::MAX, f64::INFINITY, f64::NAN] {
                let axes = [Axis::linear(low, high, "", ""), Axis::logarithmic(low, high, "")];
                for axis in axes {
                    assert!(axis.ticks.len() <= 21, "{low} {high}");
                }
            }
        }
    }
}
