//! With what and where it was measured, as the journals' headers say: what the shards of a run do not
//! have in common is told by how many have it.

use std::collections::BTreeMap;

use streamgauge_schema::{Condition, JournalHeader, PublicText};

use crate::error::RecordError;
use crate::record::journals::Journals;
use crate::record::text;

/// Most characters of a published text.
const MOST_CHARS: usize = 240;
/// What stands for a shard that does not say.
const UNSAID: &str = "not said";

pub(super) fn stated(journals: &Journals<'_>) -> Result<Vec<Condition>, RecordError> {
    labels(journals).into_iter().map(|label| condition(journals, label)).collect()
}

/// The labels of which the shards of a run do not say the same.
pub(in crate::record) fn differing(journals: &Journals<'_>) -> Vec<PublicText> {
    let differs = |label: &&PublicText| {
        let mut values = journals.all.iter().map(|journal| value_of(journal.header, label));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    labels(journals).into_iter().filter(differs).cloned().collect()
}

/// All labels, in the order in which they first stand.
fn labels<'a>(journals: &Journals<'a>) -> Vec<&'a PublicText> {
    let mut labels: Vec<&PublicText> = Vec::new();
    for condition in journals.all.iter().flat_map(|journal| &journal.header.conditions) {
        if !labels.contains(&&condition.label) {
            labels.push(&condition.label);
        }
    }
    labels
}

fn condition(journals: &Journals<'_>, label: &PublicText) -> Result<Condition, RecordError> {
    let mut by_value: BTreeMap<&str, u64> = BTreeMap::new();
    for journal in &journals.all {
        let value = value_of(journal.header, label).map_or(UNSAID, PublicText::as_str);
        *by_value.entry(value).or_default() += 1;
    }
    let value = match by_value.len() {
        1 => by_value.into_keys().collect(),
        different => {
            let each = by_value.iter().map(|(value, shards)| format!("{value} ({shards})"));
            let each = each.collect::<Vec<_>>().join("; ");
            let fits = each.chars().count() <= MOST_CHARS;
            if fits { each } else { format!("{different} different values") }
        }
    };
    Ok(Condition { label: label.clone(), value: text(value)? })
}

fn value_of<'a>(header: &'a JournalHeader, label: &PublicText) -> Option<&'a PublicText> {
    header.conditions.iter().find(|known| known.label == *label).map(|known| &known.value)
}
