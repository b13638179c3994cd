//! Any bytes as a plan: refused with an error, or written back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use streamgauge_schema::{Layout, Plan, file_bytes, read_typed};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(plan) = read_typed::<Plan>(bytes) {
        let written = file_bytes(&plan, Layout::AsGiven).expect("what was read has finite numbers");
        assert_eq!(read_typed::<Plan>(&written).as_ref(), Ok(&plan));
    }
});
