//! What became of the requests at each of several addresses.

use streamgauge_schema::{ReplicaReport, Spread};

use crate::number::{count, figure, of};

/// One address.
pub(super) struct ReplicaRow {
    pub(super) name: String,
    pub(super) weight: String,
    pub(super) requests: String,
    /// Of its requests, those that did not succeed.
    pub(super) not_succeeded: String,
    pub(super) tok_per_s: String,
    /// TTFT and E2E, of each the median and p99.
    pub(super) latencies: [String; 4],
}

/// A row for each; none where there is only one.
pub(super) fn replica_rows(reports: &[ReplicaReport]) -> Vec<ReplicaRow> {
    let spread =
        |spread: Option<Spread>| [spread.map(|it| it.median), spread.map(|it| it.p99)].map(figure);
    let row = |report: &ReplicaReport| {
        let [ttft, e2e] = [report.ttft_ms, report.e2e_ms].map(spread);
        let [[ttft_median, ttft_p99], [e2e_median, e2e_p99]] = [ttft, e2e];
        ReplicaRow {
            name: report.name.to_string(),
            weight: count(report.weight),
            requests: count(report.offered),
            not_succeeded: of(report.offered.saturating_sub(report.succeeded), report.offered),
            tok_per_s: figure(report.completion_tok_per_s),
            latencies: [ttft_median, ttft_p99, e2e_median, e2e_p99],
        }
    };
    reports.iter().map(row).collect()
}
