//! The commands, one file each.

pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod decide;
pub(crate) mod demo;
pub(crate) mod determinism;
pub(crate) mod export;
pub(crate) mod grade;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod merge;
pub(crate) mod observe;
pub(crate) mod qualify;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod sim;
pub(crate) mod turnover;
pub(crate) mod verify;

use anyhow::Context;

use crate::args::{Cli, Command};
use crate::exit::Exit;

/// Runs the command that was given.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Calibrate(args) => on_runtime(calibrate::calibrate(&args)),
        Command::Compare(args) => compare::compare(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Decide(args) => decide::decide(&args),
        Command::Demo(args) => on_runtime(demo::demo(&args)),
        Command::Determinism(args) => determinism::determinism(&args),
        Command::Export(args) => export::export(&args),
        Command::Grade(args) => grade::grade(&args),
        Command::Import(args) => import::import(&args),
        Command::Init(args) => init::init(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Observe(args) => on_runtime(observe::observe(&args)),
        Command::Qualify(args) => on_runtime(qualify::qualify(&args)),
        Command::Record(args) => record::record(&args),
        Command::Report(args) => report::report(&args),
        Command::Run(args) => on_runtime(run::run(&args)),
        Command::Schema(args) => schema::schema(&args),
        Command::Sim(args) => on_runtime(sim::sim(&args)),
        Command::Turnover(args) => on_runtime(turnover::turnover(&args)),
        Command::Verify(args) => verify::verify(&args),
    }
}

/// One thread drives all connections, so that no stamp waits for another thread.
fn on_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("the system lets this program wait for nothing (ulimit -n)")?;
    let ended = runtime.block_on(command);
    // A question to a resolver that does not answer can be given up, but not ended.
    runtime.shutdown_background();
    ended
}
