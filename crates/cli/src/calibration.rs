//! This client's own error on this machine: a simulated server in a second process is measured, and
//! its account is held against what was observed.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Deserialize;
use streamgauge_client::{Collected, ask, run};
use streamgauge_metrics::{ClientErrors, ServerStamps, spread_of};
use streamgauge_schema::{Calibration, Dialect, JournalHeader, RequestLine, Spread};
use tokio::sync::watch;

use crate::args::run::RunArgs;
use crate::args::{Cli, Command as Subcommand};
use crate::planning::{Asked, Planner, Server, meet};

/// Longest account that is read.
const MAX_ACCOUNT_BYTES: usize = 1 << 30;
/// How long a server may take to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// Streams of a level that is not paced.
pub(crate) const FLAT_OUT_STREAMS: u64 = 32;

/// How a simulated server answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    ttft_ms: f64,
    interval_ms: f64,
    /// Output events of each stream.
    events: u64,
    /// Requests of each stream, one after the other.
    requests: u64,
}

impl Pace {
    /// Fifty events a second in each stream.
    pub(crate) const EVEN: Self =
        Self { ttft_ms: 100.0, interval_ms: 20.0, events: 25, requests: 3 };
    /// As fast as the server can write.
    pub(crate) const FLAT_OUT: Self =
        Self { ttft_ms: 0.0, interval_ms: 0.0, events: 2_000, requests: 2 };
}

/// One number of streams, measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// What a record says of it.
    pub(crate) row: Calibration,
    /// Error of the time to first token.
    pub(crate) ttft_error_ms: Spread,
    /// Error of the intervals between output events.
    pub(crate) interval_error_ms: Spread,
}

/// Measures this client at so many streams.
///
/// # Errors
/// When the simulated server does not start, or the two sides do not speak of the same requests.
pub(crate) async fn calibrate(
    streams: u64,
    pace: Pace,
    workers: u64,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<Level> {
    let simulator = Simulator::start(pace)?;
    let mut args = run_args(&simulator.base_url, streams, pace, workers)?;
    // A key in the environment is for another server.
    args.server.simulate = true;
    let asked = Asked::read(&args)?;
    let server =
        meet(&args.server, &args.limits, std::slice::from_ref(&simulator.base_url)).await?;
    let cells = Planner::new(&args, &asked, &server).await?.cells()?;
    let [cell] = &cells[..] else { bail!("a level of the calibration has one cell") };
    let before = processor_time_us()?;
    let setup = cell.setup(&server.access, None, stop.clone());
    let request_of = |stage, index| cell.request(stage, index);
    let (_, run) = run(setup, request_of, Collected::default()).await?;
    let processor_us = processor_time_us()? - before;
    let header = run.header.context("a run begins with its header")?;
    let account = stamps(&server).await?;
    level(streams, &header, &run.requests, &account, processor_us)
}

fn level(
    streams: u64,
    header: &JournalHeader,
    lines: &[RequestLine],
    account: &HashMap<String, ServerStamps>,
    processor_us: i64,
) -> anyhow::Result<Level> {
    let stamps_of = |line: &RequestLine| account.get(&format!("{}-{}", line.stage, line.index));
    let errors = ClientErrors::of(header, lines, stamps_of)
        .context("this machine has no CLOCK_MONOTONIC to compare by")?;
    if errors.unmatched > 0 {
        bail!(
            "{} of {} requests stand otherwise in the simulated server's account",
            errors.unmatched,
            lines.len()
        );
    }
    let spread = |sorted: &[f64]| spread_of(sorted).context("no events were observed");
    let mut lags: Vec<f64> = lines
        .iter()
        .flat_map(|line| line.observer_lag_us.iter().flatten())
        .map(|us| *us as f64 / 1000.0)
        .collect();
    lags.sort_unstable_by(f64::total_cmp);
    let events = errors.arrival_ms.len() as u64;
    let begin_us = lines.iter().map(|line| line.started_us).min().unwrap_or(0);
    let end_us = lines.iter().map(|line| line.started_us + line.elapsed_us).max().unwrap_or(0);
    let row = Calibration {
        streams,
        events,
        arrival_error_ms: spread(&errors.arrival_ms)?,
        send_error_ms: spread(&errors.send_ms)?,
        observer_lag_ms: spread_of(&lags),
        cpu_us_per_event: processor_us as f64 / events as f64,
        events_per_s: events as f64 * 1e6 / (end_us - begin_us).max(1) as f64,
    };
    Ok(Level {
        row,
        ttft_error_ms: spread(&errors.ttft_ms)?,
        interval_error_ms: spread(&errors.interval_ms)?,
    })
}

/// A simulated server in a process of its own, which ends with this value.
#[derive(Debug)]
struct Simulator {
    process: Child,
    base_url: String,
}

impl Simulator {
    fn start(pace: Pace) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("where this program is")?;
        let mut process = Command::new(program)
            // It needs nothing of it, and there may be keys.
            .env_clear()
            .args(["sim", "--listen", "127.0.0.1:0", "--event-times", "--kernel-stamps"])
            .arg("--end-with-stdin")
            .stdin(Stdio::piped())
            .args(["--ttft-ms", &pace.ttft_ms.to_string()])
            .args(["--interval-ms", &pace.interval_ms.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the simulated server")?;
        let mut base_url = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut base_url)?;
        }
        let base_url = base_url.trim().to_owned();
        let simulator = Self { process, base_url };
        if simulator.base_url.is_empty() {
            bail!("the simulated server did not start");
        }
        Ok(simulator)
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The arguments that a user would give to `run` for the same load.
fn run_args(base_url: &str, streams: u64, pace: Pace, workers: u64) -> anyhow::Result<RunArgs> {
    let [streams, requests, events, workers] =
        [streams, streams * pace.requests, pace.events, workers].map(|number| number.to_string());
    let line = [
        ["streamgauge", "run", "--base-url", base_url].as_slice(),
        &["--input-tokens", "32", "--no-length-probes"],
        &["--concurrency", &streams, "--requests", &requests],
        &["--output-tokens", &events, "--workers", &workers],
    ]
    .concat();
    match Cli::read(line).context("the calibration's own arguments")?.command {
        Subcommand::Run(args) => Ok(*args),
        _ => bail!("the calibration's own arguments are those of `run`"),
    }
}

/// The document of the simulated server's `/sim/stamps`.
#[derive(Debug, Deserialize)]
struct Account {
    requests: Vec<Row>,
}

/// A request of it: id, outcome, when it was received and when the kernel had it, and the write of
/// its first output event with the differences that follow, all in nanoseconds.
type Row = (String, String, u64, Option<u64>, Vec<u64>);

/// What the simulated server noted, by request.
async fn stamps(server: &Server) -> anyhow::Result<HashMap<String, ServerStamps>> {
    let Server { endpoint, access, .. } = server;
    let (path, dialect) = ("/sim/stamps", Dialect::OpenaiChat);
    let bytes = ask(endpoint, access, dialect, path, MAX_ACCOUNT_BYTES, PATIENCE)
        .await
        .context("the simulated server's account")?;
    let account: Account =
        serde_json::from_slice(&bytes).context("the simulated server's account")?;
    let request = |(id, _, received_ns, kernel_received_ns, steps_ns): Row| {
        let mut at_ns = 0;
        let written_ns = steps_ns.into_iter().map(|step_ns| {
            at_ns += step_ns;
            at_ns
        });
        let received_ns = kernel_received_ns.unwrap_or(received_ns);
        (id, ServerStamps { received_ns, written_ns: written_ns.collect() })
    };
    Ok(account.requests.into_iter().map(request).collect())
}

/// Processor time of this process so far.
fn processor_time_us() -> anyhow::Result<i64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds())
}
