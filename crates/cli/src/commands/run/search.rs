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
    /// Whether it went on until nothing was left to find out.
    pub(crate) complete: bool,
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
    /// Share of its requests that were good; `None` where none counts.
    pub(crate) attained_ratio: Option<f64>,
    pub(crate) held: bool,
    /// Why it did not hold, where not the goals alone decided.
    pub(crate) reason: Option<&'static str>,
    run_id: Identifier,
}

/// The search that the arguments ask for, before its first probe.
pub(super) fn begin(args: &RunArgs, what: SearchFor) -> anyhow::Result<Search> {
    let goals = &args.goals;
    let (start, most, step_ratio) = (goals.search_from, goals.search_to, goals.search_step);
    let spec = match what {
        SearchFor::Concurrency => SearchSpec::Clients { start: whole(start)?, most: whole(most)? },
        SearchFor::Rate => SearchSpec::Rates { start_per_s: start, most_per_s: most, step_ratio },
    };
    Search::new(spec, goals.attainment).context("--search")
}

/// Probes until nothing is left to find out, or the run is stopped.
pub(super) async fn search(
    args: &RunArgs,
    what: SearchFor,
    planner: &Planner<'_>,
    server: &Server,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<Exit> {
    let mut search = begin(args, what)?;
    let goals = &args.goals;
    let mut probes: Vec<Probe> = Vec::new();
    let mut name = None;
    let mut ended = None;
    while let (Some(load), None) = (search.next_load(), ended) {
        let cell = planner.cell(probes.len() as u64, probe_load(args, what, planner, load)?)?;
        name.get_or_insert_with(|| cell.plan.name.clone());
        let measured = measure(&cell, &server.access, &args.output.out, stop.clone()).await?;
        if *stop.borrow() {
            ended = Some(Exit::Interrupted);
            break;
        }
        let probe = probe(load, goals.attainment, &measured);
        search.record(load, if probe.held { probe.attained_ratio.unwrap_or(0.0) } else { 0.0 });
        console::remark(&format!("{} at {load}: {}", word(what), told(&probe)));
        probes.push(probe);
        if measured.record.load.succeeded == 0 {
            console::remark("the search ends here: nothing succeeded");
            ended = Some(Exit::Unreachable);
        }
    }
    let report = report(args, what, &search, ended.is_none(), probes);
    let name = name.as_ref().map_or("nothing", Identifier::as_str);
    let started_at = RunClock::start().started_at();
    let path = args.output.out.join(format!("{name}-search-{}.json", started_at.compact()));
    let bytes = digest_bytes(&report)?;
    write_new(&path, &bytes, 0o644)?;
    console::result(&match args.output.format {
        Format::Json => String::from_utf8(bytes).context("canonical bytes are ASCII")?,
        format => format!("{}\n\n{}", show::search(&report, format), path.display()),
    })?;
    Ok(match (ended, report.highest_held) {
        (Some(exit), _) => exit,
        (None, Some(_)) => Exit::Done,
        (None, None) => Exit::Inconclusive,
    })
}

/// What a run says of its load. One that was not offered, or whose figures pass no gate, shows
/// nothing that could hold.
fn probe(load: f64, attainment: f64, measured: &Measured) -> Probe {
    let record = &measured.record;
    let metric = record.metrics.iter().find(|metric| metric.id.as_str() == "goodput_ratio");
    let attained_ratio = metric.and_then(|metric| metric.value);
    let reason = if record.load.succeeded == 0 {
        Some("nothing succeeded")
    } else if record.load.stages.iter().any(|stage| !stage.valid) {
        Some("requests were never sent, so that the load was not offered")
    } else if record.load.cancelled > 0 {
        Some("requests were cut off after the grace")
    } else if attained_ratio.is_none() {
        Some("no request counts")
    } else {
        None
    };
    let attained = attained_ratio.is_some_and(|ratio| ratio >= attainment);
    let run_id = record.run_id.clone();
    Probe { load, attained_ratio, held: attained && reason.is_none(), reason, run_id }
}

fn told(probe: &Probe) -> String {
    let good = probe.attained_ratio.map_or_else(
        || "no request counts".to_owned(),
        |ratio| format!("{:.1} % of requests were good", ratio * 100.0),
    );
    match (probe.held, probe.reason) {
        (true, _) => format!("{good}, held"),
        (false, None) => format!("{good}, failed"),
        (false, Some(reason)) => format!("failed: {reason}"),
    }
}

fn report(
    args: &RunArgs,
    what: SearchFor,
    search: &Search,
    complete: bool,
    probes: Vec<Probe>,
) -> Report {
    let found = search.found();
    Report {
        load: word(what),
        goals: args.goals.goodput.clone(),
        attainment: args.goals.attainment,
        complete,
        highest_held: found.highest_held,
        lowest_failed: found.lowest_failed,
        held_above_a_failure: found.held_above_a_failure,
        probes,
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

fn whole(clients: f64) -> anyhow::Result<u64> {
    if clients.fract() == 0.0 && (1.0..=65_536.0).contains(&clients) {
        Ok(clients as u64)
    } else {
        bail!("--search concurrency: {clients} is no number of clients from 1 to 65536")
    }
}
