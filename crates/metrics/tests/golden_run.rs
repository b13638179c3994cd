//! The record of a small run is a function of its plan and its journal, to the last byte.
//!
//! `UPDATE_RECORD=1` rewrites the expected record.

use std::path::Path;

use streamgauge_metrics::{RunInput, build_record, verify};
use streamgauge_schema::{
    Digest, Document, Evidence, Identifier, JournalLine, Plan, RequestLine, RunRecordV2,
    digest_bytes, read_typed,
};

const PLAN: &[u8] = include_bytes!("../../schema/tests/run/plan.json");
const JOURNAL: &[u8] = include_bytes!("../../schema/tests/run/observations.jsonl");

fn rebuilt(reverse: bool) -> RunRecordV2 {
    let plan: Plan = read_typed(PLAN).expect("a plan");
    let (mut header, mut trailer) = (None, None);
    let mut requests: Vec<RequestLine> = Vec::new();
    for line in JOURNAL.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match read_typed(line).expect("a line of a journal") {
            JournalLine::Header(line) => header = Some(line),
            JournalLine::Request(line) => requests.push(*line),
            JournalLine::Trailer(line) => trailer = Some(line),
        }
    }
    if reverse {
        requests.reverse();
    }
    let name = Identifier::new("observations.jsonl").expect("letters and a point");
    let evidence = Evidence { name, sha256: Digest::of(JOURNAL), bytes: JOURNAL.len() as u64 };
    build_record(&RunInput {
        plan: &plan,
        header: &header.expect("a header"),
        requests: &requests,
        trailer: trailer.as_ref(),
        evidence: vec![evidence],
    })
    .expect("plan and journal belong together")
}

#[test]
fn plan_and_journal_give_the_record() {
    let bytes = digest_bytes(&rebuilt(false)).unwrap();
    assert!(bytes == digest_bytes(&rebuilt(true)).unwrap(), "the order of lines matters");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/tests/run/record.json");
    if std::env::var_os("UPDATE_RECORD").is_some() {
        std::fs::write(&path, &bytes).unwrap();
    }
    let written = std::fs::read(&path).unwrap();
    assert!(written == bytes, "{} differs: run this test with UPDATE_RECORD=1", path.display());

    let document = Document::read(&written).unwrap();
    let verification = verify(&document);
    let broken: Vec<_> = verification.broken().collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(document.file_bytes_like(&written).unwrap() == written);
}
