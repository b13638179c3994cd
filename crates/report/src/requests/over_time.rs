//! What went on while the run lasted: requests in flight, and tokens a second.

use streamgauge_schema::{RequestLine, Window};

/// Most parts that a run is cut into: more than a plot has pixels for say nothing.
const MOST_PARTS: f64 = 120.0;
/// Shortest part: shorter ones show single events.
const LEAST_PART_US: f64 = 10_000.0;

/// A run in equal parts of time.
#[derive(Clone, Debug)]
pub(crate) struct OverTime {
    pub(crate) from_us: f64,
    pub(crate) part_us: f64,
    /// Time that requests were in flight in each part, all together, in microseconds.
    busy_us: Vec<f64>,
    tokens: Vec<f64>,
    events: Vec<f64>,
    /// Requests with output, and those of them whose tokens are counted.
    with_output: u64,
    counted: u64,
}

impl OverTime {
    /// The whole window of a run; `None` where it has no length.
    pub(crate) fn within(window: Window) -> Option<Self> {
        let [from_us, to_us] = [window.from_ms, window.to_ms].map(|ms| ms.value() * 1000.0);
        let length_us = to_us - from_us;
        if !length_us.is_finite() || length_us <= 0.0 {
            return None;
        }
        let part_us = rounded_up(length_us / MOST_PARTS).max(LEAST_PART_US);
        let parts = (length_us / part_us).ceil() as usize;
        let none = || vec![0.0; parts];
        Some(Self {
            from_us,
            part_us,
            busy_us: none(),
            tokens: none(),
            events: none(),
            with_output: 0,
            counted: 0,
        })
    }

    pub(crate) fn add(&mut self, line: &RequestLine) {
        let begin = line.started_us as f64 - self.from_us;
        spread(&mut self.busy_us, self.part_us, begin, line.elapsed_us as f64, 1.0);
        let Some(seen) = &line.observation else { return };
        if seen.output_events == 0 {
            return;
        }
        let tokens = seen.usage.and_then(|usage| usage.completion_tokens);
        let tokens = tokens.filter(|tokens| *tokens > 0 && !seen.usage_ambiguous);
        self.with_output += 1;
        self.counted += u64::from(tokens.is_some());
        // Where single arrivals were not kept, output is taken to have come evenly.
        if seen.arrivals_us.is_empty() {
            let span = seen.first_output_us.zip(seen.last_output_us);
            let Some((first, last)) = span.filter(|(first, last)| first < last) else { return };
            let (begin, length) = (begin + first as f64, (last - first) as f64);
            let events = seen.output_events as f64 / length;
            spread(&mut self.events, self.part_us, begin, length, events);
            let tokens = tokens.map_or(0.0, |tokens| tokens as f64 / length);
            spread(&mut self.tokens, self.part_us, begin, length, tokens);
            return;
        }
        let evenly = tokens.map_or(0.0, |all| all as f64 / seen.arrivals_us.len() as f64);
        let mut at = begin;
        for (place, gap_us) in seen.arrivals_us.iter().enumerate() {
            at += *gap_us as f64;
            let own = seen.token_counts.as_ref().and_then(|counts| counts.get(place));
            let tokens = own.map_or(evenly, |count| *count as f64);
            let part = at / self.part_us;
            if part >= 0.0
                && let Some(sum) = self.events.get_mut(part as usize)
            {
                *sum += 1.0;
                self.tokens[part as usize] += tokens;
            }
        }
    }

    /// Requests in flight, averaged over each part.
    pub(crate) fn inflight(&self) -> Vec<f64> {
        self.busy_us.iter().map(|busy| busy / self.part_us).collect()
    }

    /// Tokens a second in each part; `None` where not all requests with output have a count.
    pub(crate) fn tokens_per_s(&self) -> Option<Vec<f64>> {
        let is_known = self.counted > 0 && self.counted == self.with_output;
        is_known.then(|| self.per_s(&self.tokens))
    }

    /// Output events a second in each part.
    pub(crate) fn events_per_s(&self) -> Vec<f64> {
        self.per_s(&self.events)
    }

    fn per_s(&self, sums: &[f64]) -> Vec<f64> {
        sums.iter().map(|sum| sum / (self.part_us / 1e6)).collect()
    }
}

/// Adds `per_us` for each microsecond of a span to the parts that it lies in.
fn spread(parts: &mut [f64], part_us: f64, begin: f64, length: f64, per_us: f64) {
    let end = (begin + length).min(parts.len() as f64 * part_us);
    let mut at = begin.max(0.0);
    let mut part = (at / part_us) as usize;
    while at < end && part < parts.len() {
        let until = ((part + 1) as f64 * part_us).min(end);
        parts[part] += (until - at).max(0.0) * per_us;
        at = until;
        part += 1;
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn rounded_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_spread_over_the_parts_that_they_lie_in() {
        for (begin, length, expected) in [
            (0.0, 40.0, [10.0, 10.0, 10.0, 10.0]),
            (5.0, 10.0, [5.0, 5.0, 0.0, 0.0]),
            (-5.0, 7.0, [2.0, 0.0, 0.0, 0.0]),
            (35.0, 1e18, [0.0, 0.0, 0.0, 5.0]),
            (80.0, 10.0, [0.0; 4]),
            (12.0, 0.0, [0.0; 4]),
        ] {
            let mut parts = [0.0; 4];
            spread(&mut parts, 10.0, begin, length, 1.0);
            assert_eq!(parts, expected, "{begin} {length}");
        }
    }

    #[test]
    fn parts_have_round_lengths() {
        for (value, expected) in [(1.0, 1.0), (1.1, 2.0), (33.0, 50.0), (7e5, 1e6)] {
            assert_eq!(rounded_up(value), expected);
        }
    }
}
