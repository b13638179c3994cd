//! What a run would be: its plan on stdout, and on stderr whom it would send what.

use anyhow::Context;
use streamgauge_client::{Endpoint, RunDir};
use streamgauge_schema::{LengthBasis, Plan, Replica, digest_bytes};

use crate::args::run::RunArgs;
use crate::args::shard::StartAt;
use crate::console;
use crate::exit::Exit;
use crate::planning::Cell;

/// Prints all that can be known before the first request.
pub(crate) fn dry_run(args: &RunArgs, cells: &[Cell]) -> anyhow::Result<Exit> {
    for cell in cells {
        let first = cell.first_request();
        let target = &cell.plan.target;
        let place = target.turns().map_or(0, |turns| turns.of(first.index));
        let endpoint = Endpoint::parse(target.base_urls()[place])?;
        console::remark(&format!(
            "first request to {endpoint}, path {}:\n{}",
            endpoint.path(&cell.plan.target.endpoint_path),
            String::from_utf8_lossy(&first.body)
        ));
    }
    let plans: Vec<&Plan> = cells.iter().map(|cell| &cell.plan).collect();
    let bytes = match plans[..] {
        [only] => digest_bytes(only)?,
        _ => digest_bytes(&plans)?,
    };
    console::result(&String::from_utf8(bytes).context("canonical bytes are ASCII")?)?;
    console::remark(&contacted(args, cells)?);
    Ok(Exit::Done)
}

/// What would be sent, and written.
fn contacted(args: &RunArgs, cells: &[Cell]) -> anyhow::Result<String> {
    let sent = "nothing was sent but questions for models and version; a run would contact";
    let target = cells.first().map(|cell| &cell.plan.target);
    let replicas = target.map(|target| target.replicas.as_slice()).unwrap_or_default();
    let mut lines = match replicas {
        [] => vec![format!("{sent} {}:", target.map_or("nobody", |target| &target.base_url))],
        several => vec![format!("{sent} {} addresses, which share the requests:", several.len())],
    };
    lines.extend(replicas.iter().enumerate().map(|(place, Replica { base_url, weight })| {
        format!("- {} is {base_url}, of weight {weight}", Replica::name(place))
    }));
    let assumed = |cell: &Cell| cell.plan.workload.length_basis == Some(LengthBasis::Assumed {});
    if !args.prompts.no_length_probes && cells.iter().any(assumed) {
        lines.push("- a few short requests first, which tell how long prompts are".to_owned());
    }
    lines.extend(cells.iter().map(requests));
    if let Some(path) = &args.instrument.server_metrics {
        lines.push(format!("- questions for the server's own metrics at {path}, once a second"));
    }
    if args.goals.search.is_some() {
        lines.push("- probes after that, each at a load that follows from those before".to_owned());
    }
    match args.shard.start_at {
        Some(StartAt::At(moment)) => {
            lines.push(format!("- the measured ones of these from {moment} on"));
        }
        Some(StartAt::After(wait)) => {
            let seconds = wait.as_secs_f64();
            lines
                .push(format!("- the measured ones of these {seconds} s after it began, or later"));
        }
        None => {}
    }
    let out = &args.output.out;
    lines.push(match cells {
        [Cell { plan, .. }] if let Some(shard) = cells[0].shard() => {
            let dir = out.join(RunDir::name_of_shard(plan, shard)?);
            format!("It would write into {}, or go on there.", dir.display())
        }
        _ => format!("It would write below {}.", out.display()),
    });
    if let Some(file) = &args.config {
        lines.push(format!("Flags were taken from {} too.", file.display()));
    }
    Ok(lines.join("\n"))
}

fn requests(cell: &Cell) -> String {
    let load = &cell.plan.load;
    let most = match (load.duration_ms, load.shape.is_scheduled()) {
        (Some(_), false) => "at most ",
        _ => "",
    };
    let warmup = match cell.own_warmup() {
        0 => String::new(),
        warmup => format!(", after {warmup} to warm up"),
    };
    let own = cell.own_requests();
    let Some(shard) = cell.shard() else {
        return format!("- {most}{own} requests of cell {}{warmup}", load.cell);
    };
    let places = match cell.max_inflight() {
        Some(places) => format!(", {places} at once"),
        None => String::new(),
    };
    format!(
        "- shard {shard}: {most}{own} of {} requests of cell {}{places}{warmup}",
        load.requests, load.cell
    )
}
