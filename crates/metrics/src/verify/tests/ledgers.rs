//! The ledger: whatever is done to its lines shows, and names the line.

use streamgauge_schema::{
    DecisionChoice, Digest, Document, GateStanding, LedgerLine, Timestamp, read_typed,
};

use super::COMPARISON;
use super::decisions::{decided, text};
use crate::verify::{LedgerVerification, verify_ledger, verify_listed};

/// Five decisions on one comparison, a minute apart.
fn lines() -> Vec<LedgerLine> {
    let mut lines: Vec<LedgerLine> = Vec::new();
    for minute in 0..5 {
        let (choice, overriding) = match minute % 2 {
            0 => (DecisionChoice::Retain, None),
            _ => (DecisionChoice::Promote, Some("because")),
        };
        let decision = decided(COMPARISON, choice, overriding, minute).unwrap();
        let file = Document::Decision(Box::new(decision.clone())).file_bytes().unwrap();
        let name = text(&format!("{}.json", decision.decision_id));
        lines.push(LedgerLine::after(lines.last(), &decision, name, Digest::of(&file)).unwrap());
    }
    lines
}

fn file(lines: &[LedgerLine]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.file_bytes().unwrap()).collect()
}

/// The lines at which something is wrong.
fn named(found: &LedgerVerification) -> Vec<usize> {
    let mut lines: Vec<usize> = found.faults.iter().map(|fault| fault.line).collect();
    lines.dedup();
    lines
}

#[test]
fn an_untouched_ledger_holds() {
    let lines = lines();
    let found = verify_ledger(&file(&lines));
    assert_eq!(found.faults, []);
    assert_eq!(found.head(), lines.last());
    assert!(found.reaches(lines[2].sha256) && !found.reaches(Digest::of(b"")));
}

#[test]
fn a_change_of_any_byte_is_noticed_in_its_line() {
    let original = file(&lines());
    let mut line = 1;
    for at in 0..original.len() {
        // Bytes that JSON reads differently take turns.
        let turn = [original[at] ^ 0x20, b' ', b'"', b'\n', 0xff][at % 5];
        for other in [original[at] ^ 1, turn] {
            let mut bytes = original.clone();
            bytes[at] = other;
            if bytes == original {
                continue;
            }
            let named = named(&verify_ledger(&bytes));
            assert!(named.contains(&line), "byte {at}, now {other}: {named:?}, not {line}");
            assert_eq!(named[0], line, "byte {at}, now {other}");
        }
        let removed = [&original[..at], &original[at + 1..]].concat();
        assert_eq!(named(&verify_ledger(&removed)).first(), Some(&line), "byte {at} removed");
        line += usize::from(original[at] == b'\n');
    }
    assert_eq!(line, 6);
}

type Edit = fn(&mut LedgerLine);

/// A change of each member.
const EDITS: [Edit; 12] = [
    |line| line.line += 1,
    |line| line.decision_id = streamgauge_schema::Identifier::new("other").unwrap(),
    |line| line.decision_file = text("other.json"),
    |line| line.decision_sha256 = Digest::of(b"other"),
    |line| line.comparison_sha256 = Digest::of(b"other"),
    |line| {
        line.decision = match line.decision {
            DecisionChoice::Promote => DecisionChoice::Retain,
            DecisionChoice::Retain => DecisionChoice::Promote,
        }
    },
    |line| line.outcome = GateStanding::Inconclusive,
    |line| line.overridden = !line.overridden,
    |line| line.by = text("Somebody else"),
    |line| line.decided_at = Timestamp::from_unix_micros(0),
    |line| line.previous_sha256 = Some(Digest::of(b"other")),
    |line| line.sha256 = Digest::of(b"other"),
];

#[test]
fn a_change_of_any_member_is_noticed_even_with_its_digest_made_anew() {
    for place in 0..5 {
        for (number, edit) in EDITS.iter().enumerate() {
            let mut changed = lines();
            edit(&mut changed[place]);
            assert_eq!(named(&verify_ledger(&file(&changed)))[0], place + 1, "edit {number}");

            // Whoever knows the format makes the digest anew: the next line gives it away.
            let digest = changed[place].digest().unwrap();
            changed[place].sha256 = digest;
            let found = verify_ledger(&file(&changed));
            if changed == lines() {
                assert_eq!(found.faults, []);
            } else if place < 4 {
                let next = found
                    .faults
                    .iter()
                    .find(|it| (it.line, it.rule) == (place + 2, "line-follows"));
                let next = next.unwrap_or_else(|| panic!("edit {number} of {place}"));
                assert!(next.statement.contains(&format!("line {} was changed", place + 1)));
            } else {
                // Only a digest that was kept elsewhere tells.
                assert!(!found.reaches(lines()[4].sha256));
            }
        }
    }
}

#[test]
fn lines_that_were_moved_are_noticed() {
    let original = lines();
    for place in 0..4 {
        let mut removed = original.clone();
        removed.remove(place);
        assert_eq!(named(&verify_ledger(&file(&removed)))[0], place + 1, "{place} removed");
        let mut swapped = original.clone();
        swapped.swap(place, place + 1);
        assert_eq!(named(&verify_ledger(&file(&swapped)))[0], place + 1, "{place} swapped");
    }
    for (from, to) in [(0, 1), (0, 5), (4, 0), (2, 3)] {
        let mut inserted = original.clone();
        inserted.insert(to, original[from].clone());
        assert_eq!(named(&verify_ledger(&file(&inserted)))[0], to + 1, "{from} put at {to}");
    }
    // What was cut off at the end shows by the digest that was kept, and by nothing else.
    let cut = verify_ledger(&file(&original[..3]));
    assert_eq!(cut.faults, []);
    assert!(cut.reaches(original[2].sha256) && !cut.reaches(original[4].sha256));
}

#[test]
fn a_torn_end_and_strange_bytes_are_named() {
    let whole = file(&lines());
    let torn = verify_ledger(&whole[..whole.len() - 10]);
    assert_eq!((named(&torn), torn.lines.len()), (vec![5], 4));
    assert!(torn.torn_bytes > 100);
    let strange = verify_ledger(&b"\n".repeat(1_000_000));
    assert_eq!(strange.faults.len(), 100);
    let deep = verify_ledger(&[b"{\"schema\":".repeat(100_000), b"\n".to_vec()].concat());
    assert_eq!(deep.faults[0].rule, "line-shape");
}

#[test]
fn a_line_is_held_against_its_decision() {
    let decision = decided(COMPARISON, DecisionChoice::Retain, None, 0).unwrap();
    let file = Document::Decision(Box::new(decision.clone())).file_bytes().unwrap();
    let line = lines().remove(0);
    assert_eq!(verify_listed(&line, &decision, &file), None);
    let other = verify_listed(&line, &decision, b"other").unwrap();
    assert!(other.contains("is not the decision that was listed"), "{other}");
    let changed = LedgerLine { by: text("Somebody else"), ..line.clone() };
    let other = verify_listed(&changed, &decision, &file).unwrap();
    assert!(other.starts_with("it says something else than retain-"), "{other}");
    let read: LedgerLine = read_typed(&line.file_bytes().unwrap()).unwrap();
    assert_eq!(read, line);
}
