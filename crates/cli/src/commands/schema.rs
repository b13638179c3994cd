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
    /// Kind of document
    #[arg(value_parser = PossibleValuesParser::new(schema_names()))]
    name: String,
}

/// Runs the command.
pub(crate) fn schema(args: &SchemaArgs) -> anyhow::Result<Exit> {
    let schema = json_schema(&args.name).context("no such schema")?;
    console::result(&serde_json::to_string_pretty(&schema)?)?;
    Ok(Exit::Done)
}
