//! The client's own error: its stamps beside those of a server that keeps an account.
//!
//! Both processes run on one machine, so that both sets of stamps are on one CLOCK_MONOTONIC.
//! *Send error* is the receive time of a request at the server minus the client's `started`;
//! *arrival error* is the client's stamp of an event minus the server's just before it wrote that
//! event. The error of a request's TTFT is the sum of its send error and the arrival error of its
//! first output; that of an interval is the difference of two arrival errors.

use streamgauge_schema::{JournalHeader, RequestLine, Spread};

use crate::quantile::sorted_quantile;

/// What a server noted of one request, in nanoseconds on CLOCK_MONOTONIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStamps {
    /// When the request had been received, by the kernel's stamp where there is one.
    pub received_ns: u64,
    /// Just before each output event was written.
    pub written_ns: Vec<u64>,
}

/// The errors of a run, in milliseconds, each list sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientErrors {
    /// Of every output event.
    pub arrival_ms: Vec<f64>,
    /// Of every request.
    pub send_ms: Vec<f64>,
    /// Of every request's TTFT.
    pub ttft_ms: Vec<f64>,
    /// Of every interval between output events.
    pub interval_ms: Vec<f64>,
    /// Requests that could not be held against the account: it does not know them, or the two sides
    /// do not agree on the number of output events.
    pub unmatched: u64,
}

impl ClientErrors {
    /// Holds the lines of a journal against a server's account.
    ///
    /// `None` when the header does not say where the run's zero lies on CLOCK_MONOTONIC.
    ///
    /// ```
    /// # use streamgauge_metrics::{ClientErrors, ServerStamps};
    /// # use streamgauge_schema::{Digest, JournalHeader, Timestamp};
    /// let header = JournalHeader {
    ///     journal_version: 1,
    ///     plan_sha256: Digest::of(b"plan"),
    ///     started_at: Timestamp::from_unix_micros(0),
    ///     started_monotonic_ns: Some(5_000_000),
    ///     listed_models: None,
    ///     conditions: Vec::new(),
    ///     shard: None,
    /// };
    /// let nothing = ClientErrors::of(&header, &[], |_| None::<&ServerStamps>).unwrap();
    /// assert_eq!(nothing, ClientErrors::default());
    /// ```
    pub fn of<'s>(
        header: &JournalHeader,
        lines: &[RequestLine],
        stamps_of: impl Fn(&RequestLine) -> Option<&'s ServerStamps>,
    ) -> Option<Self> {
        let zero_ns = header.started_monotonic_ns?;
        let mut errors = Self::default();
        for line in lines {
            let matched = stamps_of(line).is_some_and(|stamps| errors.take(zero_ns, line, stamps));
            errors.unmatched += u64::from(!matched);
        }
        for list in [
            &mut errors.arrival_ms,
            &mut errors.send_ms,
            &mut errors.ttft_ms,
            &mut errors.interval_ms,
        ] {
            list.sort_unstable_by(f64::total_cmp);
        }
        Some(errors)
    }

    /// False if the two sides do not speak of the same events.
    fn take(&mut self, zero_ns: u64, line: &RequestLine, stamps: &ServerStamps) -> bool {
        let Some(seen) = &line.observation else { return false };
        if seen.arrivals_us.len() != stamps.written_ns.len() {
            return false;
        }
        let on_clock = |us: u64| zero_ns.saturating_add(us.saturating_mul(1000));
        let send_ms = milliseconds_after(on_clock(line.started_us), stamps.received_ns);
        let mut at_us = line.started_us;
        let mut last_ms = None;
        for (interval_us, written_ns) in seen.arrivals_us.iter().zip(&stamps.written_ns) {
            at_us = at_us.saturating_add(*interval_us);
            let arrival_ms = milliseconds_after(*written_ns, on_clock(at_us));
            match last_ms {
                None => self.ttft_ms.push(send_ms + arrival_ms),
                Some(last_ms) => self.interval_ms.push(arrival_ms - last_ms),
            }
            last_ms = Some(arrival_ms);
            self.arrival_ms.push(arrival_ms);
        }
        self.send_ms.push(send_ms);
        true
    }
}

/// Median, 99th percentile and maximum of values that are sorted; `None` when there are none.
///
/// ```
/// let spread = streamgauge_metrics::spread_of(&[1.0, 2.0, 4.0]).unwrap();
/// assert_eq!((spread.median, spread.max), (2.0, 4.0));
/// ```
#[must_use]
pub fn spread_of(sorted: &[f64]) -> Option<Spread> {
    Some(Spread {
        median: sorted_quantile(sorted, 0.5)?,
        p99: sorted_quantile(sorted, 0.99)?,
        max: *sorted.last()?,
    })
}

/// How long after `earlier_ns` the other instant lies; negative when it lies before.
fn milliseconds_after(earlier_ns: u64, later_ns: u64) -> f64 {
    (i128::from(later_ns) - i128::from(earlier_ns)) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{header, plan, succeeded};

    const MS: u64 = 1_000_000;

    #[test]
    fn errors_are_differences_on_one_clock() {
        let mut header = header(&plan(2, 1));
        let lines = [succeeded(0, 10, &[50, 60, 75], 3), succeeded(1, 100, &[50], 1)];
        let stamps = ServerStamps {
            // Sent at 1010, first output at 1060, then 1070 and 1085.
            received_ns: 1011 * MS,
            written_ns: vec![1058 * MS, 1069 * MS, 1085 * MS],
        };
        let known = |line: &RequestLine| (line.index == 0).then_some(&stamps);
        assert_eq!(ClientErrors::of(&header, &lines, known), None);

        header.started_monotonic_ns = Some(1000 * MS);
        let errors = ClientErrors::of(&header, &lines, known).unwrap();
        assert_eq!(errors.send_ms, [1.0]);
        assert_eq!(errors.arrival_ms, [0.0, 1.0, 2.0]);
        assert_eq!(errors.ttft_ms, [3.0]);
        assert_eq!(errors.interval_ms, [-1.0, -1.0]);
        assert_eq!(errors.unmatched, 1);
        let spread = spread_of(&errors.arrival_ms).unwrap();
        assert_eq!((spread.median, spread.max), (1.0, 2.0));
    }

    #[test]
    fn other_events_are_no_match() {
        let header = JournalHeader { started_monotonic_ns: Some(0), ..header(&plan(1, 1)) };
        let line = succeeded(0, 0, &[5, 6], 2);
        let stamps = ServerStamps { received_ns: 0, written_ns: vec![1, 2, 3] };
        let errors = ClientErrors::of(&header, &[line], |_| Some(&stamps)).unwrap();
        assert_eq!(errors, ClientErrors { unmatched: 1, ..ClientErrors::default() });
    }
}
