//! The shards of a run: how each began, and its own delays.

use streamgauge_schema::{ShardReport, Spread};

use crate::number::{count, figure};
use crate::words::spaced;

/// One shard.
pub(super) struct ShardRow {
    pub(super) number: String,
    pub(super) status: String,
    pub(super) sent: String,
    pub(super) taken_up: String,
    pub(super) began_late: String,
    pub(super) clock: String,
    /// p99 of the observer's lag, and of the lateness of requests.
    pub(super) delays: [String; 2],
}

/// A row for each; none where the run says nothing of how it began.
pub(super) fn shard_rows(reports: &[ShardReport]) -> Vec<ShardRow> {
    let p99 = |spread: Option<Spread>| figure(spread.map(|it| it.p99));
    let row = |report: &ShardReport| ShardRow {
        number: format!("{} of {}", count(report.number), count(report.of)),
        status: spaced(report.status.as_str()),
        sent: count(report.sent),
        taken_up: count(report.taken_up),
        began_late: figure(report.began_late_ms.map(|ms| ms.value())),
        clock: match report.clock {
            Some(clock) if !clock.synchronised => "not synchronised".to_owned(),
            clock => figure(clock.map(|clock| clock.max_error_ms.value())),
        },
        delays: [report.observer_lag_ms, report.dispatch_lateness_ms].map(p99),
    };
    reports.iter().map(row).collect()
}
