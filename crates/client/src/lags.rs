//! What the kernel's receive stamps say of one response.

use std::time::Instant;

use streamgauge_schema::{Observation, RequestLine};

use crate::clock::micros;
use crate::tap::StampedRead;

/// Writes the lags of an attempt's reads into its line.
pub(crate) fn note(line: &mut RequestLine, reads: &[StampedRead]) {
    line.unusable_stamps += reads.iter().filter(|read| read.lag.is_none()).count() as u64;
    line.observer_lag_us = Some(reads.iter().filter_map(|read| read.lag).map(micros).collect());
}

/// Writes the lag of each output event's read and of the read that ended the response into the
/// line, if all of them are known.
pub(crate) fn note_events(
    line: &mut RequestLine,
    observation: &Observation,
    reads: &[StampedRead],
    zero: Instant,
) {
    if let Some((of_outputs, of_end)) = of_events(observation, reads, zero) {
        line.output_lags_us = Some(of_outputs);
        line.end_lag_us = Some(of_end);
    }
}

/// Events and reads are joined by their stamp: an event bears that of the read which completed it.
fn of_events(
    observation: &Observation,
    reads: &[StampedRead],
    zero: Instant,
) -> Option<(Vec<u64>, u64)> {
    if observation.arrivals_us.len() as u64 != observation.output_events {
        return None;
    }
    let mut reads = reads
        .iter()
        .map(|read| (micros(read.at.saturating_duration_since(zero)), read.lag.map(micros)));
    let mut current = reads.next()?;
    let mut lag_at = |at_us| {
        while current.0 < at_us {
            current = reads.next()?;
        }
        if current.0 == at_us { current.1 } else { None }
    };
    let mut arrival_us = 0;
    let of_outputs: Option<Vec<u64>> = observation
        .arrivals_us
        .iter()
        .map(|since_last| {
            arrival_us += since_last;
            lag_at(arrival_us)
        })
        .collect();
    Some((of_outputs?, lag_at(observation.elapsed_us)?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use streamgauge_observer::{Observer, ObserverConfig};
    use streamgauge_schema::{Dialect, End};

    use super::*;

    const EVENT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";

    /// An output event at each of these times, in milliseconds, and the end mark at the last.
    fn observed(at_ms: &[u64], end_ms: u64) -> Observation {
        let mut observer = Observer::new(ObserverConfig::new(Dialect::OpenaiChat));
        for at_ms in at_ms {
            observer.feed(EVENT.as_bytes(), Duration::from_millis(*at_ms));
        }
        observer.feed(b"data: [DONE]\n\n", Duration::from_millis(end_ms));
        observer.finish(End::Clean, Duration::from_millis(end_ms)).observation
    }

    #[test]
    fn each_event_has_the_lag_of_the_read_that_completed_it() {
        let zero = Instant::now();
        let read = |at_ms, lag_us: Option<u64>| StampedRead {
            at: zero + Duration::from_millis(at_ms),
            lag: lag_us.map(Duration::from_micros),
        };
        // Heads, halves of events and comments are reads, too.
        let all = [
            read(1, Some(9)),
            read(2, Some(20)),
            read(3, None),
            read(4, Some(40)),
            read(6, Some(60)),
        ];
        let without_end = &all[..4];
        for (outputs, end, reads, expected) in [
            (&[2, 2, 4][..], 6, &all[..], Some((vec![20, 20, 40], 60))),
            (&[2, 4][..], 4, &all[..], Some((vec![20, 40], 40))),
            (&[][..], 6, &all[..], Some((vec![], 60))),
            // The read of an output event had no usable stamp.
            (&[2, 3][..], 6, &all[..], None),
            // The end was no read, or one without a stamp.
            (&[2, 4][..], 6, without_end, None),
            (&[2, 4][..], 5, &all[..], None),
            (&[2][..], 6, &[][..], None),
        ] {
            let found = of_events(&observed(outputs, end), reads, zero);
            assert_eq!(found, expected, "{outputs:?}, end {end}");
        }
    }
}
