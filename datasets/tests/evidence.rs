//! What is asked stands in the document: the right value, and the one that it could be taken for.

#![expect(clippy::unwrap_used, reason = "a test may end by a panic")]

use serde_json::Value;
use streamgauge_datasets::{Case, SETS};

fn document(case: &Case) -> &str {
    case.line.prompt.split("\n---\n").next().unwrap()
}

fn evidence() -> impl Iterator<Item = Case> {
    SETS.iter().filter(|set| set.name.starts_with("evidence")).flat_map(|set| set.cases())
}

/// How a value stands in a document; `None` of a value that has to be counted there.
fn written(member: &str, value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => {
            Some(items.iter().map(|item| item.as_str().unwrap().to_owned()).collect())
        }
        Value::Number(number) if member.ends_with("_m") => {
            Some(vec![format!("{:.3}", number.as_f64()?)])
        }
        Value::Number(number) if number.is_f64() => Some(vec![format!("{:.2}", number.as_f64()?)]),
        Value::Number(number) if member == "late" => Some(vec![format!(" {number} ")]),
        Value::Number(_) => None,
        value => Some(vec![value.as_str().unwrap().to_owned()]),
    }
}

#[test]
fn every_value_stands_in_its_document() {
    for case in evidence() {
        let Value::Object(members) = serde_json::from_str(&case.right).unwrap() else { panic!() };
        for (member, value) in &members {
            for text in written(member, value).into_iter().flatten() {
                assert!(document(&case).contains(&text), "{}: {member} {text}", case.line.id);
            }
        }
    }
}

#[test]
fn a_wrong_value_stands_there_too() {
    for case in evidence() {
        let right: Value = serde_json::from_str(&case.right).unwrap();
        let members: Vec<&String> = right.as_object().unwrap().keys().collect();
        // The first wrong answers have one member wrong each.
        for (member, answer) in members.into_iter().zip(&case.wrong) {
            let wrong: Value = serde_json::from_str(answer).unwrap();
            let differing: Vec<(&String, &Value)> = wrong
                .as_object()
                .unwrap()
                .iter()
                .filter(|(key, value)| right[*key] != **value)
                .collect();
            assert_eq!(differing.len(), 1, "{}: {member}", case.line.id);
            for text in differing.iter().filter_map(|(key, value)| written(key, value)).flatten() {
                assert!(document(&case).contains(&text), "{}: {member} {text}", case.line.id);
            }
        }
    }
}

#[test]
fn what_is_counted_can_be_counted() {
    for case in evidence().filter(|case| case.line.prompt.starts_with("FIELD BOOK")) {
        let right: Value = serde_json::from_str(&case.right).unwrap();
        let changes = document(&case).matches("changed for a new one").count() as u64;
        assert_eq!(right["batteries_changed"].as_u64(), Some(changes), "{}", case.line.id);
    }
}

#[test]
fn the_sum_of_an_invoice_is_that_of_its_lines() {
    for case in evidence().filter(|case| case.line.prompt.starts_with("INVOICE")) {
        let cents = |text: &str| text.replace('.', "").parse::<i64>().unwrap();
        let text = document(&case);
        let lines = text.lines().filter(|line| line.contains(" x ") && line.contains(" = "));
        let goods: i64 = lines.map(|line| cents(line.rsplit(' ').next().unwrap())).sum();
        let credits = text.lines().filter(|line| line.starts_with("Sent back: "));
        let credit: i64 = credits.map(|line| cents(line.rsplit(' ').next().unwrap())).sum();
        let net = goods - credit;
        let right: Value = serde_json::from_str(&case.right).unwrap();
        let total = (right["total"].as_f64().unwrap() * 100.0).round() as i64;
        // Tax of 20 percent, to the nearest cent.
        assert_eq!(total, (net * 12 + 5) / 10, "{}", case.line.id);
    }
}
