//! Any bytes as a journal: refused with an error, or read.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use streamgauge_client::Journal;

fuzz_target!(|bytes: &[u8]| {
    let _ = Journal::parse(bytes, Path::new("observations.jsonl"));
});
