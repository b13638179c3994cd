//! Results of AIPerf: `profile_export.jsonl`, one request a line, or the summary
//! `profile_export_aiperf.json`.

mod keys;
mod lines;
mod summary;

use crate::error::ImportError;
use crate::found::Found;
use crate::json::without_mark;

/// Where a value of the summary stands, in errors.
const PLACE: &str = "the file";

/// Reads either of the two files.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Found>, ImportError> {
    if is_lines(without_mark(bytes)) {
        return Ok(lines::read(bytes)?.into_iter().collect());
    }
    Ok(vec![summary::read(bytes)?])
}

/// Whether the file has one request a line: its first line is an object by itself.
fn is_lines(bytes: &[u8]) -> bool {
    let first =
        bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    let is_line = |line: &[u8]| {
        serde_json::from_slice::<serde_json::Value>(line)
            .is_ok_and(|value| value.get("metadata").is_some())
    };
    first.is_some_and(is_line)
}
