//! What became of the requests at each of several addresses.

use streamgauge_schema::{ReplicaReport, RunRecordV2, Spread};

use super::number::{count, figure};
use super::table::table;
use crate::args::Format;

const HEADINGS: [&str; 9] = [
    "",
    "weight",
    "requests",
    "not\nsucceeded",
    "tok/s",
    "TTFT\nmedian, ms",
    "TTFT\np99, ms",
    "E2E\nmedian, ms",
    "E2E\np99, ms",
];

/// One row for each address; nothing where there is only one.
pub(super) fn replicas(record: &RunRecordV2, format: Format) -> Option<String> {
    let rows = record.replicas.iter().map(row);
    (!record.replicas.is_empty()).then(|| table(format, HEADINGS, rows))
}

fn row(replica: &ReplicaReport) -> [String; 9] {
    let median = |spread: Option<Spread>| figure(spread.map(|it| it.median));
    let p99 = |spread: Option<Spread>| figure(spread.map(|it| it.p99));
    [
        replica.name.to_string(),
        count(replica.weight),
        count(replica.offered),
        count(replica.offered.saturating_sub(replica.succeeded)),
        figure(replica.completion_tok_per_s),
        median(replica.ttft_ms),
        p99(replica.ttft_ms),
        median(replica.e2e_ms),
        p99(replica.e2e_ms),
    ]
}
