//! The search for the highest load at which the goals hold. Each probe is a run of its own, and the
//! search itself is written down beside them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use streamgauge_client::{RunClock, RunDirError, write_new};
use streamgauge_schema::{
    Identifier, Load, ProbeFault, SearchProbe, SearchReport, SearchSchema, SearchedLoad,
    digest_bytes,
};
use streamgauge_workload::{Clients, LoadEnd, LoadSpec, Rates, Search, SearchSpec};
use tokio::sync::watch;

use crate::args::Format;
use crate::args::run::{RunArgs, SearchFor};
use crate::console;
use crate::exit::Exit;
use crate::measure::{Measured, Measuring, measure};
use crate::planning::{Cell, Planner, Server, millis, open_loop};
use crate::show::{self, Page};

/// Fewest requests of a probe that neither a number nor a duration ends.
const REQUESTS: u64 = 64;
/// Requests of such a probe for each client.
const REQUESTS_A_CLIENT: f64 = 4.0;
/// Seconds for which such a probe sends at its rate.
const SECONDS: f64 = 10.0;

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

/// The cell that the search probes first.
pub(super) fn first_probe(
    args: &RunArgs,
    what: SearchFor,
    planner: &Planner<'_>,
) -> anyhow::Result<Cell> {
    let load = begin(args, what)?.next_load().context("a search begins somewhere")?;
    planner.cell(0, probe_load(args, what, planner, load)?)
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
    let mut probes: Vec<SearchProbe> = Vec::new();
    let measuring = Measuring { access: &server.access, view: args.output.view(), stop };
    let mut name = None;
    let mut ended = None;
    while let (Some(load), None) = (search.next_load(), ended) {
        let cell = planner.cell(probes.len() as u64, probe_load(args, what, planner, load)?)?;
        name.get_or_insert_with(|| cell.plan.name.clone());
        if let Err(error) = cell.check_room() {
            console::remark(&format!("the search ends here: {error:#}"));
            ended = Some(Exit::Inconclusive);
            break;
        }
        let title = format!("probe {}, cell {}", probes.len() + 1, cell.plan.load.cell);
        let measured = measure(&cell, &title, &args.output.out, &measuring).await?;
        measured.tell_failures();
        if *stop.borrow() {
            ended = Some(Exit::Interrupted);
            break;
        }
        let probe = probe(load, goals.attainment, &measured);
        search.record(load, if probe.held { probe.attained_ratio.unwrap_or(0.0) } else { 0.0 });
        let load = show::load_figure(load);
        console::remark(&format!("{} at {load}: {}", show::searched(varied(what)), told(&probe)));
        ended = probe.reason.and_then(hopeless);
        probes.push(probe);
    }
    let report = report(args, what, &search, ended.is_none(), probes);
    let name = name.as_ref().map_or("nothing", Identifier::as_str);
    let path = write_report(&report, &args.output.out, name).await?;
    console::result(&match args.output.page_format() {
        Format::Json => {
            String::from_utf8(digest_bytes(&report)?).context("canonical bytes are ASCII")?
        }
        format => format!("{}\n\n{}", show::search(&report, Page::of(format)), path.display()),
    })?;
    Ok(match (ended, report.highest_held) {
        (Some(exit), _) => exit,
        (None, Some(_)) => Exit::Done,
        (None, None) => Exit::Inconclusive,
    })
}

/// Reports are named to the second. Where one of the same second is there, the next is waited for.
async fn write_report(report: &SearchReport, out: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let bytes = digest_bytes(report)?;
    // A search that ends before its first probe has made no folder yet.
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    for _ in 0..5 {
        let second = RunClock::start().started_at().compact();
        let path = out.join(format!("{name}-search-{second}.json"));
        match write_new(&path, &bytes, 0o644) {
            Err(RunDirError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            written => return Ok(written.map(|()| path)?),
        }
    }
    bail!("{}: too many searches end in the same second", out.display())
}

/// What a run says of its load. One that was not offered, or whose figures pass no gate, shows
/// nothing that could hold.
fn probe(load: f64, attainment: f64, measured: &Measured) -> SearchProbe {
    let record = &measured.record;
    let metric = record.metrics.iter().find(|metric| metric.id.as_str() == "goodput_ratio");
    let attained_ratio = metric.and_then(|metric| metric.value);
    let without_value = metric.map_or(0, |metric| metric.missing);
    let reason = if record.load.succeeded == 0 {
        Some(ProbeFault::NothingSucceeded)
    } else if without_value >= record.load.succeeded {
        Some(ProbeFault::NoValues)
    } else if record.load.stages.iter().any(|stage| !stage.valid) {
        Some(ProbeFault::NotOffered)
    } else if record.load.cancelled > 0 {
        Some(ProbeFault::Cut)
    } else if attained_ratio.is_none() {
        Some(ProbeFault::NoneEnded)
    } else {
        None
    };
    let attained = attained_ratio.is_some_and(|ratio| ratio >= attainment);
    SearchProbe {
        load,
        attained_ratio,
        without_value,
        other_model: measured.other_model,
        held: attained && reason.is_none(),
        reason,
        run_id: record.run_id.clone(),
    }
}

/// How a search ends after a probe that says the same of every other load.
fn hopeless(fault: ProbeFault) -> Option<Exit> {
    let exit = match fault {
        ProbeFault::NothingSucceeded => Exit::Unreachable,
        ProbeFault::NoValues => Exit::Inconclusive,
        ProbeFault::Cut | ProbeFault::NoneEnded | ProbeFault::NotOffered => return None,
    };
    console::remark(&format!("the search ends here: {}", show::probe_fault(fault)));
    Some(exit)
}

fn told(probe: &SearchProbe) -> String {
    let good = probe.attained_ratio.map_or_else(
        || "no request counts".to_owned(),
        |ratio| format!("{:.1} % of requests were good", ratio * 100.0),
    );
    match (probe.held, probe.reason) {
        (true, _) => format!("{good}, held"),
        (false, None) => format!("{good}, failed"),
        (false, Some(reason)) => format!("failed: {}", show::probe_fault(reason)),
    }
}

fn report(
    args: &RunArgs,
    what: SearchFor,
    search: &Search,
    complete: bool,
    probes: Vec<SearchProbe>,
) -> SearchReport {
    let found = search.found();
    SearchReport {
        schema: SearchSchema::V1,
        load: varied(what),
        goals: args.goals.goodput.clone(),
        attainment: args.goals.attainment,
        complete,
        highest_held: found.highest_held,
        lowest_failed: found.lowest_failed,
        held_above_a_failure: found.held_above_a_failure,
        probes,
    }
}

fn varied(what: SearchFor) -> SearchedLoad {
    match what {
        SearchFor::Concurrency => SearchedLoad::Clients,
        SearchFor::Rate => SearchedLoad::RequestsPerS,
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
    let end = LoadEnd { requests, duration_ms };
    let load = show::load_figure(load);
    spec.resolve(end, args.load.warmup)
        .with_context(|| format!("--search, the probe at {load} {}", show::searched(varied(what))))
}

fn whole(clients: f64) -> anyhow::Result<u64> {
    if clients.fract() == 0.0 && (1.0..=65_536.0).contains(&clients) {
        Ok(clients as u64)
    } else {
        bail!("--search concurrency: {clients} is no number of clients from 1 to 65536")
    }
}
