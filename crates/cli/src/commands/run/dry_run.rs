//! What a run would be: its plan on stdout, and on stderr whom it would send what.

use anyhow::Context;
use streamgauge_client::Endpoint;
use streamgauge_schema::{LengthBasis, Plan, Stage, digest_bytes};

use crate::args::run::RunArgs;
use crate::console;
use crate::exit::Exit;
use crate::planning::Cell;

/// Prints all that can be known before the first request.
pub(crate) fn dry_run(args: &RunArgs, endpoint: &Endpoint, cells: &[Cell]) -> anyhow::Result<Exit> {
    for cell in cells {
        let first = cell.request(Stage::Measured, 0);
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
    console::remark(&contacted(args, endpoint, &plans));
    Ok(Exit::Done)
}

/// What would be sent, and written.
fn contacted(args: &RunArgs, endpoint: &Endpoint, plans: &[&Plan]) -> String {
    let mut lines = vec![format!(
        "nothing was sent but questions for models and version; a run would contact {endpoint}:"
    )];
    let assumed = |plan: &&Plan| plan.workload.length_basis == Some(LengthBasis::Assumed {});
    if !args.prompts.no_length_probes && plans.iter().any(assumed) {
        lines.push("- a few short requests first, which tell how long prompts are".to_owned());
    }
    lines.extend(plans.iter().map(|plan| requests(plan)));
    if let Some(path) = &args.instrument.server_metrics {
        lines.push(format!("- questions for the server's own metrics at {path}, once a second"));
    }
    if args.goals.search.is_some() {
        lines.push("- probes after that, each at a load that follows from those before".to_owned());
    }
    lines.push(format!("It would write below {}.", args.output.out.display()));
    if let Some(file) = &args.config {
        lines.push(format!("Flags were taken from {} too.", file.display()));
    }
    lines.join("\n")
}

fn requests(plan: &Plan) -> String {
    let load = &plan.load;
    let most = match (load.duration_ms, load.shape.is_scheduled()) {
        (Some(_), false) => "at most ",
        _ => "",
    };
    let warmup = match load.warmup {
        0 => String::new(),
        warmup => format!(", after {warmup} to warm up"),
    };
    format!("- {most}{} requests of cell {}{warmup}", load.requests, load.cell)
}
