//! What several addresses say of themselves, as the conditions of one record.

use streamgauge_schema::{Condition, Digest, PublicText, Replica};

/// Digits of a digest that tells fleets apart.
const DIGITS: usize = 16;

/// The conditions on which all agree; where they do not, who says what, each address by its name.
/// All have the same labels, or some lack one.
pub(crate) fn agreed(mut told: Vec<Vec<Condition>>) -> Vec<Condition> {
    if told.len() < 2 {
        return told.pop().unwrap_or_default();
    }
    let mut labels: Vec<PublicText> = Vec::new();
    for condition in told.iter().flatten() {
        if !labels.contains(&condition.label) {
            labels.push(condition.label.clone());
        }
    }
    let value = |label: PublicText| Condition { value: said_of(&label, &told), label };
    labels.into_iter().map(value).collect()
}

fn said_of(label: &PublicText, told: &[Vec<Condition>]) -> PublicText {
    let by_place = told.iter().map(|conditions| {
        let found = conditions.iter().find(|condition| condition.label == *label);
        found.map_or(super::ABSENT, |condition| condition.value.as_str())
    });
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (place, value) in by_place.enumerate() {
        let name = Replica::name(place).to_string();
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(name),
            None => groups.push((value, vec![name])),
        }
    }
    if let [(value, _)] = groups[..] {
        return PublicText::or_withheld(value);
    }
    let each = groups.iter().map(|(value, names)| format!("{}: {value}", names.join(", ")));
    let each = each.collect::<Vec<_>>().join("; ");
    PublicText::new(each.as_str()).unwrap_or_else(|_| {
        // Too long to be told, and still not the same as another fleet's.
        let digest = Digest::of(each.as_bytes()).prefix(DIGITS);
        let count = groups.len();
        PublicText::or_withheld(&format!("{count} different values, SHA-256 {digest}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(version: &str) -> Vec<Condition> {
        let condition = |label, value| super::super::condition(label, Some(value));
        let version = condition("Version stated by the server", version.to_owned());
        vec![condition("Models listed by the server", "1".to_owned()), version]
    }

    #[test]
    fn what_all_say_is_said_once_and_what_differs_by_name() {
        let of = |versions: &[&str]| -> Vec<String> {
            let agreed = agreed(versions.iter().map(|version| told(version)).collect());
            agreed.into_iter().map(|condition| condition.value.to_string()).collect()
        };
        assert_eq!(of(&["b1"]), ["1", "b1"]);
        assert_eq!(of(&["b1", "b1"]), ["1", "b1"]);
        assert_eq!(of(&["b1", "b2"]), ["1", "replica-1: b1; replica-2: b2"]);
        assert_eq!(of(&["b1", "b2", "b1"]), ["1", "replica-1, replica-3: b1; replica-2: b2"]);
        let versions: Vec<String> = (0..40).map(|number| format!("build {number}")).collect();
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        let long = of(&versions);
        assert!(long[1].starts_with("40 different values, SHA-256 "), "{long:?}");
        assert_ne!(
            long,
            of(&versions[1..].iter().chain(&versions[..1]).copied().collect::<Vec<_>>())
        );
    }

    #[test]
    fn one_that_does_not_tell_is_absent() {
        let mut silent = told("b1");
        silent.pop();
        let agreed = agreed(vec![told("b1"), silent]);
        assert_eq!(agreed[1].value.as_str(), "replica-1: b1; replica-2: absent");
    }
}
