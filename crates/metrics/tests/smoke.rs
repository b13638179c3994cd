//! Whatever can be read can be verified: no document of any content makes a rule panic.
//!
//! `PROPTEST_CASES` says how many cases each property is tried with.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use streamgauge_metrics::{GateOutcome, unproven, verdict, verify};
use streamgauge_schema::{Document, Json, Layout, file_bytes};

const DOCUMENTS: [&[u8]; 3] = [
    include_bytes!("../../schema/tests/records/runtime-profile-comparison-v1.json"),
    include_bytes!("../../schema/tests/records/serving-performance-v1.json"),
    include_bytes!("../../schema/tests/run/record.json"),
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
            (Self::Put(text), json) => *json = serde_json::from_str(text).unwrap(),
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
    let mut tree: Json = serde_json::from_slice(original).unwrap();
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
    file_bytes(&tree, Layout::AsGiven).unwrap()
}

fn any_edits() -> impl Strategy<Value = Vec<(Index, Edit)>> {
    let edit = prop_oneof![
        1 => Just(Edit::Grow),
        6 => select(&VALUES[..]).prop_map(Edit::Put),
        1 => Just(Edit::Shrink),
    ];
    vec((any::<Index>(), edit), 1..5)
}

/// Whether the bytes could be read.
fn check(bytes: &[u8]) -> bool {
    let Ok(document) = Document::read(bytes) else { return false };
    let verification = verify(&document);
    assert_eq!(verification, verify(&document));
    let unproven = unproven(&document);
    assert!(unproven.len() < bytes.len());
    if let Document::Comparison(comparison) = &document {
        let passed = verdict(comparison) == GateOutcome::Passed;
        assert!(comparison.performance_gate_passed || !passed);
    }
    true
}

#[test]
fn the_originals_hold() {
    for document in DOCUMENTS {
        assert!(check(document));
        assert!(verify(&Document::read(document).unwrap()).holds());
    }
}

proptest! {
    #[test]
    fn edited_documents(document in select(&DOCUMENTS[..]), edits in any_edits()) {
        check(&edited(document, &edits));
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
