//! The loads that arguments ask for, one for each cell.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, bail};
use streamgauge_schema::{Arrivals, Identifier, Load};
use streamgauge_workload::{Clients, LoadEnd, LoadError, LoadSpec, Rates};

use super::millis;
use crate::args::run::{Arrival, LoadArgs};

/// Requests of a cell that nothing else ends.
const REQUESTS: u64 = 64;

/// Resolves every load that the arguments ask for; `due_us` are the times of a trace, and `most`
/// bounds the requests of a closed loop that time ends. With `repetitions`, the requests that are asked
/// for are so many rounds of them.
pub(crate) fn loads(
    args: &LoadArgs,
    due_us: Option<Arc<[u64]>>,
    most: u64,
    repetitions: Option<u64>,
) -> anyhow::Result<Vec<Load>> {
    let specs = specs(args, due_us)?;
    let closed = args.request_rate.is_none() && !args.trace;
    let end = repeated(end(args, closed.then_some(most))?, args, repetitions)?;
    let flag = match (&args.request_rate, args.trace) {
        (Some(_), _) => "--request-rate",
        (None, true) => "--trace",
        (None, false) => "--concurrency",
    };
    let resolve = |spec: LoadSpec| {
        spec.resolve(end, args.warmup).map_err(|error| {
            let flag =
                if matches!(error, LoadError::Burstiness { .. }) { "--burstiness" } else { flag };
            anyhow::Error::new(error).context(flag)
        })
    };
    named(args.cell.as_ref(), specs.into_iter().map(resolve).collect::<anyhow::Result<_>>()?)
}

fn specs(args: &LoadArgs, due_us: Option<Arc<[u64]>>) -> anyhow::Result<Vec<LoadSpec>> {
    if let Some(rates) = &args.request_rate {
        return Ok(rates.cells.iter().map(|rates| open_loop(args, rates.clone())).collect());
    }
    if args.trace {
        let due_us = due_us.context("--trace: the lines of the dataset have no \"at_ms\"")?;
        return Ok(vec![LoadSpec::Trace { due_us, max_concurrency: args.max_concurrency }]);
    }
    Ok(match &args.concurrency {
        Some(clients) => clients.cells.iter().cloned().map(LoadSpec::Clients).collect(),
        None => vec![LoadSpec::Clients(Clients::constant(1))],
    })
}

/// The open loop of these rates, spread as the arguments say.
pub(crate) fn open_loop(args: &LoadArgs, rates: Rates) -> LoadSpec {
    let seed = args.arrival_seed;
    let arrivals = match args.arrival {
        Arrival::Constant => Arrivals::Constant {},
        Arrival::Gamma => Arrivals::Gamma { burstiness: args.burstiness, seed },
        Arrival::Poisson => Arrivals::Poisson { seed },
    };
    LoadSpec::Rates { rates, arrivals, max_concurrency: args.max_concurrency }
}

/// What ends a cell: requests, a duration, or stages and traces by themselves.
fn end(args: &LoadArgs, most: Option<u64>) -> anyhow::Result<LoadEnd> {
    let staged = is_staged(args);
    let duration_ms = args.duration.map(|length| millis("--duration", length)).transpose()?;
    let requests = match args.requests {
        None if !staged && duration_ms.is_none() => Some(REQUESTS),
        asked => asked.or(most),
    };
    Ok(LoadEnd { requests, duration_ms })
}

/// Whether stages or a trace end a cell by themselves.
fn is_staged(args: &LoadArgs) -> bool {
    args.concurrency.as_ref().is_some_and(|clients| clients.staged)
        || args.request_rate.as_ref().is_some_and(|rates| rates.staged)
        || args.trace
}

/// So many rounds of the requests that are asked for; time must not end any of them early.
fn repeated(end: LoadEnd, args: &LoadArgs, repetitions: Option<u64>) -> anyhow::Result<LoadEnd> {
    let Some(repetitions) = repetitions else { return Ok(end) };
    if is_staged(args) {
        bail!(
            "--determinism asks each prompt {repetitions} times, and stages of a load end by time: give \
             one --concurrency or --request-rate"
        );
    }
    let requests = end.requests.map(|requests| requests.saturating_mul(repetitions));
    Ok(LoadEnd { requests, ..end })
}

/// Cells are told apart by their names.
fn named(name: Option<&Identifier>, mut loads: Vec<Load>) -> anyhow::Result<Vec<Load>> {
    if let (Some(name), [only]) = (name, &mut loads[..]) {
        only.cell = name.clone();
    } else if name.is_some() {
        bail!("--cell names one cell, and {} are asked for", loads.len());
    }
    let names: BTreeSet<&str> = loads.iter().map(|load| load.cell.as_str()).collect();
    if names.len() < loads.len() {
        bail!("two cells have the same load; a cell is measured once in a run");
    }
    Ok(loads)
}
