//! JSON Schemas (draft 2020-12) of the documents of this crate.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::answer::AnswerLine;
use crate::comparison::Comparison;
use crate::comparison_v2::ComparisonV2;
use crate::dataset_manifest::DatasetManifest;
use crate::decision::{Decision, LedgerLine};
use crate::determinism::Determinism;
use crate::gate::Gates;
use crate::grade::Grades;
use crate::imported::ImportedRequest;
use crate::journal::JournalLine;
use crate::plan::Plan;
use crate::qualification::{QualificationLine, QualificationPlan};
use crate::record::{RunRecordV1, RunRecordV2};
use crate::scrape::ScrapeLine;
use crate::search::SearchReport;
use crate::shard::MergedShards;

const NAMES: [&str; 17] = [
    "answers",
    "comparison",
    "dataset-manifest",
    "decision",
    "determinism",
    "gates",
    "grades",
    "imported-request",
    "journal",
    "ledger",
    "merged-shards",
    "plan",
    "qualification-log",
    "qualification-plan",
    "run-record",
    "search-report",
    "server-metrics",
];

/// The names that [`json_schema`] knows.
#[must_use]
pub fn schema_names() -> &'static [&'static str] {
    &NAMES
}

/// The JSON Schema of a document by name: `answers` (one line of them), `comparison` (any version),
/// `dataset-manifest`, `decision`, `determinism`, `gates`, `grades`, `imported-request`, `journal` and `ledger` (one line of
/// it), `merged-shards`, `plan`, `qualification-log` (one line of it), `qualification-plan` (as it was resolved),
/// `run-record` (any version), `search-report` or `server-metrics` (one line of them). `None` for
/// another name.
///
/// A schema knows the members, types and words; what members must agree on is a matter of
/// verification.
///
/// ```
/// use streamgauge_schema::{json_schema, schema_names};
/// let schema = json_schema("run-record").unwrap();
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// assert!(schema_names().iter().all(|name| json_schema(name).is_some()));
/// assert_eq!(json_schema("diary"), None);
/// ```
#[must_use]
pub fn json_schema(name: &str) -> Option<Value> {
    Some(match name {
        "answers" => of::<AnswerLine>(),
        "comparison" => comparison(),
        "dataset-manifest" => of::<DatasetManifest>(),
        "decision" => of::<Decision>(),
        "determinism" => of::<Determinism>(),
        "gates" => gates(),
        "grades" => of::<Grades>(),
        "imported-request" => of::<ImportedRequest>(),
        "journal" => of::<JournalLine>(),
        "ledger" => of::<LedgerLine>(),
        "merged-shards" => of::<MergedShards>(),
        "plan" => of::<Plan>(),
        "qualification-log" => of::<QualificationLine>(),
        "qualification-plan" => of::<QualificationPlan>(),
        "run-record" => run_record(),
        "search-report" => of::<SearchReport>(),
        "server-metrics" => of::<ScrapeLine>(),
        _ => return None,
    })
}

/// Schemas of what is written: there every member stands, `null` where it has no value.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(name_null_as_json_does))
        .into_generator()
}

/// Gates are written by people, who may leave out what has a default.
fn gates() -> Value {
    SchemaSettings::draft2020_12()
        .for_deserialize()
        .with_transform(RecursiveTransform(name_null_as_json_does))
        .into_generator()
        .into_root_schema_for::<Gates>()
        .to_value()
}

/// Descriptions come from the types' documentation, where `null` is `None`.
fn name_null_as_json_does(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace("`None`", "`null`");
    }
}

fn of<T: JsonSchema>() -> Value {
    generator().into_root_schema_for::<T>().to_value()
}

/// One schema for all versions; which one a record has stands in `schema_version`.
fn run_record() -> Value {
    let mut generator = generator();
    let versions =
        [generator.subschema_for::<RunRecordV1>(), generator.subschema_for::<RunRecordV2>()];
    let mut definitions = generator.take_definitions(true);
    for (name, version) in [("RunRecordV1", 1), ("RunRecordV2", 2)] {
        // Both were named by `subschema_for` above.
        definitions[name]["properties"]["schema_version"]["const"] = version.into();
    }
    any_of("RunRecord", "A run record of any version.", versions, definitions)
}

/// One schema for all versions; which one a comparison has stands in `schema`.
fn comparison() -> Value {
    let mut generator = generator();
    let versions =
        [generator.subschema_for::<Comparison>(), generator.subschema_for::<ComparisonV2>()];
    let definitions = generator.take_definitions(true);
    any_of("Comparison", "A comparison of any version.", versions, definitions)
}

fn any_of(
    title: &str,
    description: &str,
    versions: [Schema; 2],
    definitions: Map<String, Value>,
) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": description,
        "oneOf": versions,
        "$defs": definitions,
    })
}
