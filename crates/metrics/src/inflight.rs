//! How many requests were under way at once, from their spans.

/// A span of time, in microseconds since the start of the run. It ends before `to_us`, so spans
/// that only touch do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub from_us: u64,
    /// Where it ends; not before it begins.
    pub to_us: u64,
}

impl Span {
    /// Its length.
    #[must_use]
    pub fn length_us(self) -> u64 {
        self.to_us.saturating_sub(self.from_us)
    }

    /// The shortest one that holds both.
    pub(crate) fn with(self, other: Self) -> Self {
        Self { from_us: self.from_us.min(other.from_us), to_us: self.to_us.max(other.to_us) }
    }
}

/// The most spans at any one instant; `None` when there are none.
///
/// ```
/// use streamgauge_metrics::{Span, peak_inflight};
/// let span = |from_us, to_us| Span { from_us, to_us };
/// assert_eq!(peak_inflight(&[span(0, 10), span(10, 20), span(15, 30)]), Some(2));
/// assert_eq!(peak_inflight(&[]), None);
/// ```
#[must_use]
pub fn peak_inflight(spans: &[Span]) -> Option<u64> {
    peak_of(spans.iter().copied())
}

/// As [`peak_inflight`], of spans that never lie together.
pub(crate) fn peak_of(spans: impl Iterator<Item = Span>) -> Option<u64> {
    Starts::of(spans).map(|(_, inflight)| inflight).max()
}

/// The number of spans, averaged over the time of `window`; `None` when the window is empty.
#[must_use]
pub fn mean_inflight(spans: impl IntoIterator<Item = Span>, window: Span) -> Option<f64> {
    let within = |span: Span| Span {
        from_us: span.from_us.max(window.from_us),
        to_us: span.to_us.min(window.to_us),
    };
    let busy = spans.into_iter().map(|span| u128::from(within(span).length_us()));
    let busy_us: u128 = busy.sum();
    (window.length_us() > 0).then(|| busy_us as f64 / window.length_us() as f64)
}

/// The part of a closed loop in which it was at its target: from the first instant at which
/// `target` spans overlap to the last start. `None` when the target is never reached, or when that
/// is shorter than five times the median latency.
#[must_use]
pub fn steady_window(spans: &[Span], target: u64, median_latency_us: f64) -> Option<Span> {
    steady_window_of(spans.iter().copied(), target, median_latency_us)
}

/// As [`steady_window`], of spans that never lie together.
pub(crate) fn steady_window_of(
    spans: impl Iterator<Item = Span>,
    target: u64,
    median_latency_us: f64,
) -> Option<Span> {
    let mut starts = Starts::of(spans);
    let (from_us, _) = starts.find(|(_, inflight)| *inflight >= target)?;
    let to_us = starts.starts.last().unwrap_or(from_us);
    let window = Span { from_us, to_us };
    (window.length_us() as f64 >= 5.0 * median_latency_us).then_some(window)
}

/// Walks through the starts of spans in time, with the number of spans under way at each.
struct Starts {
    starts: std::vec::IntoIter<u64>,
    /// The last microsecond of each.
    lasts: std::iter::Peekable<std::vec::IntoIter<u64>>,
    inflight: u64,
}

impl Starts {
    fn of(spans: impl Iterator<Item = Span>) -> Self {
        // A span without length overlaps nothing, but it was under way when it began.
        let last = |span: Span| span.to_us.saturating_sub(1).max(span.from_us);
        let (mut starts, mut lasts): (Vec<u64>, Vec<u64>) =
            spans.map(|span| (span.from_us, last(span))).unzip();
        starts.sort_unstable();
        lasts.sort_unstable();
        Self { starts: starts.into_iter(), lasts: lasts.into_iter().peekable(), inflight: 0 }
    }
}

impl Iterator for Starts {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.starts.next()?;
        while self.lasts.next_if(|last| *last < start).is_some() {
            self.inflight -= 1;
        }
        self.inflight += 1;
        Some((start, self.inflight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Edges = &'static [(u64, u64)];

    fn spans(edges: &[(u64, u64)]) -> Vec<Span> {
        edges.iter().map(|&(from_us, to_us)| Span { from_us, to_us }).collect()
    }

    #[test]
    fn peaks() {
        let cases: [(Edges, Option<u64>); 8] = [
            (&[], None),
            (&[(5, 9)], Some(1)),
            (&[(0, 10), (10, 20)], Some(1)),
            (&[(0, 10), (9, 20)], Some(2)),
            (&[(9, 20), (0, 10), (3, 4), (3, 4)], Some(3)),
            (&[(0, 0)], Some(1)),
            (&[(u64::MAX, u64::MAX), (5, u64::MAX)], Some(1)),
            (&[(0, 100), (1, 100), (2, 100), (100, 200)], Some(3)),
        ];
        for (edges, expected) in cases {
            assert_eq!(peak_inflight(&spans(edges)), expected, "{edges:?}");
        }
    }

    #[test]
    fn means() {
        let two = spans(&[(0, 10), (5, 20)]);
        let two = || two.iter().copied();
        assert_eq!(mean_inflight(two(), Span { from_us: 0, to_us: 20 }), Some(1.25));
        assert_eq!(mean_inflight(two(), Span { from_us: 5, to_us: 10 }), Some(2.0));
        assert_eq!(mean_inflight(two(), Span { from_us: 30, to_us: 40 }), Some(0.0));
        assert_eq!(mean_inflight(two(), Span { from_us: 5, to_us: 5 }), None);
    }

    #[test]
    fn steady_windows() {
        let loop_of_two: Vec<_> =
            (0..20).map(|n| Span { from_us: 10 * n, to_us: 10 * n + 20 }).collect();
        let window = Some(Span { from_us: 10, to_us: 190 });
        assert_eq!(steady_window(&loop_of_two, 2, 20.0), window);
        assert_eq!(steady_window(&loop_of_two, 2, 36.0), window);
        assert_eq!(steady_window(&loop_of_two, 2, 36.1), None);
        assert_eq!(steady_window(&loop_of_two, 3, 20.0), None);
        assert_eq!(steady_window(&[], 1, 20.0), None);
    }
}
