//! Which share of the requests took how long at most.

use plotters::element::PathElement;
use plotters::style::ShapeStyle;

use super::axis::{Axis, frame};
use super::{Colour, HEIGHT, Key, Plot, draw};
use crate::error::PageError;
use crate::number::count;

/// Places of a curve across its plot: about one for each pixel of it on a screen.
const COLUMNS: f64 = 450.0;

/// One curve.
#[derive(Debug)]
pub(crate) struct Curve<'a> {
    pub(crate) name: String,
    pub(crate) colour: Colour,
    pub(crate) values_us: &'a [u64],
}

/// Curves on one scale of logarithms; `None` where there is no value at all.
pub(crate) fn ecdf(
    id: String,
    title: &str,
    curves: &[Curve<'_>],
) -> Result<Option<Plot>, PageError> {
    let sorted: Vec<(&Curve<'_>, Vec<f64>)> = curves
        .iter()
        .filter(|curve| !curve.values_us.is_empty())
        .map(|curve| (curve, sorted_ms(curve.values_us)))
        .collect();
    let ends = sorted.iter().filter_map(|(_, values)| Some((*values.first()?, *values.last()?)));
    let Some((low, high)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
        return Ok(None);
    };
    let x = Axis::logarithmic(low, high, "milliseconds, on a scale of logarithms");
    let y = Axis::linear(0.0, 100.0, " %", "share of requests");
    let body = draw("latencies", HEIGHT, |area| {
        let mut chart = frame(area, &x, &y)?;
        for (curve, values) in &sorted {
            let style = ShapeStyle::from(&curve.colour.rgb()).stroke_width(4);
            let path = PathElement::new(steps(values, &x), style);
            chart.draw_series(std::iter::once(path))?;
        }
        Ok(())
    })?;
    let key = |(curve, values): &(&Curve<'_>, Vec<f64>)| {
        Key::new(curve.colour, format!("{}, n = {}", curve.name, count(values.len() as u64)))
    };
    let names: Vec<&str> = sorted.iter().map(|(curve, _)| curve.name.as_str()).collect();
    Ok(Some(Plot {
        id,
        title: title.to_owned(),
        description: format!(
            "Cumulative distribution of {} in milliseconds: how many percent of the requests took at \
             most how long. The table of figures has the medians and the 95th and 99th percentiles.",
            names.join(", ")
        ),
        legend: sorted.iter().map(key).collect(),
        note: String::new(),
        width: super::WIDTH,
        height: HEIGHT,
        body,
    }))
}

/// In milliseconds. What took less than a microsecond is shown as if it had taken one.
fn sorted_ms(values_us: &[u64]) -> Vec<f64> {
    let mut values: Vec<u64> = values_us.to_vec();
    values.sort_unstable();
    values.into_iter().map(|us| us.max(1) as f64 / 1000.0).collect()
}

/// The corners of the curve's steps, as far as a plot can show them.
fn steps(sorted: &[f64], x: &Axis) -> Vec<(f64, f64)> {
    let (all, mut below) = (sorted.len() as f64, 0.0);
    let column = |value: f64| ((value.log10() - x.low) / (x.high - x.low) * COLUMNS).floor();
    let mut corners = vec![(x.low, 0.0)];
    for (place, value) in sorted.iter().enumerate() {
        let next = sorted.get(place + 1);
        if next.is_some_and(|next| column(*next) == column(*value)) {
            continue;
        }
        let (at, reached) = (value.log10(), (place + 1) as f64 / all * 100.0);
        corners.extend([(at, below), (at, reached)]);
        below = reached;
    }
    corners.push((x.high, below));
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_at_all_and_has_no_more_corners_than_pixels() {
        let values: Vec<u64> = (1..=100_000).map(|n| n * n).collect();
        let sorted = sorted_ms(&values);
        let x = Axis::logarithmic(sorted[0], sorted[sorted.len() - 1], "");
        let corners = steps(&sorted, &x);
        assert!(corners.len() < 910, "{}", corners.len());
        assert!(corners.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1));
        assert_eq!(corners.last().unwrap().1, 100.0);
        let few = steps(&[1.0, 1.0, 10.0], &Axis::logarithmic(1.0, 10.0, ""));
        let shares: Vec<f64> = few.iter().map(|corner| corner.1.round()).collect();
        assert_eq!(shares, [0.0, 0.0, 67.0, 67.0, 100.0, 100.0]);
    }
}
