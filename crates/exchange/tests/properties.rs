//! What holds for every file: nothing panics, and what is accepted is a record that reads back. That it
//! verifies is a condition of its import.

#![expect(clippy::unwrap_used, reason = "helpers of tests, for which a panic is the report")]

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use streamgauge_exchange::{ImportOptions, Imported, SourceFile, Tool, import, vllm_result};
use streamgauge_schema::{Document, Identifier, RunRecord, Timestamp};

const SAMPLES: [(Tool, &str); 6] = [
    (Tool::Aiperf, "aiperf.json"),
    (Tool::Aiperf, "aiperf.jsonl"),
    (Tool::Guidellm, "guidellm.json"),
    (Tool::Sglang, "sglang.jsonl"),
    (Tool::Vllm, "vllm.json"),
    (Tool::Vllm, "vllm-detailed.json"),
];

fn sample((_, name): (Tool, &str)) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    std::fs::read(path).unwrap()
}

/// Imports, and reads back whatever comes of it.
fn accepted(tool: Tool, bytes: &[u8]) -> Vec<Imported> {
    let modified = Timestamp::from_unix_micros(1_764_500_000_000_000);
    let file = SourceFile { name: "a result", bytes, modified };
    let options = ImportOptions::named(Identifier::new("any").unwrap());
    let runs = import(tool, &file, &options).unwrap_or_default();
    for run in &runs {
        let document = Document::Run(RunRecord::V2(Box::new(run.record.clone())));
        let written = document.file_bytes().unwrap();
        assert_eq!(Document::read(&written).unwrap(), document);
        let _ = vllm_result(&run.record, None, None);
    }
    runs
}

/// The values of a tree that are no lists or objects, in their order.
fn leaves<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| leaves(item, found)),
        Value::Object(members) => members.values_mut().for_each(|item| leaves(item, found)),
        leaf => found.push(leaf),
    }
}

fn other_values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0_u64..20).prop_map(Value::from),
        proptest::num::f64::ANY.prop_map(Value::from),
        (0.0_f64..1e3).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(Value::Array(Vec::new())),
    ]
}

proptest! {
    // A file has hundreds of values, and its record hundreds of rules.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 4,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for tool in Tool::ALL {
            prop_assert!(accepted(tool, &bytes).is_empty());
        }
    }

    #[test]
    fn a_sample_cut_anywhere(which in 0..SAMPLES.len(), at in any::<prop::sample::Index>()) {
        let bytes = sample(SAMPLES[which]);
        accepted(SAMPLES[which].0, &bytes[..at.index(bytes.len())]);
    }

    #[test]
    fn a_sample_read_as_that_of_another_tool(which in 0..SAMPLES.len(), tool in 0..4_usize) {
        accepted(Tool::ALL[tool], &sample(SAMPLES[which]));
    }

    #[test]
    fn some_values_changed(
        which in 0..SAMPLES.len(),
        changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), other_values()), 1..6),
    ) {
        let (tool, name) = SAMPLES[which];
        let bytes = sample((tool, name));
        // Lines are changed as one list, and written as lines again.
        let text = String::from_utf8(bytes).unwrap().replace("Infinity", "null");
        let mut values: Vec<Value> = if name.ends_with('l') {
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        } else {
            vec![serde_json::from_str(&text).unwrap()]
        };
        let mut found = Vec::new();
        values.iter_mut().for_each(|value| leaves(value, &mut found));
        for (index, value) in changes {
            let at = index.index(found.len());
            *found[at] = value;
        }
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        accepted(tool, lines.join("\n").as_bytes());
    }
}
