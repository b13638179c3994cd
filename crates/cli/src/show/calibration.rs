//! This client's own error, a row for each number of streams.

use super::number::{count, figure};
use super::table::table;
use crate::args::Format;
use crate::calibration::Level;

const HEADINGS: [&str; 10] = [
    "streams",
    "arrival\nerror p50",
    "\np99",
    "send\nerror p50",
    "\np99",
    "TTFT\nerror p99",
    "interval\nerror p99",
    "lag\np99",
    "CPU, µs\nan event",
    "events/s",
];
/// What the columns have in common.
const SAID: &str = "Errors and lag are in milliseconds.";

/// The levels; the last one is not paced.
pub(crate) fn calibration(levels: &[Level], format: Format) -> String {
    let rows = levels.iter().enumerate().map(|(place, level)| {
        let row = &level.row;
        let unpaced = if place + 1 == levels.len() { ", unpaced" } else { "" };
        [
            format!("{}{unpaced}", count(row.streams)),
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
    format!("{}\n\n{SAID}", table(format, HEADINGS, rows))
}
