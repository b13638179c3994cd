//! This client's own error, a row for each number of streams.

use super::number::{count, figure};
use super::table::table;
use crate::args::Format;
use crate::calibration::Level;

const HEADINGS: [&str; 10] = [
    "streams",
    "arrival error p50, ms",
    "p99",
    "send error p50, ms",
    "p99",
    "TTFT error p99, ms",
    "interval error p99, ms",
    "lag p99, ms",
    "CPU, µs an event",
    "events/s",
];

/// The levels; the last one is not paced.
pub(crate) fn calibration(levels: &[Level], format: Format) -> String {
    let rows = levels.iter().enumerate().map(|(place, level)| {
        let row = &level.row;
        let flat_out = if place + 1 == levels.len() { ", as fast as it can" } else { "" };
        [
            format!("{}{flat_out}", count(row.streams)),
            figure(Some(row.arrival_error_ms.median)),
            figure(Some(row.arrival_error_ms.p99)),
            figure(Some(row.send_error_ms.median)),
            figure(Some(row.send_error_ms.p99)),
            figure(Some(level.ttft_error_ms.p99)),
            figure(Some(level.interval_error_ms.p99)),
            figure(row.observer_lag_ms.map(|lag| lag.p99)),
            figure(Some(row.cpu_us_per_event)),
            figure(Some(row.events_per_s)),
        ]
    });
    table(format, HEADINGS, rows)
}
