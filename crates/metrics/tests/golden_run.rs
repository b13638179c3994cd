//! The records of two small runs, a closed loop by the client's clock and an open loop by the
//! kernel's, are functions of their plans and journals, to the last byte.
//!
//! `UPDATE_RECORD=1` rewrites the expected records.

use std::path::Path;

use streamgauge_metrics::{RunInput, build_record, verify};
use streamgauge_schema::{
    Digest, Document, Evidence, Identifier, JournalLine, Plan, RequestLine, RunRecordV2,
    digest_bytes, read_typed,
};

/// The folders of the runs.
const RUNS: [&str; 2] = ["../schema/tests/run", "../schema/tests/run/open"];

fn rebuilt(folder: &Path, reverse: bool) -> RunRecordV2 {
    let read = |name| std::fs::read(folder.join(name)).expect("a file of the run");
    let plan: Plan = read_typed(&read("plan.json")).expect("a plan");
    let journal = read("observations.jsonl");
    let (mut header, mut trailer) = (None, None);
    let mut requests: Vec<RequestLine> = Vec::new();
    for line in journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match read_typed(line).expect("a line of a journal") {
            JournalLine::Header(line) => header = Some(line),
            JournalLine::Request(line) => requests.push(*line),
            JournalLine::Begun(_) => panic!("the run is whole"),
            JournalLine::Resumed(_) => panic!("the run was not taken up"),
            JournalLine::Trailer(line) => trailer = Some(line),
        }
    }
    if reverse {
        requests.reverse();
    }
    let name = Identifier::new("observations.jsonl").expect("letters and a point");
    let evidence = Evidence { name, sha256: Digest::of(&journal), bytes: journal.len() as u64 };
    build_record(&RunInput {
        plan: &plan,
        header: &header.expect("a header"),
        requests: &requests,
        trailer: trailer.as_ref(),
        grades: None,
        evidence: vec![evidence],
    })
    .expect("plan and journal belong together")
}

#[test]
fn plan_and_journal_give_the_record() {
    for folder in RUNS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let bytes = digest_bytes(&rebuilt(&folder, false)).unwrap();
        let reversed = digest_bytes(&rebuilt(&folder, true)).unwrap();
        assert!(bytes == reversed, "the order of lines matters");
        let path = folder.join("record.json");
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
}
