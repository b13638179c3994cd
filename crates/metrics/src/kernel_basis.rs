//! A request by the kernel's clock: every arrival as early as its bytes were there to be read.

use streamgauge_schema::{ChoiceTimeline, Observation, RequestLine};

/// The request with all its arrivals moved from the moment at which they were read to the moment at
/// which the kernel had received them: each output event by its own lag, the end by that of the
/// read that brought it.
///
/// `None` when the line does not hold those lags, or when one reaches back beyond the request's
/// start, as after a clock was set: then not all of its times are known by that clock. Reads and
/// stamps are rounded down one by one, so an arrival can come out just before the one before it; it
/// is then taken to be at that one's time. What has no lag of its own, `headers_us` and a first
/// event without output, is `None` in the result, and so are the lags.
///
/// ```
/// use streamgauge_metrics::{to_kernel_basis, ttft_ms};
/// # use streamgauge_schema::{JournalLine, RequestLine};
/// # fn line() -> RequestLine {
/// #     let journal = std::fs::read_to_string("../schema/tests/run/observations.jsonl").unwrap();
/// #     let line = serde_json::from_str(journal.lines().nth(1).unwrap()).unwrap();
/// #     let JournalLine::Request(line) = line else { panic!("a request") };
/// #     *line
/// # }
/// let mut line = line();
/// assert_eq!(to_kernel_basis(&line), None);
///
/// let events = line.observation.as_ref().unwrap().arrivals_us.len();
/// (line.output_lags_us, line.end_lag_us) = (Some(vec![250; events]), Some(100));
/// let moved = to_kernel_basis(&line).unwrap();
/// assert!((ttft_ms(&line).unwrap() - ttft_ms(&moved).unwrap() - 0.25).abs() < 1e-9);
/// assert_eq!(line.elapsed_us - moved.elapsed_us, 100);
/// ```
#[must_use]
pub fn to_kernel_basis(line: &RequestLine) -> Option<RequestLine> {
    let seen = line.observation.as_ref()?;
    let arrivals = Arrivals::of(seen, line.output_lags_us.as_deref()?)?;
    let end_us = line.elapsed_us.checked_sub(line.end_lag_us?)?;
    let elapsed_us = arrivals.kernel_us.last().map_or(end_us, |last_us| end_us.max(*last_us));
    Some(RequestLine {
        headers_us: None,
        elapsed_us,
        output_lags_us: None,
        end_lag_us: None,
        observation: Some(moved(seen, &arrivals, elapsed_us)),
        ..line.clone()
    })
}

/// The arrivals of one response by both clocks.
struct Arrivals {
    read_us: Vec<u64>,
    kernel_us: Vec<u64>,
}

impl Arrivals {
    fn of(seen: &Observation, lags_us: &[u64]) -> Option<Self> {
        let events = seen.arrivals_us.len();
        if lags_us.len() != events || seen.output_events != events as u64 {
            return None;
        }
        let (mut at_us, mut last_us) = (0_u64, 0);
        let (mut read_us, mut kernel_us) = (Vec::with_capacity(events), Vec::with_capacity(events));
        for (gap_us, lag_us) in seen.arrivals_us.iter().zip(lags_us) {
            at_us = at_us.checked_add(*gap_us)?;
            last_us = at_us.checked_sub(*lag_us)?.max(last_us);
            read_us.push(at_us);
            kernel_us.push(last_us);
        }
        Some(Self { read_us, kernel_us })
    }

    /// When the first of the events that were read at this moment had arrived.
    fn first(&self, read_us: Option<u64>) -> Option<u64> {
        let place = self.read_us.binary_search(&read_us?).ok()?;
        let equal = self.read_us[..place].iter().rev().take_while(|us| Some(**us) == read_us);
        Some(self.kernel_us[place - equal.count()])
    }

    /// When the last of them had.
    fn last(&self, read_us: Option<u64>) -> Option<u64> {
        let place = self.read_us.binary_search(&read_us?).ok()?;
        let equal = self.read_us[place + 1..].iter().take_while(|us| Some(**us) == read_us);
        Some(self.kernel_us[place + equal.count()])
    }
}

fn moved(seen: &Observation, arrivals: &Arrivals, elapsed_us: u64) -> Observation {
    let mut last_us = 0;
    let gaps = arrivals.kernel_us.iter().map(|at_us| {
        let gap_us = at_us - last_us;
        last_us = *at_us;
        gap_us
    });
    let choice = |choice: &ChoiceTimeline| ChoiceTimeline {
        first_output_us: arrivals.first(choice.first_output_us),
        last_output_us: arrivals.last(choice.last_output_us),
        ..*choice
    };
    Observation {
        arrivals_us: gaps.collect(),
        first_event_us: arrivals.first(seen.first_event_us),
        first_output_us: arrivals.first(seen.first_output_us),
        last_output_us: arrivals.last(seen.last_output_us),
        first_generated_us: arrivals.first(seen.first_generated_us),
        last_generated_us: arrivals.last(seen.last_generated_us),
        first_reasoning_us: arrivals.first(seen.first_reasoning_us),
        first_content_us: arrivals.first(seen.first_content_us),
        first_tool_call_us: arrivals.first(seen.first_tool_call_us),
        choice_timelines: seen.choice_timelines.iter().map(choice).collect(),
        elapsed_us,
        ..seen.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{ended, refused, succeeded};

    fn lagged(outputs_ms: &[u64], lags_us: &[u64], end_lag_us: u64) -> RequestLine {
        RequestLine {
            output_lags_us: Some(lags_us.to_vec()),
            end_lag_us: Some(end_lag_us),
            ..succeeded(0, 0, outputs_ms, 5)
        }
    }

    /// The arrivals after the move, and the end.
    fn arrivals(line: &RequestLine) -> Option<(Vec<u64>, u64)> {
        let line = to_kernel_basis(line)?;
        let seen = line.observation.unwrap();
        assert_eq!(seen.elapsed_us, line.elapsed_us);
        let mut at_us = 0;
        let arrivals: Vec<u64> = seen
            .arrivals_us
            .iter()
            .map(|gap| {
                at_us += gap;
                at_us
            })
            .collect();
        assert_eq!(seen.first_output_us, arrivals.first().copied());
        assert_eq!(seen.last_output_us, arrivals.last().copied());
        Some((arrivals, line.elapsed_us))
    }

    #[test]
    fn each_event_moves_by_its_own_lag() {
        let moved = |line| arrivals(&line);
        assert_eq!(
            moved(ended(lagged(&[10, 20, 30], &[100, 0, 2_000], 500), 31_000)),
            Some((vec![9_900, 20_000, 28_000], 30_500))
        );
        // Rounding cannot turn two arrivals round, nor set the end before the last of them.
        assert_eq!(
            moved(lagged(&[10, 10, 11], &[0, 1, 1_001], 1_000)),
            Some((vec![10_000, 10_000, 10_000], 10_000))
        );
        assert_eq!(moved(lagged(&[1], &[1_000], 0)), Some((vec![0], 1_000)));
        // A response without output still has its end.
        assert_eq!(moved(ended(lagged(&[], &[], 7), 50)), Some((vec![], 43)));
    }

    #[test]
    fn without_every_lag_there_are_no_times() {
        let cases = [
            succeeded(0, 0, &[10, 20], 5),
            refused(0, 0, 4),
            lagged(&[10, 20], &[100], 0),
            lagged(&[10, 20], &[10_001, 0], 0),
            lagged(&[10, 20], &[0, 0], 20_001),
            RequestLine { end_lag_us: None, ..lagged(&[10, 20], &[0, 0], 0) },
        ];
        for line in cases {
            assert_eq!(to_kernel_basis(&line), None, "{line:?}");
        }
        let mut unkept = lagged(&[10, 20], &[], 0);
        unkept.observation.as_mut().unwrap().arrivals_us.clear();
        assert_eq!(to_kernel_basis(&unkept), None);
    }

    #[test]
    fn every_stamp_moves_with_its_event() {
        let mut line = lagged(&[10, 20, 20, 30, 40], &[1_000, 2_000, 1_500, 3_000, 0], 0);
        let seen = line.observation.as_mut().unwrap();
        seen.first_event_us = Some(5_000);
        (seen.not_generated, seen.first_tool_call_us) = (vec![0], Some(10_000));
        (seen.first_generated_us, seen.first_content_us) = (Some(20_000), Some(30_000));
        seen.first_reasoning_us = Some(20_000);
        let timeline = |index, first, last| ChoiceTimeline {
            index,
            first_output_us: first,
            last_output_us: last,
            output_events: 2,
        };
        seen.choice_timelines =
            vec![timeline(0, Some(10_000), Some(20_000)), timeline(1, None, None)];
        let moved = to_kernel_basis(&line).unwrap();
        let seen = moved.observation.as_ref().unwrap();
        assert_eq!(seen.arrivals_us, [9_000, 9_000, 500, 8_500, 13_000]);
        assert_eq!((seen.first_event_us, moved.headers_us), (None, None));
        assert_eq!((seen.first_tool_call_us, seen.first_output_us), (Some(9_000), Some(9_000)));
        assert_eq!(
            (seen.first_generated_us, seen.first_reasoning_us),
            (Some(18_000), Some(18_000))
        );
        assert_eq!((seen.first_content_us, seen.last_generated_us), (Some(27_000), Some(40_000)));
        let moved_choice = timeline(0, Some(9_000), Some(18_500));
        assert_eq!(seen.choice_timelines, [moved_choice, timeline(1, None, None)]);
        // What was moved holds no lags by which it could be moved again.
        assert_eq!(to_kernel_basis(&moved), None);
    }
}
