//! `streamgauge export`: a record under the names of another tool.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use streamgauge_client::{RunDir, write_new};
use streamgauge_exchange::{LeftOut, OutputEdges, VllmResult, vllm_result};
use streamgauge_schema::{LoadShape, RunRecord, RunRecordV2};

use crate::console;
use crate::exit::Exit;
use crate::journals::Journals;
use crate::rebuild::read_plan;
use crate::records::{LoadedRun, load};

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(after_help = "\
A key is written only where its figure is the one that the other tool would have found, but for the \
larger of 1 ms and 1 percent; every other key is null, and standard error says why. The latencies \
and the request rate need the run directory: only its journal tells when events without output came, \
and only its plan has the rate as a number. `*_itl_ms` are the gaps between events, as in vLLM's own \
files: an event can hold several tokens.

Example:
  streamgauge export --vllm runs/build-7-… -o build-7.json")]
pub(crate) struct ExportArgs {
    /// The flat keys of vLLM's result files (mean_ttft_ms, request_throughput, …)
    #[arg(long, required = true)]
    vllm: bool,
    /// Run directory or record
    path: PathBuf,
    /// File to write, which must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes one record.
pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<Exit> {
    let record = only_record(&args.path)?;
    let result = vllm_of(&record, &args.path)?;
    for LeftOut { keys, reason } in &result.left_out {
        console::remark(&format!("null: {keys}: {reason}"));
    }
    match &args.out {
        Some(out) => {
            write_new(out, &result.bytes, 0o644)?;
            console::result(&out.display().to_string())?;
        }
        None => {
            console::result(
                &String::from_utf8(result.bytes).context("canonical bytes are ASCII")?,
            )?;
        }
    }
    Ok(Exit::Done)
}

/// The record of a run under vLLM's keys; where `path` is a run directory, its journal and its plan
/// say more.
pub(super) fn vllm_of(record: &RunRecordV2, path: &Path) -> anyhow::Result<VllmResult> {
    let shape = shape(path)?;
    Ok(vllm_result(record, edges(path)?.as_ref(), shape.as_ref())?)
}

/// The load that the plan of a run directory asks for; `None` without one.
fn shape(path: &Path) -> anyhow::Result<Option<LoadShape>> {
    let dir = RunDir::at(path);
    let plan = dir.plan().exists().then(|| read_plan(&dir)).transpose()?;
    Ok(plan.map(|plan| plan.load.shape))
}

fn only_record(path: &Path) -> anyhow::Result<RunRecordV2> {
    let shown = path.display();
    let runs = load(path)?;
    let [LoadedRun { record, .. }] = runs.as_slice() else {
        bail!("{shown} holds {} runs; name one of them", runs.len());
    };
    match record {
        RunRecord::V2(record) => Ok(*record.clone()),
        RunRecord::V1(_) => {
            bail!("{shown} is a record of version 1, which lacks most of what is exported")
        }
    }
}

/// What the journal of a run directory tells of first and last events; `None` without one.
fn edges(path: &Path) -> anyhow::Result<Option<OutputEdges>> {
    let dir = RunDir::at(path);
    if !Journals::exist(&dir) {
        return Ok(None);
    }
    let journals = Journals::open(&dir)?;
    let mut lines = journals.lines();
    let mut edges = OutputEdges::default();
    while let Some(line) = lines.next_request()? {
        edges.add(&line);
    }
    Ok(Some(edges))
}
