//! The command's start: from just before its process is made to the arrival of its first request
//! at the server.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::figures::Figure;
use crate::load::request_id;
use crate::process::monotonic_ns;
use crate::server::{Server, ServerSpec};
use crate::tables::Report;
use crate::wanted::Verdict;

const RUNS: usize = 20;
const LIMIT_MS: f64 = 50.0;

/// Measures the row, if the command was built.
pub(crate) fn measure(work: &str, scratch: &Path, report: &mut Report) -> anyhow::Result<()> {
    let command = std::env::current_exe()?.with_file_name("streamgauge");
    let wanted = format!("under {LIMIT_MS} ms");
    if !command.exists() {
        let found = "the command is not built: cargo build --release -p streamgauge".to_owned();
        report.judge(work, Verdict { wanted, found, met: None });
        return Ok(());
    }
    let spec = ServerSpec { ttft_us: 0, interval_us: 0, events_per_write: 1, stamps: true };
    let server = Server::start(&spec)?;
    let times_ms = (0..RUNS).map(|run| {
        let out = scratch.join(format!("start-{run}"));
        once(&command, &server, &out).map(Some)
    });
    let times_ms = times_ms.collect::<anyhow::Result<Vec<_>>>()?;
    server.end()?;
    report.judge(work, Verdict::at_most(wanted, Figure::of(times_ms), LIMIT_MS, "ms"));
    Ok(())
}

/// Milliseconds from the start of the process to the arrival of its measured request. Each run has
/// a folder of its own, as the command waits for a free name.
fn once(command: &Path, server: &Server, out: &Path) -> anyhow::Result<f64> {
    let begun_ns = monotonic_ns();
    let status = Command::new(command)
        .args(["run", "--requests", "1", "--output-tokens", "1"])
        .args(["--base-url", &format!("http://{}", server.addr), "--out"])
        .arg(out)
        .env_remove("OPENAI_API_KEY")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "the command ended with {status}");
    let account = server.take_account()?;
    let first = account.requests.get(&request_id(0)).context("the server got no request")?;
    let received_ns = first.kernel_ns.context("no stamp of the request")?;
    Ok(received_ns.saturating_sub(begun_ns) as f64 / 1e6)
}
