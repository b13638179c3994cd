//! The probes of a search: at which load how many requests kept the goals.

use plotters::element::{Circle, PathElement};
use plotters::style::ShapeStyle;
use streamgauge_schema::SearchReport;

use super::axis::{Axis, frame};
use super::{Colour, HEIGHT, Key, Plot, WIDTH, draw};
use crate::error::PageError;
use crate::number::{share, tick};
use crate::words::searched;

/// The probes over their load; `None` where none has a share.
pub(crate) fn probes(id: &str, report: &SearchReport) -> Result<Option<Plot>, PageError> {
    let known = report.probes.iter().filter_map(|it| Some((it.load, it.attained_ratio?, it.held)));
    let known: Vec<(f64, f64, bool)> = known
        .filter(|(load, ratio, _)| load.is_finite() && *load > 0.0 && ratio.is_finite())
        .collect();
    let low = known.iter().map(|probe| probe.0).fold(f64::INFINITY, f64::min);
    let high = known.iter().map(|probe| probe.0).fold(0.0, f64::max);
    if known.is_empty() {
        return Ok(None);
    }
    let unit = searched(report.load);
    let x = Axis::logarithmic(low, high, &format!("{unit}, on a scale of logarithms"));
    let y = Axis::linear(0.0, 100.0, " %", "requests that kept every goal");
    let wanted = report.attainment * 100.0;
    let body = draw("probes", HEIGHT, |area| {
        let mut chart = frame(area, &x, &y)?;
        let line = ShapeStyle::from(&Colour::Bad.rgb()).stroke_width(4);
        chart.draw_series([PathElement::new(vec![(x.low, wanted), (x.high, wanted)], line)])?;
        for (is_held, colour) in [(false, Colour::Second), (true, Colour::First)] {
            let style = ShapeStyle::from(&colour.rgb()).stroke_width(4);
            // Filled where the goals held: colour alone tells too little.
            let style = if is_held { style.filled() } else { style };
            let of = known.iter().filter(|probe| probe.2 == is_held);
            chart.draw_series(of.map(|it| Circle::new((it.0.log10(), it.1 * 100.0), 11, style)))?;
        }
        Ok(())
    })?;
    let said = known.iter().map(|(load, ratio, held)| {
        let end = if *held { "held" } else { "failed" };
        format!("{} {unit}: {}, {end}", tick(*load), share(*ratio))
    });
    Ok(Some(Plot {
        id: id.to_owned(),
        title: "Probes".to_owned(),
        description: format!("Probes by load. {}.", said.collect::<Vec<_>>().join("; ")),
        legend: vec![
            Key::new(Colour::First, "the goals held (filled)"),
            Key::new(Colour::Second, "they failed (hollow)"),
            Key::new(Colour::Bad, format!("{} wanted", share(report.attainment))),
        ],
        note: String::new(),
        width: WIDTH,
        height: HEIGHT,
        body,
    }))
}
