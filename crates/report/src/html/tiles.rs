//! The few figures that most readers came for.

use streamgauge_schema::{Metric, RunRecordV2};

use super::rows::value;
use crate::words::unit;

/// Figures to show large: a name, the metric, and the one that stands below it with its word.
const TILES: [(&str, &str, &str, &str); 7] = [
    ("TTFT, median", "ttft_p50_ms", "p95", "ttft_p95_ms"),
    ("E2E, median", "e2e_p50_ms", "p95", "e2e_p95_ms"),
    ("TPOT, median", "tpot_p50_ms", "p95", "tpot_p95_ms"),
    (
        "Completion throughput",
        "completion_throughput_tps",
        "peak",
        "completion_throughput_peak_tok_per_s",
    ),
    ("Request throughput", "request_throughput_per_s", "peak", "request_throughput_peak_per_s"),
    ("Kept every goal", "goodput_ratio", "", ""),
    ("Error rate", "error_ratio", "", ""),
];

/// One of them.
#[derive(Debug)]
pub(super) struct Tile {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
    pub(super) below: String,
}

/// Those that a record has.
pub(super) fn tiles(record: &RunRecordV2) -> Vec<Tile> {
    let known =
        |id: &str| record.metrics.iter().find(|it| it.id.as_str() == id && it.value.is_some());
    let shown = |metric: &Metric| value(metric.value, metric.unit);
    let all = TILES.iter().filter_map(|(name, id, word, other)| {
        let metric = known(id)?;
        let below = known(other).map(|other| format!("{word} {}", shown(other)));
        Some(Tile {
            name,
            value: shown(metric),
            unit: unit(metric.unit),
            below: below.unwrap_or_default(),
        })
    });
    all.collect()
}
