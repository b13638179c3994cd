//! Very many requests: how soon the first is sent, and what memory grows with.

use std::path::Path;

use crate::clients::Done;
use crate::figures::short;
use crate::load::{LoadSpec, Shape};
use crate::process::Memory;
use crate::server::{Server, ServerSpec};
use crate::tables::Report;
use crate::trial;
use crate::wanted::Verdict;

const REQUESTS: u64 = 1_000_000;
const OUTPUT_EVENTS: u64 = 20;
/// What a run may take at all, and for each request and interval; bytes.
const ALLOWED: u64 = 64_000_000;
const ALLOWED_A_REQUEST: u64 = 8;
const ALLOWED_AN_INTERVAL: u64 = 4;

/// Measures the row, with all arrivals kept and without.
pub(crate) fn measure(work: &str, scratch: &Path, report: &mut Report) -> anyhow::Result<()> {
    let server = Server::start(&ServerSpec {
        ttft_us: 0,
        interval_us: 0,
        events_per_write: 16,
        stamps: false,
    })?;
    for (keep_arrivals, name) in [(true, work.to_owned()), (false, format!("{work}, no arrivals"))]
    {
        let load = LoadSpec {
            requests: REQUESTS,
            shape: Shape::Closed { concurrency: 64 },
            workers: 1,
            output_events: OUTPUT_EVENTS,
            prompt_words: 24,
            keep_arrivals,
        };
        let file = scratch.join("journal");
        let (done, begun_ns) = trial::ours(&server, load, &file)?;
        std::fs::remove_file(&file)?;
        server.take_account()?;
        report.judge(&name, start(&done, begun_ns));
        for (part, memory) in [(0.1, 0), (0.5, 1), (1.0, 2)] {
            let memory = done.memory_at.get(memory).copied();
            report.judge(&name, resident(part, memory, keep_arrivals));
        }
    }
    server.end()
}

fn start(done: &Done, begun_ns: u64) -> Verdict {
    let seconds = done.started_ns.map(|at_ns| at_ns.saturating_sub(begun_ns) as f64 / 1e9);
    Verdict {
        wanted: "start in under 2 s".to_owned(),
        found: seconds.map_or_else(String::new, |seconds| format!("{} s", short(seconds))),
        met: seconds.map(|seconds| seconds < 2.0),
    }
}

fn resident(part: f64, memory: Option<Memory>, keep_arrivals: bool) -> Verdict {
    let ended = (part * REQUESTS as f64) as u64;
    let intervals = if keep_arrivals { ended * (OUTPUT_EVENTS - 1) } else { 0 };
    let allowed = ALLOWED + ALLOWED_A_REQUEST * ended + ALLOWED_AN_INTERVAL * intervals;
    let bytes = memory.map(|memory| memory.now_kib * 1024);
    let mb = |bytes: u64| short(bytes as f64 / 1e6);
    Verdict {
        wanted: format!("resident at {} % < {} MB", part * 100.0, mb(allowed)),
        found: bytes.map_or_else(String::new, |bytes| format!("{} MB", mb(bytes))),
        met: bytes.map(|bytes| bytes < allowed),
    }
}
