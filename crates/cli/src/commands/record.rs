//! `streamgauge record`: builds the record of a run directory from its plan and journal.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use streamgauge_client::RunDir;
use streamgauge_metrics::to_v1;
use streamgauge_schema::digest_bytes;

use crate::console;
use crate::exit::Exit;
use crate::rebuild::{Rebuilt, rebuild, remove_all_leftovers};

/// Arguments of `record`.
#[derive(Debug, Args)]
#[command(after_help = "\
A record that is there already is compared with what plan and journal give, and never written over: \
exit code 1 where they differ.

Examples:
  streamgauge record runs/build-7-…
  streamgauge record runs/build-7-… --record-version 1 > record-v1.json")]
pub(crate) struct RecordArgs {
    /// Run directory
    run_dir: PathBuf,
    /// Version of the record: 2 is written into the directory, 1 is printed
    #[arg(long, value_name = "VERSION", default_value = "2")]
    #[arg(value_parser = PossibleValuesParser::new(["1", "2"]))]
    record_version: String,
}

/// Writes the record if there is none, else compares; never overwrites.
pub(crate) fn record(args: &RecordArgs) -> anyhow::Result<Exit> {
    let dir = RunDir::at(&args.run_dir);
    let mut rebuilt = rebuild(&dir)?;
    remove_all_leftovers(&dir)?;
    for torn in &rebuilt.torn {
        console::remark(&format!("note: {torn}"));
    }
    if args.record_version == "1" {
        let bytes = digest_bytes(&to_v1(&rebuilt.record)?)?;
        console::result(&String::from_utf8(bytes).context("canonical bytes are ASCII")?)?;
        return Ok(Exit::Done);
    }
    write_or_compare(&dir, &mut rebuilt)
}

fn write_or_compare(dir: &RunDir, rebuilt: &mut Rebuilt) -> anyhow::Result<Exit> {
    let path = dir.record();
    if !path.exists() {
        rebuilt.write(dir)?;
        console::result(&path.display().to_string())?;
        return Ok(Exit::Done);
    }
    match rebuilt.difference(dir)? {
        None => {
            console::result(&format!("{}: as plan and journal give it", path.display()))?;
            Ok(Exit::Done)
        }
        Some(difference) => {
            console::result(&difference)?;
            Ok(Exit::GateFailed)
        }
    }
}
