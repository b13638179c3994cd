//! What more workers bring, as far as two cores can show it: server and client share them.

use std::path::Path;

use crate::rows::{alone, closed_loop, unpaced};
use crate::server::Server;
use crate::tables::Report;

const ROUNDS: usize = 3;
const WORKERS: [u64; 2] = [1, 2];

/// Measures the row. Nothing is wanted of it: with so few cores, workers take the server's time.
pub(crate) fn measure(work: &str, scratch: &Path, report: &mut Report) -> anyhow::Result<()> {
    let server = Server::start_among_clients(&unpaced(16))?;
    for workers in WORKERS {
        let mut load = closed_loop(6400, 64, 512);
        load.workers = workers;
        let runs = alone(&server, load, ROUNDS, scratch)?;
        report.add_client(work, &format!("ours, workers: {workers}"), &runs.ours);
    }
    server.end()
}
