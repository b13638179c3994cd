//! Any bytes may be given to the readers: nothing panics, and what is read is written back the same.
//!
//! `PROPTEST_CASES` says how many cases each property is tried with.

use std::fmt::Debug;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde::Serialize;
use serde::de::DeserializeOwned;
use streamgauge_schema::{Document, JournalLine, Layout, Plan, file_bytes, read_typed};

const DOCUMENTS: [&[u8]; 3] = [
    include_bytes!("records/runtime-profile-comparison-v1.json"),
    include_bytes!("records/serving-performance-v1.json"),
    include_bytes!("run/record.json"),
];
const PLAN: &[u8] = include_bytes!("run/plan.json");
const JOURNAL: &[u8] = include_bytes!("run/observations.jsonl");

/// What is put into a document: numbers at their ends, marks of JSON, and what is no JSON.
const INSERTED: [&str; 20] = [
    "0",
    "9",
    "-",
    ".5",
    "e9",
    "e-400",
    "e400",
    "18446744073709551616",
    "-0.0",
    "null",
    "true",
    "[]",
    "{}",
    "\"",
    ",",
    "\\u0000",
    "\\ud800",
    "\n",
    "é",
    "NaN",
];

/// One change to some bytes.
#[derive(Clone, Debug)]
enum Edit {
    Delete(Index, usize),
    Flip(Index, u8),
    Insert(Index, &'static str),
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Self::Delete(at, count) => {
                let from = at.index(bytes.len());
                bytes.drain(from..bytes.len().min(from + count));
            }
            Self::Flip(at, bit) => {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            Self::Insert(at, text) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, text.bytes());
            }
        }
    }
}

fn any_edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        (any::<Index>(), 1_usize..40).prop_map(|(at, count)| Edit::Delete(at, count)),
        // The low bits turn digits and letters into others, so that more is still JSON.
        (any::<Index>(), prop_oneof![3 => 0_u8..3, 1 => 3_u8..8])
            .prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (any::<Index>(), select(&INSERTED[..])).prop_map(|(at, text)| Edit::Insert(at, text)),
    ];
    vec(edit, 1..4)
}

fn edited(original: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for edit in edits {
        edit.apply(&mut bytes);
    }
    bytes
}

/// Whether the bytes could be read.
fn check_document(bytes: &[u8]) -> bool {
    let Ok(document) = Document::read(bytes) else { return false };
    let written = document.file_bytes().expect("what was read has finite numbers");
    assert_eq!(Document::read(&written).as_ref(), Ok(&document));
    assert_eq!(document.file_bytes_like(&written), Ok(written));
    true
}

/// Whether the bytes could be read.
fn check_typed<T: Debug + DeserializeOwned + PartialEq + Serialize>(bytes: &[u8]) -> bool {
    let Ok(value) = read_typed::<T>(bytes) else { return false };
    let written = file_bytes(&value, Layout::AsGiven).expect("what was read has finite numbers");
    assert_eq!(read_typed::<T>(&written).as_ref(), Ok(&value));
    true
}

fn lines() -> Vec<&'static [u8]> {
    JOURNAL.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_originals_are_read() {
    for document in DOCUMENTS {
        assert!(check_document(document));
    }
    assert!(check_typed::<Plan>(PLAN));
    assert_eq!(lines().len(), 9);
    for line in lines() {
        assert!(check_typed::<JournalLine>(line));
    }
}

#[test]
fn depth_is_bounded() {
    for open in ["[", "{\"a\":", "{\"trailer\":", "{\"schema_version\": 2, \"cases\": ["] {
        let deep = open.repeat(100_000);
        assert!(!check_document(deep.as_bytes()));
        assert!(!check_typed::<Plan>(deep.as_bytes()));
        assert!(!check_typed::<JournalLine>(deep.as_bytes()));
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        check_document(&bytes);
        check_typed::<Plan>(&bytes);
        check_typed::<JournalLine>(&bytes);
    }

    #[test]
    fn pieces_of_json(pieces in vec(select(&INSERTED[..]), 0..60)) {
        let text = pieces.concat();
        for text in [text.clone(), format!("{{\"schema_version\": 2, \"run_id\": {text}")] {
            check_document(text.as_bytes());
            check_typed::<Plan>(text.as_bytes());
            check_typed::<JournalLine>(text.as_bytes());
        }
    }

    #[test]
    fn edited_documents(document in select(&DOCUMENTS[..]), edits in any_edits()) {
        check_document(&edited(document, &edits));
    }

    #[test]
    fn edited_plans(edits in any_edits()) {
        check_typed::<Plan>(&edited(PLAN, &edits));
    }

    #[test]
    fn edited_lines(line in select(lines()), edits in any_edits()) {
        check_typed::<JournalLine>(&edited(line, &edits));
    }
}
