//! `streamgauge turnover`: keeps requests in flight that each ask for a marker and a word, and holds
//! every answer to both.

use anyhow::Context;
use streamgauge_schema::{OutputPolicy, RunRecordV2};
use streamgauge_workload::Lengths;

use super::run::{as_json, attach_calibration, dry_run, server_of};
use crate::args::Format;
use crate::args::run::RunArgs;
use crate::args::turnover::TurnoverArgs;
use crate::console;
use crate::exit::Exit;
use crate::measure::{self, Measured, Measuring, measure};
use crate::planning::{Asked, Cell, Planner, Server, meet};
use crate::show::{self, Page};
use crate::signals::{SAVING, stop_on_signal, stopped};

/// Runs the command.
pub(crate) async fn turnover(args: &TurnoverArgs) -> anyhow::Result<Exit> {
    let run = args.as_run()?;
    let asked = Asked::read(&run)?;
    let (_simulated, base_urls) = server_of(&run.server)?;
    let stop = stop_on_signal(SAVING)?;
    let server = tokio::select! {
        () = stopped(stop.clone()) => return Ok(Exit::Interrupted),
        server = meet(&run.server, &run.limits, &base_urls) => server?,
    };
    let mut cells = cells(args, &run, &asked, &server)?;
    if run.output.dry_run {
        return dry_run(&run, &cells);
    }
    cells.iter().try_for_each(Cell::check_room)?;
    if run.instrument.calibrate {
        attach_calibration(&mut cells, &run, &stop).await?;
    }
    let mut measured = Vec::new();
    let measuring = Measuring { access: &server.access, view: run.output.view(), stop: &stop };
    for (number, cell) in (1..).zip(&cells) {
        let title = show::title("turnover", &cell.plan.load.cell, number, cells.len());
        let result = measure(cell, &title, &run.output.out, &measuring).await?;
        show_result(&result, run.output.page_format())?;
        measured.push(result);
        if *stop.borrow() {
            break;
        }
    }
    if run.output.page_format() == Format::Json {
        console::result(&as_json(&measured)?)?;
    }
    Ok(measured.iter().map(exit_of).max_by_key(|exit| weight(*exit)).unwrap_or(Exit::Done))
}

/// One cell for each repeat, with markers that no other has.
fn cells(
    args: &TurnoverArgs,
    run: &RunArgs,
    asked: &Asked,
    server: &Server,
) -> anyhow::Result<Vec<Cell>> {
    let planner = Planner::with_lengths(run, asked, server, Lengths::assumed())?;
    let load = asked.loads(run)?.pop().context("a turnover has a load")?;
    (0..args.asked.repeats).map(|repeat| planner.cell(repeat, load.clone())).collect()
}

/// Says on stderr what failed, where what is printed is for programs.
fn tell_failures(measured: &Measured) {
    if let Some(failures) = show::turnover_failures(measured, Page::of(Format::Table)) {
        console::remark(&failures);
    }
}

/// Prints a run; where JSON was asked for, all of them are printed together.
pub(super) fn show_result(result: &Measured, format: Format) -> anyhow::Result<()> {
    result.tell_how_to_go_on();
    match format {
        Format::Json => {
            tell_failures(result);
            Ok(())
        }
        format => console::result(&show::turnover(result, Page::of(format))),
    }
}

/// The exit code that a run deserves by itself.
pub(super) fn exit_of(measured: &Measured) -> Exit {
    if measured.interrupted { Exit::Interrupted } else { exit_of_record(&measured.record) }
}

/// The same of one that was not interrupted. That a strict run failed says more than that some of its
/// requests did.
pub(super) fn exit_of_record(record: &RunRecordV2) -> Exit {
    let failed = record
        .turnover
        .as_ref()
        .is_some_and(|report| report.policy == OutputPolicy::Strict && report.outcome.failed > 0);
    match measure::exit_of(record) {
        Exit::Done | Exit::Inconclusive if failed => Exit::GateFailed,
        exit => exit,
    }
}

/// Which of several codes counts: what stopped the work comes first, and a failure before what could
/// not be judged.
fn weight(exit: Exit) -> u8 {
    match exit {
        Exit::Done => 0,
        Exit::Inconclusive => 1,
        Exit::GateFailed => 2,
        Exit::BadInput => 3,
        Exit::Unreachable => 4,
        Exit::Interrupted => 5,
    }
}
