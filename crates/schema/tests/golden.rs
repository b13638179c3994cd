//! The golden documents: read into types and written back byte for byte.

use streamgauge_schema::{Document, Identifier, RunRecord};

const RECORD: &[u8] = include_bytes!("records/serving-performance-v1.json");
const COMPARISON: &[u8] = include_bytes!("records/runtime-profile-comparison-v1.json");
const COMPARISON_V2: &[u8] = include_bytes!("records/comparison-v2.json");
const DECISION: &[u8] = include_bytes!("records/decision-v1.json");

#[test]
fn golden_documents_are_written_back_byte_for_byte() {
    for original in [RECORD, COMPARISON, COMPARISON_V2, DECISION] {
        let document = Document::read(original).unwrap();
        assert!(document.file_bytes_like(original).unwrap() == original);
        let ended = [original.trim_ascii_end(), b"\n"].concat();
        let document = Document::read(&ended).unwrap();
        assert!(document.file_bytes_like(&ended).unwrap() == ended);
    }
}

#[test]
fn the_golden_record_bears_its_own_digest() {
    let Document::Run(RunRecord::V1(record)) = Document::read(RECORD).unwrap() else {
        panic!("the golden record is a run record of version 1");
    };
    let bare = Identifier::new("glm53-flash-stock-serving-4k-c1-pilot").unwrap();
    assert_eq!(record.digest(&bare).unwrap().prefix(12), "119f8a2564a2");
    assert_eq!(record.run_id.as_str(), "glm53-flash-stock-serving-4k-c1-pilot-119f8a2564a2");
}
