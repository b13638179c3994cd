//! The `streamgauge` command: arguments, composition of the layers, exit codes.

mod args;
mod calibration;
mod commands;
mod console;
mod deployment;
mod evidence;
mod exit;
mod flags;
mod gates;
mod grading;
mod input;
mod journals;
mod ledger;
mod manifest;
mod measure;
mod notices;
mod planning;
mod progress;
mod provenance;
mod qualify;
mod rebuild;
mod records;
mod repeated;
mod report;
mod sharding;
mod show;
mod signals;
mod spelling;

use std::process::ExitCode;

use crate::args::Cli;

fn main() -> ExitCode {
    signals::survive_file_size_limit();
    let line = Cli::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let outcome = commands::run(line);
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) if console::is_closed_pipe(&error) => ExitCode::from(exit::CLOSED_PIPE),
        Err(error) => {
            console::complain(&error);
            exit::Exit::of_error(&error).into()
        }
    }
}
