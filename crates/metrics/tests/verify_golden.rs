//! The golden documents under verification: they hold, and no change to one of their members goes
//! unseen, but for the members of the comparison that are said to be unproven.

use std::collections::BTreeSet;

use streamgauge_metrics::{
    compared_direction, delta_percent, performance_gate, strict_turnover_gate, unproven, verify,
    within_five_percent,
};
use streamgauge_schema::{
    Digest, Document, Json, JsonPath, Layout, ReadError, Segment, file_bytes,
};

const RECORD: &[u8] = include_bytes!("../../schema/tests/records/serving-performance-v1.json");
const COMPARISON: &[u8] =
    include_bytes!("../../schema/tests/records/runtime-profile-comparison-v1.json");
const COMPARISON_V2: &[u8] = include_bytes!("../../schema/tests/records/comparison-v2.json");

const RECORD_V2: &[u8] = include_bytes!("../../schema/tests/run/record.json");

/// The ways in which a value is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// A float to the next smaller.
    Down,
    /// A text gets a letter more.
    Longer,
    /// A whole number plus one, a float to the next larger, the last letter or digit of a text to
    /// its neighbour.
    Step,
}

impl Change {
    fn apply(self, value: &Json) -> Option<Json> {
        Some(match (self, value) {
            (Self::Down, Json::Float(number)) => Json::Float(number.next_down()),
            (Self::Longer, Json::String(text)) => Json::String(format!("{text}x")),
            (Self::Step, Json::Float(number)) => Json::Float(number.next_up()),
            (Self::Step, Json::String(text)) => Json::String(neighbour(text)),
            (Self::Step, Json::Uint(number)) => Json::Uint(number + 1),
            _ => return None,
        })
    }
}

fn neighbour(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let last = bytes.iter().rposition(u8::is_ascii_alphanumeric);
    let last = last.expect("every text of the golden documents has a letter or a digit");
    let is_first = matches!(bytes[last], b'0' | b'A' | b'a');
    bytes[last] = if is_first { bytes[last] + 1 } else { bytes[last] - 1 };
    String::from_utf8(bytes).expect("an ASCII byte was replaced by another")
}

/// Every document that differs from `original` in one member by `change`, as the member's path and
/// the bytes.
fn changed(original: &[u8], change: Change) -> Vec<(JsonPath, Vec<u8>)> {
    let tree: Json = serde_json::from_slice(original).expect("the golden documents are JSON");
    let mut paths = Vec::new();
    collect(&tree, JsonPath::root(), &mut paths);
    let with = |path: &JsonPath| {
        let mut tree = tree.clone();
        let value = value_at(&mut tree, path);
        *value = change.apply(value)?;
        Some((path.clone(), file_bytes(&tree, Layout::AsGiven).expect("finite numbers")))
    };
    paths.iter().filter_map(with).collect()
}

fn collect(value: &Json, path: JsonPath, paths: &mut Vec<JsonPath>) {
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, path.clone().index(index), paths);
            }
        }
        Json::Object(members) => {
            for (key, member) in members {
                collect(member, path.clone().key(key), paths);
            }
        }
        _ => paths.push(path),
    }
}

fn value_at<'a>(tree: &'a mut Json, path: &JsonPath) -> &'a mut Json {
    path.segments().iter().fold(tree, |value, segment| match (value, segment) {
        (Json::Array(items), Segment::Index(index)) => &mut items[*index],
        (Json::Object(members), Segment::Key(key)) => {
            let member = members.iter_mut().find(|(known, _)| known == key);
            &mut member.expect("the path was found in this tree").1
        }
        (value, segment) => panic!("{segment:?} does not lead into {value:?}"),
    })
}

/// Whether reading or verifying finds fault, and if so, whether it names the member.
#[derive(Debug, PartialEq)]
enum Notice {
    Named,
    Nothing,
    Unnamed,
}

fn notice(bytes: &[u8], member: &JsonPath) -> Notice {
    let verification = match Document::read(bytes) {
        Err(ReadError::Shape { path, .. }) if path == *member => return Notice::Named,
        Err(ReadError::UnknownKind { found }) if found.contains(&member.to_string()) => {
            return Notice::Named;
        }
        Err(_) => return Notice::Unnamed,
        Ok(document) => verify(&document),
    };
    if verification.broken().any(|finding| finding.members.contains(member)) {
        Notice::Named
    } else if verification.holds() {
        Notice::Nothing
    } else {
        Notice::Unnamed
    }
}

#[test]
fn golden_documents_hold() {
    for bytes in [RECORD, COMPARISON, COMPARISON_V2] {
        let verification = verify(&Document::read(bytes).unwrap());
        let broken: Vec<_> = verification.broken().collect();
        assert!(broken.is_empty(), "{broken:#?}");
        assert!(verification.notes.is_empty(), "{:?}", verification.notes);
        assert!(!verification.findings.is_empty());
    }
}

#[test]
fn every_change_to_the_record_is_noticed_and_named() {
    let mut tried = 0;
    for change in [Change::Down, Change::Longer, Change::Step] {
        for (member, bytes) in changed(RECORD, change) {
            // Read as version 2, the document lacks members, so the fault is found elsewhere.
            let as_version_2 = member.to_string() == "schema_version";
            let expected = if as_version_2 { Notice::Unnamed } else { Notice::Named };
            assert_eq!(notice(&bytes, &member), expected, "{change:?} of {member}");
            tried += 1;
        }
    }
    assert_eq!(tried, 316);
}

/// The neighbours of a number: what a record could say instead.
fn neighbours(number: &Json) -> Vec<Json> {
    match number {
        Json::Uint(number) => {
            let both = [number.checked_add(1), number.checked_sub(1)];
            both.into_iter().flatten().map(Json::Uint).collect()
        }
        Json::Float(number) => {
            let thousandth = |by: f64| ((number * 1000.0).round() + by) / 1000.0;
            let all = [thousandth(1.0), number.next_up(), number.next_down(), thousandth(-1.0)];
            all.into_iter().filter(|other| other != number).map(Json::Float).collect()
        }
        _ => Vec::new(),
    }
}

/// The document with another id, which is the digest of what it now holds.
fn with_its_digest(tree: &mut Json) -> Vec<u8> {
    let id = value_at(tree, &JsonPath::root().key("run_id"));
    let name = id.as_str().and_then(|id| id.rsplit_once('-')).expect("a name and a digest").0;
    let name = name.to_owned();
    *id = Json::String(name.clone());
    let digest = Digest::of_value(tree).expect("finite numbers");
    *value_at(tree, &JsonPath::root().key("run_id")) =
        Json::String(format!("{name}-{}", digest.prefix(12)));
    file_bytes(tree, Layout::Sorted).expect("finite numbers")
}

/// Quantities that stand for all of their kind, so that not every statistic of every one is tried.
const TRIED: [&str; 15] = [
    "batch_",
    "cached_",
    "chunk_interval_",
    "completion_",
    "e2e_",
    "error_",
    "first_",
    "inflight_",
    "input_",
    "length_",
    "observer_lag_",
    "request_",
    "stopped_",
    "stream_",
    "total_",
];

/// The record with these metrics alone.
fn with_some_metrics(bytes: &[u8]) -> Json {
    let mut tree: Json = serde_json::from_slice(bytes).expect("the record is JSON");
    let is_tried = |id: &str| {
        let is_other = id.starts_with("first_generated_") && !id.ends_with("_median_ms");
        TRIED.iter().any(|start| id.starts_with(start)) && !is_other
    };
    let mut keep = |path: &JsonPath, is_kept: &dyn Fn(&Json) -> bool| {
        let Json::Array(items) = value_at(&mut tree, path) else { panic!("{path} is a list") };
        items.retain(is_kept);
    };
    let has_tried_id =
        |metric: &Json| metric.member("id").and_then(Json::as_str).is_some_and(is_tried);
    keep(&JsonPath::root().key("metrics"), &has_tried_id);
    let limited = JsonPath::root().key("instrument").key("client_limited");
    keep(&limited, &|id| id.as_str().is_some_and(is_tried));
    tree
}

/// A forger digests the record anew. What still goes unseen is what the explanation says.
#[test]
fn unnoticed_changes_to_numbers_of_a_record_are_the_unproven_members() {
    let tree = with_some_metrics(RECORD_V2);
    let document = Document::read(&with_its_digest(&mut tree.clone())).unwrap();
    let broken: Vec<_> = verify(&document).broken().cloned().collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let (mut paths, mut unnoticed, mut noticed) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    collect(&tree, JsonPath::root(), &mut paths);
    for path in paths {
        let mut tree = tree.clone();
        let others = neighbours(value_at(&mut tree, &path));
        if others.is_empty() {
            continue;
        }
        let goes_unseen = others.into_iter().any(|other| {
            *value_at(&mut tree, &path) = other;
            notice(&with_its_digest(&mut tree), &path) == Notice::Nothing
        });
        if goes_unseen {
            unnoticed.insert(path)
        } else {
            noticed.insert(path)
        };
    }
    let unproven: BTreeSet<JsonPath> = unproven(&document).into_iter().collect();
    assert!(unproven.is_disjoint(&noticed) && unnoticed.is_subset(&unproven));
    assert_eq!((noticed.len(), unnoticed.len()), (169, 37));
    for determined in
        ["cases[", "counts.", "windows.", ".samples", "load.succeeded", "load.offered"]
    {
        assert!(
            !unnoticed.iter().any(|path| path.to_string().contains(determined)),
            "{determined}"
        );
    }
}

#[test]
fn the_digest_alone_bears_what_is_unproven() {
    let document = Document::read(RECORD).unwrap();
    let alone: Vec<String> = unproven(&document).iter().map(JsonPath::to_string).collect();
    for member in ["deployment.hardware", "suite_sha256", "metrics[1].definition", "evidence"] {
        assert!(alone.iter().any(|path| path == member), "{member}");
    }
    // One duration among others is neither the median nor near the p95.
    assert!(alone.iter().any(|path| path == "cases[3].duration_ms"));
    for member in ["counts.declared", "metrics[0].value", "metrics[3].value", "started_at"] {
        assert!(!alone.iter().any(|path| path == member), "{member}");
    }
}

#[test]
fn unnoticed_changes_to_the_comparison_are_the_unproven_members() {
    let unproven = unproven(&Document::read(COMPARISON).unwrap());
    let changes = changed(COMPARISON, Change::Step);
    assert_eq!(changes.len(), 90);
    let mut unnoticed = Vec::new();
    for (member, bytes) in changes {
        match notice(&bytes, &member) {
            Notice::Named => {}
            Notice::Nothing => unnoticed.push(member),
            Notice::Unnamed => panic!("{member} is noticed, but not named"),
        }
    }
    assert_eq!(unnoticed, unproven);
    assert_eq!(unproven.len(), 43);
}

#[test]
fn longer_texts_in_the_comparison_are_noticed_where_they_are_proven() {
    let unproven = unproven(&Document::read(COMPARISON).unwrap());
    for (member, bytes) in changed(COMPARISON, Change::Longer) {
        let expected = if unproven.contains(&member) { Notice::Nothing } else { Notice::Named };
        assert_eq!(notice(&bytes, &member), expected, "{member}");
    }
}

/// The other neighbour of a float may round to the same delta; nothing else goes unseen.
#[test]
fn smaller_floats_in_the_comparison_are_noticed_unless_their_delta_is_the_same() {
    for (member, bytes) in changed(COMPARISON, Change::Down) {
        match notice(&bytes, &member) {
            Notice::Named => {}
            Notice::Nothing => {
                let Document::Comparison(comparison) = Document::read(&bytes).unwrap() else {
                    panic!("{member}: still a comparison");
                };
                let operand = member.to_string();
                assert!(operand.ends_with(".baseline") || operand.ends_with(".candidate"));
                for (_, metric) in comparison.cells.iter().flat_map(|(_, cell)| cell.metrics.iter())
                {
                    assert_eq!(
                        delta_percent(metric.baseline, metric.candidate),
                        metric.delta_percent
                    );
                }
            }
            Notice::Unnamed => panic!("{member} is noticed, but not named"),
        }
    }
}

#[test]
fn golden_comparison_recomputes_to_the_last_bit() {
    let Document::Comparison(comparison) = Document::read(COMPARISON).unwrap() else {
        panic!("the golden comparison is a comparison");
    };
    let mut recomputed = 0;
    for (name, metric) in comparison.cells.iter().flat_map(|(_, cell)| cell.metrics.iter()) {
        let delta = delta_percent(metric.baseline, metric.candidate);
        assert_eq!(delta.map(f64::to_bits), metric.delta_percent.map(f64::to_bits), "{name}");
        let within = within_five_percent(compared_direction(name.as_str()), delta);
        assert_eq!(within, metric.no_more_than_5_percent_regression, "{name}");
        recomputed += 1;
    }
    assert_eq!(recomputed, 6);
    assert_eq!(performance_gate(&comparison.cells), comparison.performance_gate_passed);
    let runs = [&comparison.candidate_turnover, &comparison.candidate_turnover_repeat];
    let runs: Vec<_> = runs.into_iter().flatten().collect();
    assert_eq!(strict_turnover_gate(&runs), comparison.strict_turnover_gate_passed);
}

/// A comparison with intervals: whatever follows from its figures is judged again.
#[test]
fn unnoticed_changes_to_a_comparison_with_intervals_are_the_unproven_members() {
    let unproven = unproven(&Document::read(COMPARISON_V2).unwrap());
    for change in [Change::Longer, Change::Step] {
        let mut unnoticed = Vec::new();
        for (member, bytes) in changed(COMPARISON_V2, change) {
            match notice(&bytes, &member) {
                Notice::Named => {}
                Notice::Nothing => unnoticed.push(member),
                Notice::Unnamed => panic!("{change:?} of {member} is noticed, but not named"),
            }
        }
        for member in &unnoticed {
            assert!(unproven.contains(member), "{change:?} of {member} goes unseen");
        }
        let concluded = [".verdict", ".reason", "_interval.", "_percent", ".p_value", "_void"];
        for member in unnoticed.iter().map(JsonPath::to_string) {
            assert!(!concluded.iter().any(|part| member.contains(part)), "{member}");
        }
    }
}
