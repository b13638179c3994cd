//! `run --shard`: a part of a run, in a directory that the same command finds again: an engine that restarts
//! a task knows nothing of what it had come to.

use std::fs;
use std::io::ErrorKind;

use anyhow::{Context, bail};
use streamgauge_client::{JournalWriter, RunClock, RunDir};
use streamgauge_schema::Shard;
use tokio::sync::watch;

use super::resume::{check_conditions, finished, go_on, read};
use super::{as_json, show_result};
use crate::args::run::{RunArgs, RunFormat};
use crate::console;
use crate::exit::Exit;
use crate::measure::{Measuring, begin};
use crate::planning::{Cell, Server};
use crate::sharding::start_of;

/// Begins the part of a cell, or takes it up.
pub(super) async fn run(
    args: &RunArgs,
    mut cell: Cell,
    shard: Shard,
    server: &Server,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<Exit> {
    let start_of =
        |cell: &Cell| start_of(args, &cell.plan, Some(shard), RunClock::start().started_at());
    let dir = RunDir::of_shard(&args.output.out, &cell.plan, shard)?;
    let result = if let Some(journal) = JournalWriter::begin(&dir.journal())? {
        clear(&dir)?;
        cell.start_at = start_of(&cell)?;
        let measuring = Measuring { access: &server.access, view: args.output.view(), stop };
        begin(dir, journal, &cell, &cell.title(), &measuring).await?
    } else {
        let taken_up = read(&dir, &cell.plan)?;
        if taken_up.header().shard != Some(shard) {
            bail!("{} holds a run that is not shard {shard}", dir.path().display());
        }
        if taken_up.has_finished() {
            return finished(&dir, &cell.plan);
        }
        check_conditions(&dir, taken_up.conditions(), &cell.conditions)?;
        if !taken_up.so_far().has_begun() {
            cell.start_at = start_of(&cell)?;
        }
        let (done, all) = (taken_up.so_far().done(), cell.own_requests());
        console::remark(&format!(
            "{}: shard {shard} is taken up; {done} of {all} requests have ended",
            dir.path().display()
        ));
        go_on(&dir, taken_up, &cell, (args, &server.access), stop).await?
    };
    show_result(args, &result, false)?;
    let exit = result.exit();
    if args.output.format == RunFormat::Json {
        console::result(&as_json(&[result])?)?;
    }
    Ok(exit)
}

/// Removes what a process that was killed before the journal's first line had begun.
fn clear(dir: &RunDir) -> anyhow::Result<()> {
    let removed = [
        fs::remove_file(dir.answers()),
        fs::remove_file(dir.receipts()),
        fs::remove_file(dir.server_metrics()),
        fs::remove_dir_all(dir.captures()),
    ];
    for removed in removed {
        match removed {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => {
                removed.with_context(|| format!("cannot make room in {}", dir.path().display()))?;
            }
        }
    }
    Ok(())
}
