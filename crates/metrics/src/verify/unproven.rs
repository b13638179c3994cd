//! What verification cannot vouch for.

use std::collections::BTreeSet;

use streamgauge_schema::{CanonicalError, Document, Json, JsonPath, Layout, file_bytes};

use super::leaves::{leaves, value_at};
use super::{Finding, decision, identity, verify};

/// The rules that cover a whole document.
const DIGEST_RULES: [&str; 2] = [decision::DIGEST_RULE, identity::DIGEST_RULE];

/// The members that could be something else without any rule noticing, in document order.
///
/// Of a *run record* and a *decision* these are the members that no rule but the digest in the id
/// covers: a change is noticed, but nothing else in the record bears the value out.
///
/// A *comparison* carries no digest, so the members are found by trial, which is never out of date:
/// each is changed by the smallest step that keeps its form (a whole number plus one; a float to
/// the next larger; a boolean to the other; of a text the last letter or digit to its neighbour),
/// and the document is read and verified again. A member whose change neither makes the document
/// unreadable nor breaks a rule is unproven. `null` and empty lists have no smallest step: they are
/// unproven unless a rule covers them. A float that enters a rounded result may be unproven because
/// its neighbour gives the same bits.
#[must_use]
pub fn unproven(document: &Document) -> Vec<JsonPath> {
    match document {
        Document::Comparison(comparison) => unnoticed(document, Json::from_value(comparison)),
        Document::ComparisonV2(comparison) => unnoticed(document, Json::from_value(comparison)),
        Document::Decision(_) | Document::Run(_) => covered_by_digest_alone(document),
    }
}

fn covered_by_digest_alone(record: &Document) -> Vec<JsonPath> {
    let (digest, others): (Vec<Finding>, Vec<Finding>) = verify(record)
        .findings
        .into_iter()
        .partition(|finding| DIGEST_RULES.contains(&finding.rule));
    let covered = members_of(others.iter());
    let all = digest.into_iter().flat_map(|finding| finding.members);
    all.filter(|member| !covered.contains(member)).collect()
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
