//! A client's stamps beside the server's: its errors, per request, on one clock.
//!
//! This is done apart from the record's own arithmetic, which is among what is judged here.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use streamgauge_client::Journal;
use streamgauge_metrics::sorted_quantile;

use crate::load::request_id;
use crate::server::Received;

/// What a client noted of one request, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamps {
    /// Immediately before it was written.
    pub(crate) started_ns: u64,
    /// Return of the read that completed each event.
    pub(crate) events_ns: Vec<u64>,
}

/// A client's stamps of the output events, by the names of the requests.
#[derive(Debug)]
pub(crate) struct Noted(Vec<(String, Stamps)>);

impl Noted {
    /// From the bare loop's stamps of all events, in the order of the requests. A stream begins
    /// with the role, and ends with finish reason, usage and end mark.
    pub(crate) fn of_bare(stamps: Vec<Stamps>) -> anyhow::Result<Self> {
        let noted = (0..).zip(stamps).map(|(index, mut stamps)| {
            let id = request_id(index);
            ensure!(stamps.events_ns.len() > 4, "{id} has {} events", stamps.events_ns.len());
            stamps.events_ns.remove(0);
            stamps.events_ns.truncate(stamps.events_ns.len() - 3);
            Ok((id, stamps))
        });
        Ok(Self(noted.collect::<anyhow::Result<_>>()?))
    }

    /// From a journal.
    pub(crate) fn of_journal(journal: &Journal) -> anyhow::Result<Self> {
        let zero_ns = journal
            .header
            .started_monotonic_ns
            .context("the journal does not say where its zero lies on the monotonic clock")?;
        let noted = journal.requests.iter().map(|line| {
            let id = request_id(line.index);
            let seen = line.observation.as_ref();
            let seen = seen.with_context(|| format!("{id} was not answered"))?;
            let started_ns = zero_ns + line.started_us * 1000;
            let events_ns = seen.arrivals_us.iter().scan(started_ns, |at_ns, step_us| {
                *at_ns += step_us * 1000;
                Some(*at_ns)
            });
            Ok((id, Stamps { started_ns, events_ns: events_ns.collect() }))
        });
        Ok(Self(noted.collect::<anyhow::Result<_>>()?))
    }
}

/// Median and 99th percentile, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

/// How far a client's stamps lie from the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Errors {
    /// From each write of an output event to the client's stamp of it.
    pub(crate) arrival: Spread,
    /// Of each interval between output events, without its sign.
    pub(crate) interval: Spread,
    /// From the client's `started` to the kernel's receipt at the server.
    pub(crate) send: Spread,
    /// The median interval by the client's stamps, as a multiple of that by the server's.
    pub(crate) gap_p50_ratio: f64,
    /// Of each time to first token: send error and arrival error of the first output event.
    pub(crate) ttft: Spread,
}

impl Errors {
    /// Holds what a client noted against the server's account.
    ///
    /// Requests whose receipt the kernel gave no usable stamp of have no send error and no TTFT
    /// error.
    ///
    /// # Errors
    /// When they do not speak of the same requests and events, or when more than a hundredth of the
    /// requests have no such stamp.
    pub(crate) fn of(noted: &Noted, account: &HashMap<String, Received>) -> anyhow::Result<Self> {
        ensure!(
            noted.0.len() == account.len(),
            "the client noted {} requests, the server {}",
            noted.0.len(),
            account.len()
        );
        let [mut arrival, mut interval, mut send, mut ttft] = [const { Vec::new() }; 4];
        let [mut seen_gaps, mut written_gaps] = [const { Vec::new() }; 2];
        for (id, stamps) in &noted.0 {
            let received = account.get(id).with_context(|| format!("the server knows no {id}"))?;
            let (seen, written) = (stamps.events_ns.len(), received.written_ns.len());
            ensure!(seen == written, "{id}: {written} events were written and {seen} seen");
            let errors = received.written_ns.iter().zip(&stamps.events_ns);
            let errors: Vec<f64> = errors.map(|(&from, &to)| ms_between(from, to)).collect();
            if let Some(kernel_ns) = received.kernel_ns {
                let sent_ms = ms_between(stamps.started_ns, kernel_ns);
                ttft.extend(errors.first().map(|first| sent_ms + first));
                send.push(sent_ms);
            }
            seen_gaps.extend(gaps(&stamps.events_ns));
            written_gaps.extend(gaps(&received.written_ns));
            interval.extend(errors.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
            arrival.extend(errors);
        }
        let unstamped = noted.0.len() - send.len();
        ensure!(unstamped * 100 <= noted.0.len(), "{unstamped} requests have no kernel's stamp");
        Ok(Self {
            arrival: spread(arrival)?,
            gap_p50_ratio: spread(seen_gaps)?.p50 / spread(written_gaps)?.p50,
            interval: spread(interval)?,
            send: spread(send)?,
            ttft: spread(ttft)?,
        })
    }
}

fn gaps(at_ns: &[u64]) -> impl Iterator<Item = f64> {
    at_ns.windows(2).map(|pair| ms_between(pair[0], pair[1]))
}

fn ms_between(from_ns: u64, to_ns: u64) -> f64 {
    (to_ns as f64 - from_ns as f64) / 1e6
}

fn spread(mut values: Vec<f64>) -> anyhow::Result<Spread> {
    values.sort_unstable_by(f64::total_cmp);
    let quantile = |q| sorted_quantile(&values, q).context("nothing was measured");
    Ok(Spread { p50: quantile(0.5)?, p99: quantile(0.99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(started_ns: u64, events_ns: &[u64]) -> Stamps {
        Stamps { started_ns, events_ns: events_ns.to_vec() }
    }

    #[test]
    fn errors_are_differences_to_the_account() {
        let bare = stamps(1_000_000, &[0, 12_000_000, 20_500_000, 0, 0, 0]);
        let noted = Noted::of_bare(vec![bare]).unwrap();
        let received =
            Received { kernel_ns: Some(3_000_000), written_ns: vec![11_000_000, 20_000_000] };
        let account = HashMap::from([("measured-0".to_owned(), received.clone())]);
        let errors = Errors::of(&noted, &account).unwrap();
        assert_eq!(errors.send, Spread { p50: 2.0, p99: 2.0 });
        assert_eq!(errors.ttft, Spread { p50: 3.0, p99: 3.0 });
        assert_eq!(errors.arrival.p50, 0.75);
        assert_eq!(errors.interval.p50, 0.5);
        assert_eq!(errors.gap_p50_ratio, 8.5 / 9.0);

        let other = Received { written_ns: vec![1], ..received.clone() };
        let unstamped = Received { kernel_ns: None, ..received };
        for wrong in [other, unstamped] {
            let account = HashMap::from([("measured-0".to_owned(), wrong)]);
            assert!(Errors::of(&noted, &account).is_err());
        }
        assert!(Errors::of(&noted, &HashMap::new()).is_err());
    }

    #[test]
    fn a_stream_without_its_frame_is_no_stream() {
        assert!(Noted::of_bare(vec![stamps(0, &[1, 2, 3, 4])]).is_err());
    }
}
