//! What latency a throughput costs: cells of one deployment, from the lightest load to the heaviest.

use plotters::element::{Circle, PathElement, Text};
use plotters::style::ShapeStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Axis, frame};
use super::{Colour, HEIGHT, Key, Plot, TEXT, WIDTH, draw, text};
use crate::error::PageError;
use crate::number::{known, tick};

/// A line of the plot: one statistic of the cells.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) colour: Colour,
    /// In the order of the load.
    pub(crate) places: Vec<Place>,
}

/// One cell in it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) cell: String,
    pub(crate) throughput: f64,
    pub(crate) latency_ms: f64,
    pub(crate) is_knee: bool,
}

/// Lines over throughput in `unit`; `None` where no cell has both.
pub(crate) fn curve(
    id: &str,
    title: &str,
    unit: &str,
    lines: &[Line],
) -> Result<Option<Plot>, PageError> {
    let all = || lines.iter().flat_map(|line| &line.places);
    if all().next().is_none() {
        return Ok(None);
    }
    let most = |of: fn(&Place) -> f64| all().map(of).fold(0.0, f64::max);
    let x = Axis::linear(0.0, most(|place| place.throughput), "", &format!("throughput, {unit}"));
    let y = Axis::linear(0.0, most(|place| place.latency_ms), "", "milliseconds");
    let body = draw("latency over throughput", HEIGHT, |area| {
        let mut chart = frame(area, &x, &y)?;
        for line in lines {
            let at = |place: &Place| (place.throughput, place.latency_ms);
            let style = ShapeStyle::from(&line.colour.rgb()).stroke_width(4);
            let points: Vec<_> = line.places.iter().map(at).collect();
            chart.draw_series([PathElement::new(points, style)])?;
            let dots = line.places.iter().map(|it| Circle::new(at(it), 8, style.filled()));
            chart.draw_series(dots)?;
            let ring = ShapeStyle::from(&Colour::Ink.rgb()).stroke_width(4);
            let knees = line.places.iter().filter(|it| it.is_knee);
            chart.draw_series(knees.map(|it| Circle::new(at(it), 17, ring)))?;
        }
        // Names stand above all lines, as far as they do not run into each other; the knee's comes first.
        let highest = |cell: &str| {
            let there = all().filter(|place| place.cell == cell);
            there.map(|place| place.latency_ms).fold(0.0, f64::max)
        };
        let mut taken: Vec<(f64, f64)> = Vec::new();
        let mut named: Vec<&Place> = lines.first().iter().flat_map(|line| &line.places).collect();
        named.sort_by_key(|place| !place.is_knee);
        for place in named {
            let (side, from, to) = beside(place, &x);
            if taken.iter().any(|(low, high)| from < *high && *low < to) {
                continue;
            }
            taken.push((from, to));
            let style = text(Colour::Ink).pos(Pos::new(side, VPos::Center));
            let end = if matches!(side, HPos::Left) { from } else { to };
            let at = (end, highest(&place.cell) + y.high * 0.06);
            chart.draw_series([Text::new(place.cell.clone(), at, style)])?;
        }
        Ok(())
    })?;
    let said = |place: &Place| {
        let (cell, throughput) = (&place.cell, known(place.throughput));
        format!("{cell} {throughput} {unit} at {} ms", tick(place.latency_ms.round()))
    };
    let each = lines.iter().map(|line| {
        let places: Vec<String> = line.places.iter().map(said).collect();
        format!("{}: {}", line.name, places.join(", "))
    });
    Ok(Some(Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        description: format!("{title}. {}.", each.collect::<Vec<_>>().join("; ")),
        legend: lines.iter().map(|line| Key::new(line.colour, line.name.clone())).collect(),
        note: String::new(),
        width: WIDTH,
        height: HEIGHT,
        body,
    }))
}

/// Where the name of a place stands: before it, as latency grows with the load, or behind it where that
/// leaves no room.
fn beside(place: &Place, x: &Axis) -> (HPos, f64, f64) {
    let width = place.cell.chars().count() as f64 * TEXT * 0.6 / f64::from(WIDTH) * x.high;
    let away = x.high * 0.012;
    if place.throughput - away - width < 0.0 {
        (HPos::Left, place.throughput + away, place.throughput + away + width)
    } else {
        (HPos::Right, place.throughput - away - width, place.throughput - away)
    }
}
