//! `streamgauge record`: builds the record of a run directory from its plan and journal.

use std::path::PathBuf;

use clap::Args;
use streamgauge_client::{RunDir, read_file, write_new};

use crate::console;
use crate::exit::Exit;
use crate::rebuild::{first_difference, rebuild};

/// Arguments of `record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Run directory
    run_dir: PathBuf,
}

/// Writes the record if there is none, else compares; never overwrites.
pub(crate) fn record(args: &RecordArgs) -> anyhow::Result<Exit> {
    let dir = RunDir::at(&args.run_dir);
    let rebuilt = rebuild(&dir)?;
    if rebuilt.journal.torn_bytes > 0 {
        console::remark(&format!(
            "note: the journal's last line was cut off after {} bytes and is left out",
            rebuilt.journal.torn_bytes
        ));
    }
    let path = dir.record();
    if !path.exists() {
        write_new(&path, &rebuilt.bytes, 0o644)?;
        console::result(&path.display().to_string())?;
        return Ok(Exit::Done);
    }
    let written = read_file(&path)?;
    match first_difference(&written, &rebuilt.bytes) {
        None => {
            console::result(&format!("{}: as plan and journal give it", path.display()))?;
            Ok(Exit::Done)
        }
        Some(difference) => {
            console::result(&format!("{}: {difference}", path.display()))?;
            Ok(Exit::GateFailed)
        }
    }
}
