//! Figures of several runs: the median, and between what they lay.

use std::fmt;

use streamgauge_metrics::median;

/// The same figure of several runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure(Vec<f64>);

impl Figure {
    /// From one value a run; `None` where a run has none.
    pub(crate) fn of(values: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
        (!values.is_empty()).then_some(Self(values))
    }

    pub(crate) fn median(&self) -> f64 {
        median(&self.0).expect("a figure has at least one value")
    }

    fn range(&self) -> (f64, f64) {
        let fold = |pick: fn(f64, f64) -> f64| self.0.iter().copied().reduce(pick);
        let median = self.median();
        (fold(f64::min).unwrap_or(median), fold(f64::max).unwrap_or(median))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.range();
        let shown = short(self.median());
        if short(low) == short(high) {
            return f.write_str(&shown);
        }
        write!(f, "{shown} ({}–{})", short(low), short(high))
    }
}

/// A number with about three digits.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        let thousands = format!("{:.0}", value / 1000.0);
        if size >= 10_000.0 { format!("{thousands} k") } else { format!("{value:.0}") }
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_shows_its_median_and_its_range() {
        let cases: [(&[f64], &str); 4] = [
            (&[0.25], "0.250"),
            (&[3.0, 1.0, 2.0], "2.00 (1.00–3.00)"),
            (&[12.34, 12.34], "12.3"),
            (&[254_700.0, 251_000.0, 253_100.0], "253 k (251 k–255 k)"),
        ];
        for (values, expected) in cases {
            let figure = Figure::of(values.iter().copied().map(Some)).unwrap();
            assert_eq!(figure.to_string(), expected);
        }
        assert_eq!(Figure::of([Some(1.0), None]), None);
        assert_eq!(Figure::of([]), None);
        assert_eq!(short(1234.0), "1234");
    }
}
