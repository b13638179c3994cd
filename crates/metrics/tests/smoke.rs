//! Whatever can be read can be verified, and any journal gives a record or an error: no content
//! makes a rule or a figure panic.
//!
//! `PROPTEST_CASES` says how many cases each property is tried with.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use streamgauge_metrics::{
    GateOutcome, RecordError, RunInput, build_record, unproven, verdict, verify,
};
use streamgauge_schema::{
    Digest, Document, JournalHeader, JournalLine, Json, Layout, Plan, RunRecord, RunRecordV2,
    file_bytes, read_typed,
};

const DOCUMENTS: [&[u8]; 6] = [
    include_bytes!("../../schema/tests/records/comparison-v2.json"),
    include_bytes!("../../schema/tests/records/decision-v1.json"),
    include_bytes!("../../schema/tests/records/runtime-profile-comparison-v1.json"),
    include_bytes!("../../schema/tests/records/serving-performance-v1.json"),
    include_bytes!("../../schema/tests/run/record.json"),
    include_bytes!("../../schema/tests/run/open/record.json"),
];

/// Values at the ends of their types, as JSON; a change puts one in the place of another.
const VALUES: [&str; 18] = [
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "0",
    "1",
    "18446744073709551615",
    "0.0",
    "-0.0",
    "0.001",
    "5e-324",
    "1.7976931348623157e308",
    "1.8446744073709552e16",
    "-1.0",
    r#""a""#,
    r#""pass""#,
    r#""9999-12-31T23:59:59.999999+00:00""#,
];

/// Plans with their journals.
const RUNS: [[&[u8]; 2]; 2] = [
    [
        include_bytes!("../../schema/tests/run/plan.json"),
        include_bytes!("../../schema/tests/run/observations.jsonl"),
    ],
    [
        include_bytes!("../../schema/tests/run/open/plan.json"),
        include_bytes!("../../schema/tests/run/open/observations.jsonl"),
    ],
];

/// Stamps and counts at the ends of their type.
const COUNTS: [&str; 8] = [
    "0",
    "1",
    "2",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551614",
    "18446744073709551615",
    "null",
];

/// One change to a document.
#[derive(Clone, Copy, Debug)]
enum Edit {
    /// The last item of a list stands twice.
    Grow,
    /// Another value in the place of one that has no members.
    Put(&'static str),
    /// The last item of a list goes.
    Shrink,
}

impl Edit {
    fn fits(self, json: &Json) -> bool {
        match (self, json) {
            (Self::Grow | Self::Shrink, Json::Array(items)) => !items.is_empty(),
            (Self::Put(_), json) => !matches!(json, Json::Array(_) | Json::Object(_)),
            _ => false,
        }
    }

    fn apply(self, json: &mut Json) {
        match (self, json) {
            (Self::Grow, Json::Array(items)) => items.extend(items.last().cloned()),
            (Self::Shrink, Json::Array(items)) => drop(items.pop()),
            (Self::Put(text), json) => *json = serde_json::from_str(text).expect("VALUES are JSON"),
            (edit, json) => panic!("{edit:?} does not fit {json:?}"),
        }
    }
}

/// Visits every value of a tree in document order.
fn walk(json: &mut Json, visit: &mut impl FnMut(&mut Json)) {
    visit(json);
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
        Json::Object(members) => members.iter_mut().for_each(|(_, member)| walk(member, visit)),
        _ => {}
    }
}

/// The document with each edit made at one of the places where it fits.
fn edited(original: &[u8], edits: &[(Index, Edit)]) -> Vec<u8> {
    let mut tree: Json = serde_json::from_slice(original).expect("DOCUMENTS are JSON");
    for (place, edit) in edits {
        let mut places = 0;
        walk(&mut tree, &mut |json| places += usize::from(edit.fits(json)));
        if places == 0 {
            continue;
        }
        let mut left = Some(place.index(places));
        walk(&mut tree, &mut |json| {
            if edit.fits(json) {
                if left == Some(0) {
                    edit.apply(json);
                }
                left = left.and_then(|left| left.checked_sub(1));
            }
        });
    }
    file_bytes(&tree, Layout::AsGiven).expect("VALUES are finite")
}

fn any_edits(
    values: &'static [&'static str],
    count: Range<usize>,
) -> impl Strategy<Value = Vec<(Index, Edit)>> {
    let edit = prop_oneof![
        1 => Just(Edit::Grow),
        6 => select(values).prop_map(Edit::Put),
        1 => Just(Edit::Shrink),
    ];
    vec((any::<Index>(), edit), count)
}

/// Whether the bytes could be read.
fn check(bytes: &[u8]) -> bool {
    let Ok(document) = Document::read(bytes) else { return false };
    let verification = verify(&document);
    assert_eq!(verification, verify(&document));
    // It verifies a document once or more for each member; of most that is a thousand times.
    if matches!(document, Document::Comparison(_) | Document::Run(RunRecord::V1(_))) {
        assert!(unproven(&document).len() < bytes.len());
    }
    if let Document::Comparison(comparison) = &document {
        let passed = verdict(comparison) == GateOutcome::Passed;
        assert!(comparison.performance_gate_passed || !passed);
    }
    true
}

/// The record of a run after edits to its plan and its requests; `None` where these can no longer
/// be read.
fn rebuilt(
    [plan_text, journal]: [&[u8]; 2],
    plan: &[(Index, Edit)],
    requests: &[(Index, Edit)],
) -> Option<Result<RunRecordV2, RecordError>> {
    let plan: Plan = read_typed(&edited(plan_text, plan)).ok()?;
    let lines = journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines: Vec<Json> =
        lines.map(|line| serde_json::from_slice(line).expect("RUNS are JSON")).collect();
    let lines = file_bytes(&lines, Layout::AsGiven).expect("RUNS are finite");
    let lines: Vec<JournalLine> = read_typed(&edited(&lines, requests)).ok()?;
    let (mut header, mut found, mut trailer) = (None, Vec::new(), None);
    for line in lines {
        match line {
            JournalLine::Header(line) => header = Some(line),
            JournalLine::Request(line) => found.push(*line),
            JournalLine::Begun(_) => panic!("the run is whole"),
            JournalLine::Resumed(_) => panic!("the run was not taken up"),
            JournalLine::Trailer(line) => trailer = Some(line),
        }
    }
    let header = JournalHeader { plan_sha256: Digest::of_value(&plan).ok()?, ..header? };
    Some(build_record(&RunInput {
        plan: &plan,
        header: &header,
        requests: &found,
        trailer: trailer.as_ref(),
        grades: None,
        evidence: Vec::new(),
    }))
}

#[test]
fn the_originals_hold() {
    for document in DOCUMENTS {
        assert!(check(document));
        assert!(verify(&Document::read(document).unwrap()).holds());
    }
    for run in RUNS {
        assert!(rebuilt(run, &[], &[]).unwrap().is_ok());
    }
}

/// Fewer cases than usual, as each verifies a document several times.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => usual,
        None => ProptestConfig { cases: 64, ..usual },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn edited_documents(document in select(&DOCUMENTS[..]), edits in any_edits(&VALUES, 1..5)) {
        check(&edited(document, &edits));
    }

    #[test]
    fn edited_journals(
        run in select(&RUNS[..]),
        plan in any_edits(&COUNTS, 0..2),
        requests in any_edits(&COUNTS, 0..12),
    ) {
        if let Some(Ok(record)) = rebuilt(run, &plan, &requests) {
            let document = Document::Run(RunRecord::V2(Box::new(record)));
            let bytes = document.file_bytes().expect("a record has finite numbers");
            prop_assert_eq!(Document::read(&bytes), Ok(document));
            check(&bytes);
        }
    }

    #[test]
    fn flipped_digits(document in select(&DOCUMENTS[..]), flips in vec((any::<Index>(), 0_u8..3), 1..4)) {
        let mut bytes = document.to_vec();
        for (place, bit) in flips {
            let at = place.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        check(&bytes);
    }
}
