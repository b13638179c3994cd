//! `streamgauge demo`: measures two simulated builds and compares them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use streamgauge_metrics::{Compared, compare_point};
use streamgauge_schema::{RunRecord, RunRecordV2};
use streamgauge_sim::{SimConfig, spawn_thread};
use tokio::sync::watch;

use crate::args::run::RunArgs;
use crate::args::{Cli, Command, Format};
use crate::console;
use crate::exit::Exit;
use crate::measure::{Measured, measure};
use crate::planning::{Asked, Planner, meet};
use crate::report::{exit_of, write_comparison};
use crate::show;
use crate::signals::{SAVING, stop_on_signal};

const BASELINE_INTERVAL: Duration = Duration::from_millis(10);
/// Long enough that the client's own lag on a busy machine is no large part of it.
const TTFT: Duration = Duration::from_millis(200);
/// 12 percent slower from token to token.
const CANDIDATE_INTERVAL: Duration = Duration::from_micros(11_200);

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder in which run directories are made
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    out: PathBuf,
}

/// Runs the demonstration to its end, whatever its verdict.
pub(crate) async fn demo(args: &DemoArgs) -> anyhow::Result<Exit> {
    console::result(
        "Two simulated builds of one server are measured; the candidate is 12 % slower from token \
         to token.\nThe evidence is SIMULATED: it shows how Streamgauge works, and nothing about \
         any model.\n",
    )?;
    let stop = stop_on_signal(SAVING)?;
    let baseline = measure_build("baseline", BASELINE_INTERVAL, args, &stop).await?;
    let candidate = measure_build("candidate", CANDIDATE_INTERVAL, args, &stop).await?;
    if *stop.borrow() {
        return Ok(Exit::Interrupted);
    }
    let [baseline, candidate] = [baseline.record, candidate.record].map(as_run);
    let comparison = compare_point(&[baseline], std::slice::from_ref(&candidate), &[])?;
    let compared = Compared::V1(&comparison);
    console::result(&show::comparison(compared, Format::Table))?;
    let exit = exit_of(compared);
    console::result(&format!(
        "\n`streamgauge compare` of these two runs would exit with {}. This demonstration has run \
         to its end and exits with 0.",
        exit as i32
    ))?;
    // The candidate's run directory has a name of its own, and so has the file beside it.
    let path = args.out.join(format!("comparison-{}.json", candidate.run_id()));
    write_comparison(compared, &path)?;
    console::result(&path.display().to_string())?;
    Ok(Exit::Done)
}

fn as_run(record: RunRecordV2) -> RunRecord {
    RunRecord::V2(Box::new(record))
}

async fn measure_build(
    name: &str,
    interval: Duration,
    args: &DemoArgs,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<Measured> {
    let config = SimConfig { ttft: TTFT, interval, ..SimConfig::default() };
    let server = spawn_thread(config, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let base_url = format!("http://{}", server.addr());
    let run = run_args(name)?;
    let asked = Asked::read(&run)?;
    let met = meet(&run.server, &run.limits, &base_url).await?;
    let cells = Planner::new(&run, &asked, &met).await?.cells()?;
    let [cell] = &cells[..] else { bail!("the demonstration has one cell") };
    console::remark(&format!("measuring the {name} …"));
    let measured = measure(cell, &met.access, &args.out, stop.clone()).await?;
    console::result(&show::run(&measured, Format::Table))?;
    console::result("")?;
    Ok(measured)
}

/// The arguments that a user would give to `run`, with its defaults.
fn run_args(name: &str) -> anyhow::Result<RunArgs> {
    let line = [
        "streamgauge",
        "run",
        "--simulate",
        "--name",
        name,
        "--concurrency",
        "16",
        "--output-tokens",
        "64",
    ];
    match Cli::read(line).context("the demonstration's own arguments")?.command {
        Command::Run(args) => Ok(*args),
        _ => bail!("the demonstration's own arguments are those of `run`"),
    }
}
