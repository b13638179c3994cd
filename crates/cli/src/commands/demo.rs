//! `streamgauge demo`: qualifies two simulated builds.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use streamgauge_metrics::Compared;
use streamgauge_sim::{SimConfig, ThreadedSim, spawn_thread};

use crate::args::Format;
use crate::commands::qualify::{Carried, carry_out};
use crate::commands::report;
use crate::console;
use crate::exit::Exit;
use crate::progress::View;
use crate::qualify::{COMPARISON, QualificationDir, Resolved, ScheduleArgs};
use crate::report::exit_of;
use crate::show::{self, Page};

const BASELINE_INTERVAL: Duration = Duration::from_millis(10);
/// Long enough that the client's own lag on a busy machine is no large part of it.
const TTFT: Duration = Duration::from_millis(200);
/// 12 percent slower from token to token.
const CANDIDATE_INTERVAL: Duration = Duration::from_micros(11_200);

/// Arguments of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
It takes ten seconds, contacts nothing, and exits with 0 whatever its verdict is.

Examples:
  streamgauge demo
  streamgauge demo --out /tmp/demo --no-progress")]
pub(crate) struct DemoArgs {
    /// Folder in which the directory of the qualification is made
    #[arg(long, value_name = "FOLDER", default_value = "qualifications")]
    out: PathBuf,
    /// Show no progress on stderr
    #[arg(long)]
    no_progress: bool,
}

/// Runs the demonstration to its end, whatever its verdict.
pub(crate) async fn demo(args: &DemoArgs) -> anyhow::Result<Exit> {
    let (baseline, candidate) = (build(BASELINE_INTERVAL)?, build(CANDIDATE_INTERVAL)?);
    let plan = plan(&baseline, &candidate);
    console::result(&format!(
        "Two simulated builds of one server are qualified; the candidate is 12 % slower from token \
         to token.\nThe evidence is SIMULATED: it shows how Streamgauge works, and nothing about \
         any model.\n\nThe plan, as `streamgauge qualify` takes it:\n\n{plan}\n"
    ))?;
    let resolved = Resolved::parse(Path::new("demo.toml"), plan, &ScheduleArgs::default())?;
    let dir = QualificationDir::create(&args.out, &resolved.plan)?;
    let comparison =
        match carry_out(&resolved, &dir, View::of(args.no_progress, Format::Table)).await? {
            Carried::Judged(comparison) => comparison,
            Carried::Open(exit) => return Ok(exit),
        };
    let compared = Compared::V2(&comparison);
    console::result(&show::comparison(compared, Page::of(Format::Table)))?;
    console::result(&format!(
        "\n`streamgauge qualify` would exit with {}. This demonstration has run to its end and exits \
         with 0.",
        exit_of(compared) as i32
    ))?;
    console::result(&dir.file(COMPARISON).display().to_string())?;
    report::page(dir.path())?;
    Ok(Exit::Done)
}

fn build(interval: Duration) -> anyhow::Result<ThreadedSim> {
    let config = SimConfig { ttft: TTFT, interval, ..SimConfig::default() };
    Ok(spawn_thread(config, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?)
}

/// Three blocks: the fewest that have an interval.
fn plan(baseline: &ThreadedSim, candidate: &ThreadedSim) -> String {
    format!(
        "\
version = 1
name = \"demo\"
blocks = 3
[run]
requests = 32
concurrency = 16
output-tokens = 48
[baseline]
base-url = \"http://{}\"
[candidate]
base-url = \"http://{}\"
",
        baseline.addr(),
        candidate.addr()
    )
}
