//! What verification cannot vouch for.

use std::collections::{BTreeMap, BTreeSet};

use streamgauge_schema::{
    CanonicalError, Document, Json, JsonPath, Layout, Millis, RunRecord, Segment, file_bytes,
};

use super::leaves::{leaves, value_at};
use super::numbers::{Number, visit};
use super::{Finding, Rules, check_record, decision, identity, verify};

/// The rules that cover a whole document.
const DIGEST_RULES: [&str; 2] = [decision::DIGEST_RULE, identity::DIGEST_RULE];
/// Most cases of a record whose durations are changed one by one.
const MOST_CASES: usize = 100;

/// The members that could be something else without any rule noticing, in document order.
///
/// The members are found by trial, which is never out of date: each is changed, one at a time, and the
/// document is verified again. A member is unproven when a change of it neither makes the document
/// unreadable nor breaks a rule that names it.
///
/// The digest in the id of a *run record* covers every member, so that a change without another id is
/// noticed; what stands here is what could be changed together with the id. Every number is changed
/// to its neighbours (a whole number by one; a float to the next one, and by 0.001, both up and down).
/// All else in it is unproven where no other rule covers it. The durations of cases beyond the
/// hundredth are not changed: they are taken to be as proven as those before. Of a *decision* the
/// members stand here that no rule but its digest covers.
///
/// A *comparison* and a *determinism report* carry no digest. Each of their members is changed by the smallest step that keeps
/// its form (a whole number plus one; a float to the next larger; a boolean to the other; of a text
/// the last letter or digit to its neighbour). `null` and empty lists have no smallest step: they are
/// unproven unless a rule covers them. A float that enters a rounded result may be unproven because
/// its neighbour gives the same bits.
#[must_use]
pub fn unproven(document: &Document) -> Vec<JsonPath> {
    match document {
        Document::Comparison(comparison) => unnoticed(document, Json::from_value(comparison)),
        Document::ComparisonV2(comparison) => unnoticed(document, Json::from_value(comparison)),
        Document::Decision(_) => unproven_by_others(document, |_| BTreeMap::new()),
        Document::Determinism(report) => unnoticed(document, Json::from_value(report)),
        Document::Run(record) => unproven_by_others(document, |covered| trials(record, covered)),
    }
}

/// What is not proven by rules other than the digest's, and by what changes to numbers showed.
fn unproven_by_others(
    document: &Document,
    trials: impl FnOnce(&BTreeSet<&JsonPath>) -> BTreeMap<JsonPath, bool>,
) -> Vec<JsonPath> {
    let (digest, others): (Vec<Finding>, Vec<Finding>) = verify(document)
        .findings
        .into_iter()
        .partition(|finding| DIGEST_RULES.contains(&finding.rule));
    let covered = members_of(others.iter());
    let numbers = trials(&covered);
    let is_proven = |member: &JsonPath| {
        covered.contains(member) && numbers.get(member).copied().unwrap_or(true)
    };
    let all = digest.into_iter().flat_map(|finding| finding.members);
    all.filter(|member| !is_proven(member)).collect()
}

/// Whether every change to a number that some rule covers is noticed, by the number's path.
fn trials(record: &RunRecord, covered: &BTreeSet<&JsonPath>) -> BTreeMap<JsonPath, bool> {
    let (mut record, mut rules) = (record.clone(), Rules::default());
    let mut paths = Vec::new();
    visit(&mut record, &mut |path, _| paths.push(path()));
    let case = |path: &JsonPath| match path.segments() {
        [Segment::Key(cases), Segment::Index(case), ..] if cases == "cases" => Some(*case),
        _ => None,
    };
    let is_case = |path: &JsonPath| case(path).is_some();
    let is_late_case = |path: &JsonPath| case(path) >= Some(MOST_CASES);
    let (mut found, mut are_cases_proven) = (BTreeMap::new(), true);
    for (place, path) in paths.into_iter().enumerate() {
        if !covered.contains(&path) {
            continue;
        }
        let mut notices = |step| {
            let Some(before) = change(&mut record, place, step) else { return true };
            rules.sought = Some(path.clone());
            rules.is_named = false;
            check_record(&record, &mut rules);
            restore(&mut record, place, before);
            rules.is_named
        };
        let is_noticed = if is_late_case(&path) {
            are_cases_proven
        } else {
            NEIGHBOURS.into_iter().all(&mut notices)
        };
        are_cases_proven &= is_noticed || !is_case(&path);
        found.insert(path, is_noticed);
    }
    found
}

/// A change of a number.
#[derive(Clone, Copy)]
enum Neighbour {
    /// The next one, up or down.
    Next { up: bool },
    /// A thousandth more or less, of a float.
    Thousandth { up: bool },
}

const NEIGHBOURS: [Neighbour; 4] = [
    Neighbour::Next { up: true },
    Neighbour::Next { up: false },
    Neighbour::Thousandth { up: true },
    Neighbour::Thousandth { up: false },
];

/// What stood in a place before it was changed.
enum Before {
    Count(u64),
    Float(f64),
    Millis(Millis),
}

/// Changes the number in a place; `None` where it has no such neighbour that a record can hold.
fn change(record: &mut RunRecord, place: usize, step: Neighbour) -> Option<Before> {
    let mut before = None;
    with_number(record, place, |number| {
        before = match number {
            Number::Count(number) => {
                step.count(*number).map(|changed| Before::Count(std::mem::replace(number, changed)))
            }
            Number::Float(number) => {
                step.float(*number).map(|changed| Before::Float(std::mem::replace(number, changed)))
            }
            Number::Millis(number) => {
                let changed = step.float(number.value()).and_then(Millis::new);
                changed.map(|changed| Before::Millis(std::mem::replace(number, changed)))
            }
        };
    });
    before
}

fn restore(record: &mut RunRecord, place: usize, before: Before) {
    with_number(record, place, |number| match (number, before) {
        (Number::Count(number), Before::Count(before)) => *number = before,
        (Number::Float(number), Before::Float(before)) => *number = before,
        (Number::Millis(number), Before::Millis(before)) => *number = before,
        _ => {}
    });
}

fn with_number(record: &mut RunRecord, place: usize, then: impl FnOnce(Number<'_>)) {
    let (mut next, mut then) = (0, Some(then));
    visit(record, &mut |_, number| {
        if next == place
            && let Some(then) = then.take()
        {
            then(number);
        }
        next += 1;
    });
}

impl Neighbour {
    fn count(self, number: u64) -> Option<u64> {
        match self {
            Self::Next { up: true } => number.checked_add(1),
            Self::Next { up: false } => number.checked_sub(1),
            Self::Thousandth { .. } => None,
        }
    }

    fn float(self, number: f64) -> Option<f64> {
        let thousandths = (number * 1000.0).round();
        let changed = match self {
            Self::Next { up: true } => number.next_up(),
            Self::Next { up: false } => number.next_down(),
            Self::Thousandth { up: true } => (thousandths + 1.0) / 1000.0,
            Self::Thousandth { up: false } => (thousandths - 1.0) / 1000.0,
        };
        Some(changed).filter(|changed| changed.is_finite() && *changed != number)
    }
}

fn unnoticed(document: &Document, tree: Result<Json, CanonicalError>) -> Vec<JsonPath> {
    // A comparison with a number that JSON does not know has no text, and none was ever read.
    let Ok(tree) = tree else { return Vec::new() };
    let verification = verify(document);
    let covered = members_of(verification.findings.iter());
    let is_noticed = |member: &JsonPath| match changed(&tree, member) {
        Some(changed) => notices(&changed, member),
        None => covered.contains(member),
    };
    leaves(&tree).into_iter().filter(|member| !is_noticed(member)).collect()
}

/// The tree with one member changed by its smallest step; `None` where it has none.
fn changed(tree: &Json, member: &JsonPath) -> Option<Json> {
    let mut tree = tree.clone();
    let value = value_at(&mut tree, member)?;
    *value = stepped(value)?;
    Some(tree)
}

fn stepped(value: &Json) -> Option<Json> {
    match value {
        Json::Bool(value) => Some(Json::Bool(!value)),
        Json::Int(value) => value.checked_add(1).map(Json::Int),
        Json::Uint(value) => value.checked_add(1).map(Json::Uint),
        Json::Float(value) => Some(Json::Float(value.next_up())).filter(is_finite),
        Json::String(text) => {
            let (at, last) = text.char_indices().rfind(|(_, c)| c.is_ascii_alphanumeric())?;
            let neighbour = match last {
                '0' => '1',
                'A' => 'B',
                'a' => 'b',
                _ => char::from(u8::try_from(last).ok()? - 1),
            };
            let rest = &text[at + last.len_utf8()..];
            Some(Json::String(format!("{}{neighbour}{rest}", &text[..at])))
        }
        Json::Array(_) | Json::Null | Json::Object(_) => None,
    }
}

fn is_finite(value: &Json) -> bool {
    !matches!(value, Json::Float(value) if !value.is_finite())
}

/// Whether reading or verifying a changed document finds fault with the changed member.
fn notices(changed: &Json, member: &JsonPath) -> bool {
    let document = file_bytes(changed, Layout::AsGiven)
        .map_err(|_| ())
        .and_then(|bytes| Document::read(&bytes).map_err(|_| ()));
    let Ok(document) = document else { return true };
    verify(&document).broken().any(|finding| finding.members.contains(member))
}

fn members_of<'a>(findings: impl Iterator<Item = &'a Finding>) -> BTreeSet<&'a JsonPath> {
    findings.flat_map(|finding| &finding.members).collect()
}
