//! The load table: how much a client errs and costs under load, ours beside the least that any
//! client must do.
//!
//! `load_table [ROW…]` prints Markdown for the rows named (all by default). The program starts
//! itself as its children, each bound to one core: the simulated server on the first, the client
//! under test, ours, the bare or the hyper loop, on the second. `benches/README.md` says how to read it.

mod bare;
mod bias;
mod child;
mod clients;
mod figures;
mod hyper_loop;
mod load;
mod million;
mod process;
mod rows;
mod server;
mod stamps;
mod start;
mod tables;
mod trial;
mod wanted;
mod workers;

use std::io::Write;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, role, place] = &arguments[..]
        && flag == child::FLAG
    {
        return child::play(role, place);
    }
    let mut rows = rows::all();
    for name in &arguments {
        if !rows.iter().any(|row| row.name == name) {
            let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
            bail!("no row is named {name:?}; there are {}", names.join(", "));
        }
    }
    rows.retain(|row| arguments.is_empty() || arguments.iter().any(|name| name == row.name));

    let scratch = tempfile::tempdir()?;
    let mut report = tables::Report::default();
    for row in &rows {
        writeln!(std::io::stderr(), "{}: {}", row.name, row.work)?;
        row.measure(scratch.path(), &mut report)?;
    }
    write!(std::io::stdout(), "{report}")?;
    Ok(())
}
