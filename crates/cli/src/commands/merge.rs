//! `streamgauge merge`: one run directory from those of a run's shards.

mod found;
mod grades;
mod listed;

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use streamgauge_client::{RunDir, write_new};

use self::found::Shards;
use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::rebuild::{Rebuilt, rebuild_from};
use crate::show::{self, Page};

/// Arguments of `merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every figure is computed from the requests of all shards on one time line; nothing is averaged. The \
journals stay where they are: they are the evidence, and `verify`, `record` and `report` of the merged \
run read them there.

Example, of shards that all wrote below one folder:
  streamgauge merge shards --out runs")]
pub(crate) struct MergeArgs {
    /// Run directories of the shards of one run, or folders of them
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Folder of the run directory that is made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Merge what is there although shards are missing: the run counts as cut off, and passes no gate
    #[arg(long)]
    allow_missing: bool,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Makes the directory, builds its record, and shows it.
pub(crate) fn merge(args: &MergeArgs) -> anyhow::Result<Exit> {
    let shards = Shards::find(&args.dirs)?;
    shards.check_all_there(args.allow_missing)?;
    let grades = shards.grades()?;
    let dir = RunDir::create(&args.out, shards.plan(), shards.started_at())?;
    let rebuilt = match make(&dir, shards, grades) {
        Ok(rebuilt) => rebuilt,
        Err(error) => {
            // It was made above, and holds nothing that is not elsewhere.
            let removed = fs::remove_dir_all(dir.path());
            return Err(match removed {
                Ok(()) => error,
                Err(_) => error.context(format!("{} is not whole", dir.path().display())),
            });
        }
    };
    for torn in &rebuilt.torn {
        console::remark(&format!("note: {torn}"));
    }
    let record = &rebuilt.record;
    let page = Page::of(args.format);
    let text = match args.format {
        Format::Json => {
            String::from_utf8(rebuilt.bytes.clone()).context("canonical bytes are ASCII")?
        }
        Format::Markdown | Format::Table => {
            console::printable(&show::record(record, &dir.record(), page))
        }
    };
    console::result(text.trim_end())?;
    Ok(if record.load.performance_eligible { Exit::Done } else { Exit::Inconclusive })
}

/// Fills the directory.
fn make(dir: &RunDir, shards: Shards, grades: Option<Vec<u8>>) -> anyhow::Result<Rebuilt> {
    if let Some(grades) = grades {
        write_new(&dir.grades(), &grades, 0o600)?;
    }
    let plan = shards.plan().clone();
    let (journals, listed) = shards.into_journals(dir)?;
    let mut rebuilt = rebuild_from(dir, &plan, &journals)?;
    write_new(&dir.shards(), &listed.bytes(&plan, &rebuilt.journals)?, 0o600)?;
    rebuilt.write(dir)?;
    Ok(rebuilt)
}
