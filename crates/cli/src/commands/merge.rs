//! `streamgauge merge`: one run directory from those of a run's shards.

mod found;
mod grades;
mod listed;

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use streamgauge_client::{RunDir, RunDirError, read_file, write_new};

use self::found::Shards;
use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::journals::is_merged;
use crate::rebuild::{Rebuilt, rebuild_from};
use crate::show::{self, Page};

/// Arguments of `merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every figure is computed from the requests of all shards on one time line; nothing is averaged. The \
journals stay where they are: they are the evidence, and `verify`, `record` and `report` of the merged \
run read them there. The same command again finds what it made; nothing is written over.

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
    let (dir, rebuilt) = match RunDir::create(&args.out, shards.plan(), shards.started_at()) {
        Err(RunDirError::Io { path, source, .. })
            if source.kind() == ErrorKind::AlreadyExists && path.is_dir() =>
        {
            let dir = RunDir::at(&path);
            let rebuilt = made_before(&dir, shards, grades.as_deref())?;
            (dir, rebuilt)
        }
        created => {
            let dir = created?;
            let rebuilt = make(&dir, shards, grades).map_err(|error| given_up(&dir, error))?;
            (dir, rebuilt)
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

/// Holds what the same command made before to what it would make now; nothing is written over.
fn made_before(dir: &RunDir, shards: Shards, grades: Option<&[u8]>) -> anyhow::Result<Rebuilt> {
    let shown = dir.path().display();
    if !is_merged(dir) || !dir.record().exists() {
        bail!("{shown} is there, and is no whole merge: move it away, or give another --out");
    }
    let there = dir.grades().exists().then(|| read_file(&dir.grades())).transpose()?;
    let plan = shards.plan().clone();
    let (journals, _) = shards.into_journals(dir)?;
    let rebuilt = rebuild_from(dir, &plan, &journals)?;
    let difference = match there.as_deref() == grades {
        true => rebuilt.difference(dir)?,
        false => Some("its receipts are others".to_owned()),
    };
    match difference {
        None => Ok(rebuilt),
        Some(difference) => bail!(
            "{shown} was merged from something else ({difference}): move it away, or give another --out"
        ),
    }
}

/// The directory was made just now, and holds nothing that is not elsewhere.
fn given_up(dir: &RunDir, error: anyhow::Error) -> anyhow::Error {
    match fs::remove_dir_all(dir.path()) {
        Ok(()) => error,
        Err(_) => error.context(format!("{} is not whole", dir.path().display())),
    }
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
