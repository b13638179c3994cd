//! The clients as children: the bare loop, the hyper loop, and ours as the command runs it.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use streamgauge_client::{Access, JournalError, JournalWriter, RunSetup, Sink, run};
use streamgauge_schema::{Completion, Extraction, JournalLine};
use streamgauge_workload::Schedule;

use crate::bare;
use crate::hyper_loop;
use crate::load::LoadSpec;
use crate::process::{Memory, cpu_time};

/// What a loop is to do that discards what it reads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoopOrder {
    pub(crate) addr: SocketAddr,
    pub(crate) load: LoadSpec,
    /// A file for the stamps, which the bare loop alone can take; `None` takes none.
    pub(crate) stamps: Option<PathBuf>,
    pub(crate) pause_us: u64,
}

/// What our client is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OursOrder {
    pub(crate) addr: SocketAddr,
    pub(crate) load: LoadSpec,
    pub(crate) journal: PathBuf,
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
    /// Reads that brought bytes.
    pub(crate) reads: u64,
    /// At the end.
    pub(crate) memory: Memory,
}

/// What our client did besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) cost: Cost,
    /// Requests that did not succeed.
    pub(crate) not_succeeded: u64,
    /// Memory after a tenth, half and all of the requests.
    pub(crate) memory_at: Vec<Memory>,
    /// Zero of the run on `CLOCK_MONOTONIC`, just before the first request.
    pub(crate) started_ns: Option<u64>,
}

struct Meter {
    begun: Instant,
    cpu: Duration,
}

impl Meter {
    fn start() -> anyhow::Result<Self> {
        Ok(Self { begun: Instant::now(), cpu: cpu_time()? })
    }

    fn stop(self, reads: u64) -> anyhow::Result<Cost> {
        let cpu = cpu_time()?.saturating_sub(self.cpu);
        Ok(Cost { cpu, wall: self.begun.elapsed(), reads, memory: Memory::read()? })
    }
}

pub(crate) fn play_bare(order: &LoopOrder) -> anyhow::Result<Cost> {
    let requests = order.load.raw_requests(order.addr)?;
    let concurrency = order.load.clients()?;
    let pause = Duration::from_micros(order.pause_us);
    let meter = Meter::start()?;
    let seen = bare::run(order.addr, &requests, concurrency, order.stamps.is_some(), pause)?;
    let cost = meter.stop(seen.reads)?;
    if let Some(path) = &order.stamps {
        serde_json::to_writer(File::create(path)?, &seen.stamps)?;
    }
    Ok(cost)
}

pub(crate) fn play_hyper(order: &LoopOrder) -> anyhow::Result<Cost> {
    let requests = order.load.hyper_requests(order.addr)?;
    let concurrency = order.load.clients()?;
    let pause = Duration::from_micros(order.pause_us);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    if !pause.is_zero() {
        runtime.on_thread_park(move || std::thread::sleep(pause));
    }
    let runtime = runtime.enable_all().build()?;
    let meter = Meter::start()?;
    let reads = runtime.block_on(hyper_loop::run(order.addr, requests, concurrency))?;
    meter.stop(reads)
}

pub(crate) fn play_ours(order: &OursOrder) -> anyhow::Result<Done> {
    let requests = order.load.requests()?;
    let plan = order.load.plan(order.addr, &requests)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let journal = JournalWriter::create(&order.journal)?;
    let counted = Counted { declared: order.load.requests, ..Counted::default() };

    let meter = Meter::start()?;
    let access = Access::default();
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    let schedule = Schedule::new(&plan.load, None)?;
    let setup = RunSetup {
        plan: &plan,
        conditions: Vec::new(),
        schedule: &schedule,
        access: &access,
        captures: None,
        scrapes: None,
        keep_texts: false,
        so_far: None,
        start: None,
        inflight: Arc::default(),
        stop: stopped,
    };
    let request_of = |stage, index| requests.request(stage, index);
    let sink = Kept { journal, counted };
    let (_, kept) = runtime.block_on(run(setup, request_of, sink)).context("our client's run")?;
    let Kept { journal, counted } = kept;
    drop(journal.finish()?);
    let cost = meter.stop(counted.reads)?;
    let memory_at = counted.memory_at;
    let not_succeeded = order.load.requests - counted.succeeded;
    Ok(Done { cost, not_succeeded, memory_at, started_ns: counted.started_ns })
}

/// What the command does with a line, and what is counted of it.
struct Kept {
    journal: JournalWriter,
    counted: Counted,
}

impl Sink for Kept {
    type Error = JournalError;

    fn take(
        &mut self,
        line: JournalLine,
        _said: Option<Box<Extraction>>,
    ) -> Result<(), JournalError> {
        self.journal.append(&line)?;
        self.counted.count(&line);
        Ok(())
    }
}

/// What is counted as the lines go by.
#[derive(Default)]
struct Counted {
    declared: u64,
    ended: u64,
    memory_at: Vec<Memory>,
    reads: u64,
    started_ns: Option<u64>,
    succeeded: u64,
}

impl Counted {
    fn count(&mut self, line: &JournalLine) {
        let line = match line {
            JournalLine::Header(header) => {
                self.started_ns = header.started_monotonic_ns;
                return;
            }
            JournalLine::Request(line) => line,
            JournalLine::Begun(_) | JournalLine::Resumed(_) | JournalLine::Trailer(_) => return,
        };
        self.ended += 1;
        self.succeeded += u64::from(line.completion == Completion::Succeeded);
        self.reads += line.observation.as_ref().map_or(0, |seen| seen.reads);
        if [self.declared.div_ceil(10), self.declared.div_ceil(2), self.declared]
            .contains(&self.ended)
        {
            self.memory_at.extend(Memory::read());
        }
    }
}
