//! The search for the highest load at which the goals hold. Each probe is a run of its own, and the
//! search itself is written down beside them.

use anyhow::{Context, bail};
use serde::Serialize;
use streamgauge_client::{RunClock, write_new};
use streamgauge_schema::{Goal, Identifier, Load, digest_bytes};
use streamgauge_workload::{Clients, LoadEnd, LoadSpec, Rates, Search, SearchSpec};
use tokio::sync::watch;

use crate::args::Format;
use crate::args::run::{RunArgs, SearchFor};
use crate::console;
use crate::exit::Exit;
use crate::measure::{Measured, measure};
use crate::planning::{Planner, Server, millis, open_loop};
use crate::show;

/// Fewest requests of a probe that neither a number nor a duration ends.
const REQUESTS: u64 = 64;
/// Requests of such a probe for each client.
const REQUESTS_A_CLIENT: f64 = 4.0;
/// Seconds for which such a probe sends at its rate.
const SECONDS: f64 = 10.0;

/// A search that has ended.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// What was varied: clients, or requests per second.
    pub(crate) load: &'static str,
    goals: Vec<Goal>,
    /// Share of requests that had to be good.
    pub(crate) attainment: f64,
    /// The highest load that held below every one that failed.
    pub(crate) highest_held: Option<f64>,
    /// The lowest that failed.
    pub(crate) lowest_failed: Option<f64>,
    /// Loads that held above one that failed.
    pub(crate) held_above_a_failure: Vec<f64>,
    /// The probes in their order.
    pub(crate) probes: Vec<Probe>,
}

/// One probe, and the run that is its evidence.
#[derive(Debug, Serialize)]
pub(crate) struct Probe {
    pub(crate) load: f64,
    /// Share of its requests that were good.
    pub(crate) attained_ratio: f64,
    pub(crate) held: bool,
    run_id: Identifier,
}

/// Probes until nothing is left to find out, or the run is stopped.
pub(super) async fn search(
    args: &RunArgs,
    what: SearchFor,
    planner: &Planner<'_>,
    server: &Server,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<Exit> {
    let goals = &args.goals;
    let (start, most, step_ratio) = (goals.search_from, goals.search_to, goals.search_step);
    let spec = match what {
        SearchFor::Concurrency => SearchSpec::Clients { start: whole(start)?, most: whole(most)? },
        SearchFor::Rate => SearchSpec::Rates { start_per_s: start, most_per_s: most, step_ratio },
    };
    let mut search = Search::new(spec, goals.attainment).context("--search")?;
    let mut run_ids = Vec::new();
    let mut name = None;
    while let Some(load) = search.next_load() {
        let cell = planner.cell(run_ids.len() as u64, probe_load(args, what, planner, load)?)?;
        name.get_or_insert_with(|| cell.plan.name.clone());
        let measured = measure(&cell, &server.access, &args.output.out, stop.clone()).await?;
        if *stop.borrow() {
            return Ok(Exit::Interrupted);
        }
        let attained_ratio = attained(&measured);
        search.record(load, attained_ratio);
        run_ids.push(measured.record.run_id.clone());
        if let Some(probe) = search.probes().last() {
            let verdict = if probe.held { "held" } else { "failed" };
            console::remark(&format!(
                "{} at {load}: {:.1} % of requests were good, {verdict}",
                word(what),
                attained_ratio * 100.0
            ));
        }
    }
    let report = report(args, what, &search, run_ids);
    let name = name.as_ref().map_or("nothing", Identifier::as_str);
    let started_at = RunClock::start().started_at();
    let path = args.output.out.join(format!("{name}-search-{}.json", started_at.compact()));
    let bytes = digest_bytes(&report)?;
    write_new(&path, &bytes, 0o644)?;
    console::result(&match args.output.format {
        Format::Json => String::from_utf8(bytes).context("canonical bytes are ASCII")?,
        format => format!("{}\n\n{}", show::search(&report, format), path.display()),
    })?;
    Ok(if report.highest_held.is_some() { Exit::Done } else { Exit::Inconclusive })
}

fn report(args: &RunArgs, what: SearchFor, search: &Search, run_ids: Vec<Identifier>) -> Report {
    let found = search.found();
    let probes = search.probes().iter().zip(run_ids).map(|(probe, run_id)| Probe {
        load: probe.load,
        attained_ratio: probe.attained_ratio,
        held: probe.held,
        run_id,
    });
    Report {
        load: word(what),
        goals: args.goals.goodput.clone(),
        attainment: args.goals.attainment,
        highest_held: found.highest_held,
        lowest_failed: found.lowest_failed,
        held_above_a_failure: found.held_above_a_failure,
        probes: probes.collect(),
    }
}

fn word(what: SearchFor) -> &'static str {
    match what {
        SearchFor::Concurrency => "clients",
        SearchFor::Rate => "requests per second",
    }
}

/// The load of one probe. Without a number of requests and a duration it is as long as its load
/// needs to show itself.
fn probe_load(
    args: &RunArgs,
    what: SearchFor,
    planner: &Planner<'_>,
    load: f64,
) -> anyhow::Result<Load> {
    let duration_ms = args.load.duration.map(|length| millis("--duration", length)).transpose()?;
    let wanted = match what {
        SearchFor::Concurrency => load * REQUESTS_A_CLIENT,
        SearchFor::Rate => load * SECONDS,
    };
    let requests = match (args.load.requests, duration_ms, what) {
        (None, None, _) => Some(REQUESTS.max(wanted.ceil() as u64)),
        (None, Some(_), SearchFor::Concurrency) => Some(planner.most_requests()),
        (asked, ..) => asked,
    };
    let spec = match what {
        SearchFor::Concurrency => LoadSpec::Clients(Clients::constant(whole(load)?)),
        SearchFor::Rate => open_loop(&args.load, Rates::constant(load)),
    };
    Ok(spec.resolve(LoadEnd { requests, duration_ms }, args.load.warmup)?)
}

/// The share of good requests; 0 where nothing that counts was sent.
fn attained(measured: &Measured) -> f64 {
    let metrics = &measured.record.metrics;
    let metric = metrics.iter().find(|metric| metric.id.as_str() == "goodput_ratio");
    metric.and_then(|metric| metric.value).unwrap_or(0.0)
}

fn whole(clients: f64) -> anyhow::Result<u64> {
    if clients.fract() == 0.0 && (1.0..=65_536.0).contains(&clients) {
        Ok(clients as u64)
    } else {
        bail!("--search concurrency: {clients} is no number of clients from 1 to 65536")
    }
}
