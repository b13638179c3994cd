//! The plots of one run, as far as its requests are known one by one.

use streamgauge_schema::{Completion, RunRecordV2};

use crate::error::PageError;
use crate::number::{count, share};
use crate::plot::{Colour, Curve, Plot, ecdf, histogram, inflight, timeline, token_rate};
use crate::requests::{Failed, Requests};
use crate::words::spaced;

/// What a page shows of single requests.
#[derive(Debug, Default)]
pub(super) struct Plots {
    pub(super) distributions: Vec<Plot>,
    pub(super) over_time: Vec<Plot>,
    pub(super) single: Vec<Plot>,
}

/// Requests that failed in the same way.
#[derive(Debug)]
pub(super) struct FailureRow {
    pub(super) class: String,
    pub(super) stage: String,
    pub(super) count: String,
    pub(super) share: String,
    pub(super) statuses: String,
    pub(super) first: String,
}

impl Plots {
    pub(super) fn of(record: &RunRecordV2, requests: &Requests) -> Result<Self, PageError> {
        let mut plots = Self::default();
        plots.distributions.extend(latencies(requests)?);
        plots.distributions.extend(histogram("intervals", &requests.gaps)?);
        if let Some(over_time) = &requests.over_time {
            let steady = record.windows.steady;
            plots.over_time.push(inflight("inflight", over_time, steady)?);
            plots.over_time.push(token_rate("tokens", over_time, steady)?);
        }
        let (slowest, sample) = (requests.selection.slowest(), requests.selection.sample());
        plots.single.extend(timeline("slowest", "The slowest requests", &slowest)?);
        plots.single.extend(timeline("sample", "Requests at equal distances", &sample)?);
        Ok(plots)
    }
}

fn latencies(requests: &Requests) -> Result<Option<Plot>, PageError> {
    let latencies = &requests.latencies;
    let curve = |name: &str, colour, values_us| Curve { name: name.to_owned(), colour, values_us };
    let same = latencies.ttft_us == latencies.ttfc_us;
    let mut curves = vec![curve("TTFT", Colour::First, latencies.ttft_us.as_slice())];
    if !same {
        curves.push(curve("TTFC", Colour::Third, latencies.ttfc_us.as_slice()));
    }
    curves.push(curve("E2E", Colour::Second, latencies.e2e_us.as_slice()));
    let plot = ecdf("latencies".to_owned(), "Latencies of succeeded requests", &curves)?;
    Ok(plot.map(|plot| {
        let note = match same && !latencies.ttft_us.is_empty() {
            true => "TTFC is TTFT in every request: the first output was content.".to_owned(),
            false => plot.note,
        };
        Plot { note, ..plot }
    }))
}

/// The failures by class, the commonest first.
pub(super) fn failures(requests: &Requests, offered: u64) -> Vec<FailureRow> {
    let mut found: Vec<_> = requests.failures.iter().collect();
    found.sort_by_key(|(_, failed)| std::cmp::Reverse(failed.count));
    found
        .into_iter()
        .map(|(class, failed)| FailureRow {
            class: spaced(class.as_str()),
            stage: spaced(class.stage().as_str()),
            count: count(failed.count),
            share: share(failed.count as f64 / offered.max(1) as f64),
            statuses: statuses(failed),
            first: failed.first.iter().map(|it| format!("#{it}")).collect::<Vec<_>>().join(", "),
        })
        .collect()
}

fn statuses(failed: &Failed) -> String {
    let each =
        failed.statuses.iter().map(|(status, number)| format!("{status} × {}", count(*number)));
    let each: Vec<String> = each.collect();
    if each.is_empty() { crate::number::NONE.to_owned() } else { each.join(", ") }
}

/// What did not succeed, by what became of it.
pub(super) fn not_succeeded(record: &RunRecordV2) -> Vec<(&'static str, u64)> {
    let load = &record.load;
    let found = [
        (Completion::Failed, load.failed),
        (Completion::TimedOut, load.timed_out),
        (Completion::Cancelled, load.cancelled),
        (Completion::NotSent, load.not_sent),
    ];
    found.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| (what.as_str(), n)).collect()
}
