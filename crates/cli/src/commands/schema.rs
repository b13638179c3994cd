//! `streamgauge schema`: prints the JSON Schema of a document.

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use streamgauge_schema::{json_schema, schema_names};

use crate::console;
use crate::exit::Exit;

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Kind of document [default: print which there are]
    #[arg(value_parser = PossibleValuesParser::new(schema_names()))]
    name: Option<String>,
}

/// Runs the command.
pub(crate) fn schema(args: &SchemaArgs) -> anyhow::Result<Exit> {
    let text = match &args.name {
        Some(name) => serde_json::to_string_pretty(&json_schema(name).context("no such schema")?)?,
        None => schema_names().join("\n"),
    };
    console::result(&text)?;
    Ok(Exit::Done)
}
