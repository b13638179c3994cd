//! What went on while the run lasted.

use plotters::element::{PathElement, Rectangle};
use plotters::style::ShapeStyle;
use streamgauge_schema::Window;

use super::axis::{Axis, frame};
use super::{Colour, HEIGHT, Key, Plot, draw};
use crate::error::PageError;
use crate::number::tick;
use crate::requests::OverTime;

/// Requests in flight over the time of the run.
pub(crate) fn inflight(id: &str, of: &OverTime, steady: Option<Window>) -> Result<Plot, PageError> {
    let said = Said { id, title: "Requests in flight", unit: "requests" };
    over_time(said, of, &of.inflight(), steady)
}

/// Tokens a second over the time of the run; events where nobody counted tokens.
pub(crate) fn token_rate(
    id: &str,
    of: &OverTime,
    steady: Option<Window>,
) -> Result<Plot, PageError> {
    let (title, unit, values, note) = match of.tokens_per_s() {
        Some(tokens) => (
            "Completion tokens a second",
            "tok/s",
            tokens,
            "The tokens of a response are spread evenly over its output events, unless the server \
             counted them in each.",
        ),
        None => (
            "Output events a second",
            "events/s",
            of.events_per_s(),
            "Not every response with output has a usable count of tokens, so that events are shown.",
        ),
    };
    let plot = over_time(Said { id, title, unit }, of, &values, steady)?;
    Ok(Plot { note: format!("{note} {}", plot.note), ..plot })
}

/// What is said of a plot.
struct Said<'a> {
    id: &'a str,
    title: &'a str,
    unit: &'a str,
}

fn over_time(
    said: Said<'_>,
    of: &OverTime,
    values: &[f64],
    steady: Option<Window>,
) -> Result<Plot, PageError> {
    let seconds = |part: usize| (of.from_us + of.part_us * part as f64) / 1e6;
    let x = Axis::between(seconds(0), seconds(values.len()), "seconds since the run began");
    let most = values.iter().copied().fold(0.0, f64::max);
    let y = Axis::linear(0.0, most, "", said.unit);
    let steps = values.iter().enumerate();
    let steps = steps.flat_map(|(n, value)| [(seconds(n), *value), (seconds(n + 1), *value)]);
    let steps: Vec<(f64, f64)> = steps.collect();
    let shade = steady.map(|window| {
        let [from, to] = [window.from_ms, window.to_ms].map(|ms| ms.value() / 1000.0);
        let corners = [(from.max(x.low), y.high), (to.min(x.high), y.low)];
        Rectangle::new(corners, ShapeStyle::from(&Colour::Shade.rgb()).filled())
    });
    let body = draw("the time of the run", HEIGHT, |area| {
        let mut chart = frame(area, &x, &y)?;
        chart.draw_series(shade)?;
        let style = ShapeStyle::from(&Colour::First.rgb()).stroke_width(3);
        chart.draw_series(std::iter::once(PathElement::new(steps, style)))?;
        Ok(())
    })?;
    let part = match of.part_us / 1e6 {
        whole if whole >= 1.0 => format!("{} s", tick(whole)),
        part => format!("{} ms", tick(part * 1000.0)),
    };
    let mut legend = vec![Key::new(Colour::First, said.title)];
    legend.extend(steady.map(|_| Key::new(Colour::Shade, "steady window")));
    Ok(Plot {
        id: said.id.to_owned(),
        title: format!("{} over time", said.title),
        description: format!(
            "{} from the start of the measured part of the run to its end, the most being {}.",
            said.title,
            tick(most)
        ),
        legend,
        note: format!("Averaged over parts of {part}."),
        width: super::WIDTH,
        height: HEIGHT,
        body,
    })
}
