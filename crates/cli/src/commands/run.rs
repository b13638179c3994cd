//! `streamgauge run`: measures one deployment, one cell for each concurrency.

mod dry_run;
mod resume;
pub(crate) mod search;
mod shard;

pub(super) use dry_run::dry_run;

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, bail};
use streamgauge_client::RunClock;
use streamgauge_exchange::LeftOut;
use streamgauge_schema::{Dialect, Load, LoadShape, Shard, digest_bytes};
use streamgauge_sim::{SimConfig, ThreadedSim, spawn_thread};
use tokio::sync::watch;

use crate::args::Format;
use crate::args::run::{RunArgs, RunFormat, ServerArgs};
use crate::calibration::{FLAT_OUT_STREAMS, Pace, calibrate};
use crate::commands::{determinism, export};
use crate::console;
use crate::exit::Exit;
use crate::measure::{Measured, Measuring, measure};
use crate::planning::{Asked, Cell, Planner, meet};
use crate::sharding::{shard_of, start_of};
use crate::show::{self, Page, SteadyWindow};
use crate::signals::{SAVING, stop_on_signal, stopped};

/// Most streams at which `--calibrate` looks.
const MOST_CALIBRATED: u64 = 4096;

/// Runs the command.
pub(crate) async fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    if let Some(dir) = &args.resume {
        return resume::resume(args, dir).await;
    }
    let begun = RunClock::start().started_at();
    let shard = shard_of(&args.shard)?;
    let asked = Asked::read(args)?;
    if let Some(what) = args.goals.search {
        search::begin(args, what)?;
    }
    let (_simulated, base_urls) = server_of(&args.server)?;
    let stop = stop_on_signal(SAVING)?;
    let interrupted = stopped(stop.clone());
    tokio::pin!(interrupted);
    let server = tokio::select! {
        () = &mut interrupted => return Ok(Exit::Interrupted),
        server = meet(&args.server, &args.limits, &base_urls) => server?,
    };
    let planner = tokio::select! {
        () = &mut interrupted => return Ok(Exit::Interrupted),
        planner = Planner::new(args, &asked, &server) => planner?,
    };
    if args.output.dry_run {
        let cells = match args.goals.search {
            Some(what) => vec![search::first_probe(args, what, &planner)?],
            None => parts(planner.cells()?, shard)?,
        };
        return dry_run(args, &cells);
    }
    if let Some(what) = args.goals.search {
        return search::search(args, what, &planner, &server, &stop).await;
    }
    let mut cells = parts(planner.cells()?, shard)?;
    cells.iter().try_for_each(Cell::check_room)?;
    if let (Some(shard), [_]) = (shard, &cells[..]) {
        return shard::run(args, cells.remove(0), shard, &server, &stop).await;
    }
    if let [cell] = &mut cells[..] {
        cell.start_at = start_of(args, &cell.plan, None, begun)?;
    }
    if args.instrument.calibrate {
        attach_calibration(&mut cells, args, &stop).await?;
    }
    let mut exit = Exit::Done;
    let mut measured = Vec::new();
    let measuring = Measuring { access: &server.access, view: args.output.view(), stop: &stop };
    for (number, cell) in (1..).zip(&cells) {
        let title = show::title("cell", &cell.plan.load.cell, number, cells.len());
        let result = measure(cell, &title, &args.output.out, &measuring).await?;
        exit = exit.max(result.exit());
        show_result(args, &result, args.prompts.determinism.is_some())?;
        measured.push(result);
        if *stop.borrow() {
            break;
        }
    }
    if args.output.format == RunFormat::Json {
        console::result(&as_json(&measured)?)?;
    }
    Ok(exit)
}

/// The parts of cells that a shard carries out; all of them without one.
fn parts(cells: Vec<Cell>, shard: Option<Shard>) -> anyhow::Result<Vec<Cell>> {
    let Some(shard) = shard else { return Ok(cells) };
    cells.into_iter().map(|cell| cell.of_shard(shard)).collect()
}

/// Prints a cell; where JSON was asked for, all of them are printed together.
fn show_result(args: &RunArgs, result: &Measured, is_repeated: bool) -> anyhow::Result<()> {
    result.tell_how_to_go_on();
    let steady = if args.output.steady_window { SteadyWindow::Figures } else { SteadyWindow::Line };
    match (args.output.format, args.output.page_format()) {
        (RunFormat::Json, _) => result.tell_failures(),
        (RunFormat::Vllm, _) => print_vllm_block(result)?,
        (_, format) => console::result(&show::run(result, steady, Page::of(format)))?,
    }
    if is_repeated {
        say_which_are_stable(result, args.output.page_format())?;
    }
    Ok(())
}

/// Prints a cell as vLLM's own client would, and says which lines are not there.
fn print_vllm_block(measured: &Measured) -> anyhow::Result<()> {
    measured.tell_failures();
    let result = export::vllm_of(&measured.record, measured.dir.path())?;
    // vLLM has a line for goodput only where goals are asked for.
    let asked = measured.record.metrics.iter().any(|it| it.id.as_str().starts_with("goodput"));
    let left_out = result.left_out.iter();
    for LeftOut { keys, reason } in left_out.filter(|it| asked || it.keys != "request_goodput") {
        console::remark(&format!("left out: {keys}: {reason}"));
    }
    console::remark(
        "note: tokens are counted by the server alone, and Inter-token Latency is the gap between \
         events, as in vLLM's own block: an event can hold several tokens",
    );
    let path = measured.dir.record().display().to_string();
    console::result(&format!("{}\n\n{path}", show::vllm(&result)?))
}

/// Writes which prompts were answered the same each time. Where the record is printed, they are said
/// beside it.
fn say_which_are_stable(measured: &Measured, format: Format) -> anyhow::Result<()> {
    let (report, repeated) = determinism::of_run(&measured.dir)?;
    let shown = show::determinism(&report, &repeated.names, format);
    let path = measured.dir.path().join(determinism::REPORT);
    let shown = format!("{shown}\n\n{}", path.display());
    match format {
        Format::Json => console::remark(&shown),
        Format::Markdown | Format::Table => console::result(&shown)?,
    }
    Ok(())
}

/// The addresses of what is measured, and the simulated one that was started for it.
pub(super) fn server_of(args: &ServerArgs) -> anyhow::Result<(Option<ThreadedSim>, Vec<String>)> {
    if !args.simulate {
        if args.base_url.is_empty() {
            bail!("no server: give --base-url or --simulate");
        }
        return Ok((None, args.base_url.clone()));
    }
    if args.api != Dialect::OpenaiChat {
        bail!("--api {}: the simulated server speaks {} only", args.api, Dialect::OpenaiChat);
    }
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = spawn_thread(SimConfig::default(), any_port)?;
    let url = format!("http://{}", server.addr());
    Ok((Some(server), vec![url]))
}

/// Measures this client at each cell's number of streams, and warns of rates that it cannot observe.
pub(super) async fn attach_calibration(
    cells: &mut [Cell],
    args: &RunArgs,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<()> {
    console::remark("calibrating …");
    let workers = args.instrument.workers;
    let flat_out = calibrate(FLAT_OUT_STREAMS, Pace::FLAT_OUT, workers, stop).await?;
    for cell in cells {
        let load = &cell.plan.load;
        if let Some(rate) = highest_rate_per_s(&load.shape) {
            let (events_per_s, most) =
                (rate * args.answers.output_tokens as f64, flat_out.row.events_per_s);
            if events_per_s > most {
                console::remark(&format!(
                    "warning: cell {} wants up to {events_per_s:.0} events/s; on this machine this \
                     client observes {most:.0}",
                    load.cell
                ));
            }
        }
        let level = calibrate(streams(load), Pace::EVEN, workers, stop).await?;
        cell.plan.instrument.calibration = Some(level.row);
    }
    Ok(())
}

/// Streams at once that a load may have: without a limit, those of two seconds.
fn streams(load: &Load) -> u64 {
    let rate = || highest_rate_per_s(&load.shape).map(|rate| (2.0 * rate).ceil() as u64);
    let most = load.shape.max_inflight().or_else(rate).unwrap_or(load.requests);
    most.min(load.requests).clamp(1, MOST_CALIBRATED)
}

fn highest_rate_per_s(shape: &LoadShape) -> Option<f64> {
    let LoadShape::OpenLoop { stages, .. } = shape else { return None };
    stages.iter().map(|stage| stage.from_per_s.max(stage.to_per_s)).max_by(f64::total_cmp)
}

/// One record, or a list of them where several cells were measured.
pub(super) fn as_json(measured: &[Measured]) -> anyhow::Result<String> {
    let bytes = match measured {
        [only] => digest_bytes(&only.record)?,
        several => digest_bytes(&several.iter().map(|cell| &cell.record).collect::<Vec<_>>())?,
    };
    for cell in measured {
        console::remark(&cell.dir.record().display().to_string());
    }
    String::from_utf8(bytes).context("canonical bytes are ASCII")
}
