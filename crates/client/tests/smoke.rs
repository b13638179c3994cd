//! Any bytes may be given as a journal: nothing panics, and what is cut off loses no whole line.
//!
//! `PROPTEST_CASES` says how many cases each property is tried with.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use streamgauge_client::Journal;

const JOURNAL: &[u8] = include_bytes!("../../schema/tests/run/observations.jsonl");

fn parsed(bytes: &[u8]) -> Option<Journal> {
    Journal::parse(bytes, Path::new("observations.jsonl")).ok()
}

proptest! {
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        parsed(&bytes);
    }

    #[test]
    fn edited_journals(edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = JOURNAL.to_vec();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        parsed(&bytes);
    }

    #[test]
    fn a_cut_keeps_whole_lines(at in any::<prop::sample::Index>()) {
        let header = JOURNAL.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let cut = header + at.index(JOURNAL.len() - header);
        let whole = JOURNAL[header..cut].iter().filter(|byte| **byte == b'\n').count();
        let journal = parsed(&JOURNAL[..cut]).expect("its lines are whole");
        let lines = journal.requests.len() + usize::from(journal.trailer.is_some());
        prop_assert_eq!(lines, whole);
    }
}
