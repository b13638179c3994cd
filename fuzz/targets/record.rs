//! Any bytes as a record, a comparison or a decision: refused with an error, or written back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use streamgauge_schema::Document;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = Document::read(bytes) {
        let written = document.file_bytes().expect("what was read has finite numbers");
        assert_eq!(Document::read(&written).as_ref(), Ok(&document));
    }
});
