//! `cargo run --release -p streamgauge-benches --bin gate_study`: how often the interval rule is
//! right and wrong, on simulated qualifications whose truth is known; and how often the intervals
//! beside quantiles hold the true one. Prints Markdown; the same seeds give the same tables.

mod coverage;
mod latencies;
mod qualification;
mod study;
mod wanted;

use std::io::{Write, stdout};
use std::process::ExitCode;

/// Prints all tables; fails when a figure is not what is wanted.
fn main() -> std::io::Result<ExitCode> {
    let study = study::run();
    let coverage = coverage::run();
    let mut out = stdout().lock();
    writeln!(out, "{}\n\n{}", study.text, coverage.text)?;
    let missed = study.missed + coverage.missed;
    writeln!(
        out,
        "\n{}",
        if missed == 0 { "All met.".into() } else { format!("Missed: {missed}") }
    )?;
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
