//! Plots as SVG: drawn by `plotters` in the colours of the light theme, which the page's style exchanges
//! where it is dark. Text stays text, in the page's own font.
//!
//! Invariant: a plot has at most a few points for each of its pixels, however many requests a run has.

mod axis;
mod curve;
mod ecdf;
mod forest;
mod histogram;
mod over_time;
mod probes;
mod timeline;

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, RGBColor, SVGBackend};
use plotters::style::{IntoTextStyle, TextStyle};

use crate::error::PageError;

pub(crate) use curve::{Line, Place, curve};
pub(crate) use ecdf::{Curve, ecdf};
pub(crate) use forest::{Held, forest};
pub(crate) use histogram::histogram;
pub(crate) use over_time::{inflight, token_rate};
pub(crate) use probes::probes;
pub(crate) use timeline::timeline;

/// Width of a plot. It is shown at about half of it, as the backend rounds to whole units.
pub(crate) const WIDTH: u32 = 1040;
const HEIGHT: u32 = 560;
/// Size of text, in units of the plot.
const TEXT: f64 = 24.0;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// A colour by what it means. Each has a rule for dark pages in the style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Bad,
    Beyond,
    First,
    Grid,
    Ink,
    Muted,
    Prefill,
    Queued,
    Second,
    Shade,
    Third,
}

impl Colour {
    /// As it is drawn.
    fn rgb(self) -> RGBColor {
        match self {
            Self::Bad => RGBColor(0xa3, 0x27, 0x1b),
            Self::Beyond => RGBColor(0xfb, 0xe9, 0xe6),
            Self::First => RGBColor(0x1d, 0x5a, 0x86),
            Self::Grid => RGBColor(0xd8, 0xde, 0xe5),
            Self::Ink => RGBColor(0x1b, 0x21, 0x29),
            Self::Muted => RGBColor(0x56, 0x61, 0x6d),
            Self::Prefill => RGBColor(0x9c, 0xc3, 0xdf),
            Self::Queued => RGBColor(0xb5, 0xbe, 0xc7),
            Self::Second => RGBColor(0xb4, 0x53, 0x1f),
            Self::Shade => RGBColor(0xec, 0xf0, 0xf4),
            Self::Third => RGBColor(0x7d, 0x5b, 0xb8),
        }
    }

    /// The class of the sample beside its words.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Beyond => "beyond",
            Self::First => "first",
            Self::Grid => "grid",
            Self::Ink => "ink",
            Self::Muted => "muted",
            Self::Prefill => "prefill",
            Self::Queued => "queued",
            Self::Second => "second",
            Self::Shade => "shade",
            Self::Third => "third",
        }
    }
}

/// A plot with what is said of it.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) id: String,
    pub(crate) title: String,
    /// What it shows, for those who do not see it.
    pub(crate) description: String,
    pub(crate) legend: Vec<Key>,
    /// What a reader must know.
    pub(crate) note: String,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// What stands within the `svg` element.
    pub(crate) body: String,
}

/// A colour and its meaning.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

impl Key {
    pub(crate) fn new(colour: Colour, text: impl Into<String>) -> Self {
        Self { class: colour.class(), text: text.into() }
    }
}

/// Draws what stands within an `svg` element.
fn draw(
    plot: &'static str,
    height: u32,
    paint: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<String, PageError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        paint(&area)
            .and_then(|()| Ok(area.present()?))
            .map_err(|error| PageError::Plot { plot, message: error.to_string() })?;
    }
    // The element itself, its names and its title come from the template.
    let body = text.split_once('>').map_or("", |(_, body)| body);
    let body = body.rsplit_once("</svg>").map_or(body, |(body, _)| body);
    let mut short = body.to_owned();
    for said in [" opacity=\"1\"", " stroke=\"none\"", " font-family=\"sans-serif\""] {
        short = short.replace(said, "");
    }
    Ok(short)
}

fn text(colour: Colour) -> TextStyle<'static> {
    // The backend divides sizes by this.
    ("sans-serif", TEXT * 1.24).with_color(colour.rgb()).into_text_style(&(WIDTH, HEIGHT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_a_dark_one_and_a_sample() {
        let style = include_str!("../templates/style.css");
        for colour in [
            Colour::Bad,
            Colour::Beyond,
            Colour::First,
            Colour::Grid,
            Colour::Ink,
            Colour::Muted,
            Colour::Prefill,
            Colour::Queued,
            Colour::Second,
            Colour::Shade,
            Colour::Third,
        ] {
            let RGBColor(r, g, b) = colour.rgb();
            let drawn = format!("#{r:02X}{g:02X}{b:02X}");
            assert!(style.contains(&format!("[fill=\"{drawn}\"]")), "{colour:?} {drawn}");
            assert!(style.contains(&format!("[stroke=\"{drawn}\"]")), "{colour:?} {drawn}");
            assert!(style.contains(&format!("--{}:", colour.class())), "{colour:?}");
        }
    }
}
