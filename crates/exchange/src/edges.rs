//! Whether the first and the last output of a run's requests are where a client that counts events
//! without output would have seen them.

use streamgauge_metrics::median;
use streamgauge_schema::{Completion, RequestLine, Stage};

/// What is too little to matter, in microseconds; the client's own delay is held to the same.
const LITTLE_US: u64 = 1000;
/// What is too little to matter, as a part of the whole.
const ONE_PART_OF: u64 = 100;

/// How many of a run's succeeded requests have their first and last output at other times than their
/// first and last events, by more than the larger of 1 ms and 1 percent.
///
/// ```
/// use streamgauge_exchange::OutputEdges;
/// use streamgauge_schema::{JournalLine, RequestLine};
///
/// let journal = std::fs::read_to_string("../schema/tests/run/observations.jsonl")?;
/// let mut edges = OutputEdges::default();
/// for line in journal.lines() {
///     if let JournalLine::Request(line) = serde_json::from_str(line)? {
///         edges.add(&line);
///     }
/// }
/// assert_eq!(edges.first_event_before_output(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputEdges {
    requests: u64,
    early: u64,
    late: u64,
    moved: u64,
    /// When the first event came, the first output, the last output and the end.
    stamps_us: [Vec<u64>; 4],
}

impl OutputEdges {
    /// Takes a request; warm-up, and what did not succeed, is left out.
    pub fn add(&mut self, line: &RequestLine) {
        let is_measured = line.stage == Stage::Measured;
        let Some(seen) = line.observation.as_ref().filter(|_| is_measured) else { return };
        if line.completion != Completion::Succeeded {
            return;
        }
        self.requests += 1;
        let (Some(first), Some(last)) = (seen.first_output_us, seen.last_output_us) else { return };
        let before = first.saturating_sub(seen.first_event_us.unwrap_or(first));
        let after = seen.elapsed_us.saturating_sub(last);
        self.early += u64::from(matters(before, first));
        self.late += u64::from(matters(after, seen.elapsed_us));
        self.moved += u64::from(matters(before.saturating_add(after), last.saturating_sub(first)));
        let stamps = [first - before, first, last, seen.elapsed_us];
        for (stamps_us, us) in self.stamps_us.iter_mut().zip(stamps) {
            stamps_us.push(us);
        }
    }

    /// Succeeded requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Requests whose first event came before their first output: whoever counts every event has
    /// another time to the first token.
    #[must_use]
    pub fn first_event_before_output(&self) -> u64 {
        self.early
    }

    /// Requests that went on after their last output.
    #[must_use]
    pub fn end_after_output(&self) -> u64 {
        self.late
    }

    /// Requests of which either may change the time between first and last output.
    #[must_use]
    pub fn output_span_moved(&self) -> u64 {
        self.moved
    }
}

/// Medians of the succeeded requests, in milliseconds since their starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EdgeMedians {
    pub(crate) first_event_ms: f64,
    pub(crate) first_output_ms: f64,
    pub(crate) last_output_ms: f64,
    pub(crate) end_ms: f64,
}

impl OutputEdges {
    /// Where the edges lie; `None` of no request with output.
    pub(crate) fn medians(&self) -> Option<EdgeMedians> {
        let median_ms = |stamps_us: &Vec<u64>| {
            let ms: Vec<f64> = stamps_us.iter().map(|us| *us as f64 / 1e3).collect();
            median(&ms)
        };
        let [first_event, first_output, last_output, end] = &self.stamps_us;
        Some(EdgeMedians {
            first_event_ms: median_ms(first_event)?,
            first_output_ms: median_ms(first_output)?,
            last_output_ms: median_ms(last_output)?,
            end_ms: median_ms(end)?,
        })
    }
}

fn matters(difference_us: u64, whole_us: u64) -> bool {
    difference_us > LITTLE_US.max(whole_us / ONE_PART_OF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millisecond_or_a_percent_is_too_little_to_matter() {
        let cases = [
            (0, 0, false),
            (1_000, 1, false),
            (1_001, 1, true),
            (10_000, 1_000_000, false),
            (10_001, 1_000_000, true),
        ];
        for (difference, whole, expected) in cases {
            assert_eq!(matters(difference, whole), expected, "{difference} of {whole}");
        }
    }
}
