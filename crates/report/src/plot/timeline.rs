//! Single requests, each on its own clock: waiting, reading the prompt, reasoning, answering.

use plotters::element::{Rectangle, Text};
use plotters::style::ShapeStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use streamgauge_schema::Completion;

use super::axis::{Axis, frame};
use super::{Colour, Key, Plot, draw, text};
use crate::error::PageError;
use crate::number::count;
use crate::requests::Shown;
use crate::words::spaced;

/// Height of a row, and of what stands around the rows, in units of the plot.
const ROW: u32 = 42;
const AROUND: u32 = 140;

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    colour: Colour,
    from_us: u64,
    to_us: u64,
}

/// The requests, one a row; `None` where there is none.
pub(crate) fn timeline(
    id: &str,
    title: &str,
    requests: &[Shown],
) -> Result<Option<Plot>, PageError> {
    if requests.is_empty() {
        return Ok(None);
    }
    let longest_us = requests.iter().map(|request| request.total_us).max().unwrap_or(0);
    // Room behind the longest bar for what a failure is called.
    let room = if requests.iter().any(|it| fault(it).is_some()) { 1.4 } else { 1.02 };
    let x = Axis::between(0.0, longest_us as f64 / 1000.0 * room, "milliseconds");
    let rows = requests.len() as f64;
    let y = Axis {
        low: rows - 0.4,
        high: -0.6,
        ticks: requests.iter().zip(0_u32..).map(|(it, n)| (f64::from(n), name(it))).collect(),
        name: "request".to_owned(),
    };
    let mut used = Vec::new();
    let height = AROUND + ROW * requests.len() as u32;
    let body = draw("single requests", height, |area| {
        let mut chart = frame(area, &x, &y)?;
        for (request, row) in requests.iter().zip(0_u32..) {
            let row = f64::from(row);
            let parts = parts(request);
            used.extend(parts.iter().map(|part| part.colour));
            let bars = parts.iter().map(|part| {
                let [from, to] = [part.from_us, part.to_us].map(|us| us as f64 / 1000.0);
                let style = ShapeStyle::from(&part.colour.rgb()).filled();
                Rectangle::new([(from, row - 0.32), (to, row + 0.32)], style)
            });
            chart.draw_series(bars)?;
            if let Some(fault) = fault(request) {
                let at = request.total_us as f64 / 1000.0 + x.high * 0.01;
                let style = text(Colour::Ink).pos(Pos::new(HPos::Left, VPos::Center));
                chart.draw_series(std::iter::once(Text::new(fault, (at, row), style)))?;
            }
        }
        Ok(())
    })?;
    let keys = [
        (Colour::Queued, "waiting to be sent"),
        (Colour::Prefill, "until the first output"),
        (Colour::Third, "reasoning"),
        (Colour::First, "answer"),
    ];
    let keys = keys.into_iter().filter(|(colour, _)| used.contains(colour));
    Ok(Some(Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        description: format!("{title}: {}.", said(requests)),
        legend: keys.map(|(colour, words)| Key::new(colour, words)).collect(),
        note: String::new(),
        width: super::WIDTH,
        height,
        body,
    }))
}

fn name(request: &Shown) -> String {
    format!("#{}", request.index)
}

fn fault(request: &Shown) -> Option<String> {
    match (request.completion, request.failure) {
        (Completion::Succeeded, _) => None,
        (_, Some(class)) => Some(spaced(class.as_str())),
        (completion, None) => Some(spaced(completion.as_str())),
    }
}

fn said(requests: &[Shown]) -> String {
    let each = requests.iter().map(|request| {
        let fault = fault(request).map_or_else(String::new, |fault| format!(", {fault}"));
        format!("request {} took {} ms{fault}", request.index, count(request.total_us / 1000))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// The parts of a request, in their order. Reasoning lasts until the first content; what is neither,
/// as tool calls, belongs to the answer.
fn parts(request: &Shown) -> Vec<Part> {
    let end = request.total_us;
    let first = request.first_output_us.unwrap_or(end);
    let reasoned = match request.first_reasoning_us {
        Some(_) => request.first_content_us.unwrap_or(end),
        None => first,
    };
    let bounds = [0, request.started_us, first, reasoned, end];
    let colours = [Colour::Queued, Colour::Prefill, Colour::Third, Colour::First];
    let mut at = 0;
    let mut parts = Vec::new();
    for (colour, to_us) in colours.into_iter().zip(bounds.into_iter().skip(1)) {
        let to_us = to_us.clamp(at, end.max(at));
        if to_us > at {
            parts.push(Part { colour, from_us: at, to_us });
        }
        at = to_us;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_request_lie_end_to_end() {
        let plain = Shown {
            total_us: 100,
            index: 0,
            started_us: 0,
            first_output_us: Some(30),
            first_reasoning_us: None,
            first_content_us: Some(30),
            completion: Completion::Succeeded,
            failure: None,
        };
        let reasoning =
            Shown { first_reasoning_us: Some(30), first_content_us: Some(70), ..plain.clone() };
        let only = Shown { first_content_us: None, ..reasoning.clone() };
        let late = Shown {
            started_us: 10,
            first_output_us: None,
            first_content_us: None,
            ..plain.clone()
        };
        let odd = Shown { first_output_us: Some(500), first_content_us: Some(5), ..plain.clone() };
        let (q, p, r, a) = (Colour::Queued, Colour::Prefill, Colour::Third, Colour::First);
        for (request, expected) in [
            (plain, vec![(p, 30), (a, 100)]),
            (reasoning, vec![(p, 30), (r, 70), (a, 100)]),
            (only, vec![(p, 30), (r, 100)]),
            (late, vec![(q, 10), (p, 100)]),
            (odd, vec![(p, 100)]),
        ] {
            let found = parts(&request);
            let ends: Vec<_> = found.iter().map(|part| (part.colour, part.to_us)).collect();
            assert_eq!(ends, expected);
            assert!(found.windows(2).all(|two| two[0].to_us == two[1].from_us));
        }
    }
}
