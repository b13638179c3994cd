//! How long the intervals between events are.

use plotters::element::Rectangle;
use plotters::style::ShapeStyle;

use super::axis::{Axis, frame};
use super::{Colour, HEIGHT, Plot, draw};
use crate::error::PageError;
use crate::number::{of, share};
use crate::requests::Gaps;

/// Bars that a plot has room for.
const BARS: usize = 70;

/// Chunk intervals in classes; `None` where there is none longer than 0.
pub(crate) fn histogram(id: &str, gaps: &Gaps) -> Result<Option<Plot>, PageError> {
    let classes = gaps.classes(BARS);
    let (Some(first), Some(last)) = (classes.first(), classes.last()) else { return Ok(None) };
    let all = gaps.total() as f64;
    let percent = |count: u64| count as f64 / all * 100.0;
    let most = classes.iter().map(|class| percent(class.count)).fold(0.0, f64::max);
    let (low, high) = (first.from_us / 1000.0, last.to_us / 1000.0);
    let x = Axis::logarithmic(low, high, "milliseconds, on a scale of logarithms");
    let y = Axis::linear(0.0, most, " %", "share of intervals");
    let bars = classes.iter().filter(|class| class.count > 0).map(|class| {
        let [from, to] = [class.from_us, class.to_us].map(|us| (us / 1000.0).log10());
        let style = ShapeStyle::from(&Colour::First.rgb()).filled();
        Rectangle::new([(from, percent(class.count)), (to, 0.0)], style)
    });
    let body = draw("chunk intervals", HEIGHT, |area| {
        frame(area, &x, &y)?.draw_series(bars)?;
        Ok(())
    })?;
    let zero = match gaps.zero {
        0 => String::new(),
        some => format!(
            " {} intervals ({}) are 0 and not shown: one read completed both events.",
            of(some, gaps.total()),
            share(some as f64 / all)
        ),
    };
    Ok(Some(Plot {
        id: id.to_owned(),
        title: "Chunk intervals".to_owned(),
        description: "Histogram of the intervals between output events of succeeded requests, in \
                      milliseconds. The table of figures has its median and percentiles."
            .to_owned(),
        legend: Vec::new(),
        note: format!("An event can hold several tokens: no per-token latencies.{zero}"),
        width: super::WIDTH,
        height: HEIGHT,
        body,
    }))
}
