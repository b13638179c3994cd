//! `streamgauge schema`: prints the JSON Schema of a document.

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use streamgauge_schema::{json_schema, schema_names};

use crate::console;
use crate::exit::Exit;
use crate::qualify::file_schema;

/// A plan of a qualification as people write it; what becomes of it is a `qualification-plan`.
const QUALIFICATION_FILE: &str = "qualification-file";

/// Arguments of `schema`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge schema
  streamgauge schema run-record > run-record.schema.json")]
pub(crate) struct SchemaArgs {
    /// Kind of document [default: print which there are]
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    name: Option<String>,
}

/// The names of all schemas, in their order.
fn names() -> Vec<&'static str> {
    let mut names = schema_names().to_vec();
    names.push(QUALIFICATION_FILE);
    names.sort_unstable();
    names
}

/// Runs the command.
pub(crate) fn schema(args: &SchemaArgs) -> anyhow::Result<Exit> {
    let text = match args.name.as_deref() {
        Some(QUALIFICATION_FILE) => serde_json::to_string_pretty(&file_schema())?,
        Some(name) => serde_json::to_string_pretty(&json_schema(name).context("no such schema")?)?,
        None => names().join("\n"),
    };
    console::result(&text)?;
    Ok(Exit::Done)
}
