//! `cargo run --release -p streamgauge-benches --bin metric_set [REQUESTS]`: what the whole metric set
//! of a long run costs, in processor time and in memory beside the samples that it is made of.
//!
//! The run is invented: a closed loop of 64 clients, 21 output events a request, and so 20 intervals;
//! each line is made, taken and dropped, as when a journal is read. Prints Markdown; times of a busy
//! machine are longer, processor time less so.

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};
use streamgauge_metrics::RunCollector;
use streamgauge_schema::{
    Digest, EndReason, JournalHeader, JournalLine, JournalTrailer, LoadShape, Plan, RequestLine,
    Stage, Timestamp, read_typed,
};

const PLAN: &[u8] = include_bytes!("../../../crates/schema/tests/run/plan.json");
const JOURNAL: &str = include_str!("../../../crates/schema/tests/run/observations.jsonl");

const REQUESTS: u64 = 1_000_000;
const CLIENTS: u64 = 64;
const EVENTS: usize = 21;
/// Least that a request is known by: start, duration, first output, both token counts, one word for
/// what became of it; and four bytes for each interval.
const RAW_BYTES: u64 = 6 * 8 + (EVENTS as u64 - 1) * 4;
/// What is wanted.
const WANTED_TIME: Duration = Duration::from_secs(2);
const WANTED_MEMORY: f64 = 1.2;

fn main() -> anyhow::Result<()> {
    let requests = match std::env::args().nth(1) {
        Some(text) => text.parse().with_context(|| format!("{text} is no number of requests"))?,
        None => REQUESTS,
    };
    let mut plan: Plan = read_typed(PLAN)?;
    (plan.load.requests, plan.load.warmup) = (requests, 0);
    plan.load.shape = LoadShape::ClosedLoop { concurrency: CLIENTS };
    let header = JournalHeader {
        journal_version: 1,
        plan_sha256: Digest::of_value(&plan)?,
        started_at: Timestamp::from_unix_micros(0),
        started_monotonic_ns: None,
        listed_models: None,
        conditions: Vec::new(),
        shard: None,
    };
    let mut run = RunCollector::new(&plan, &header)?;
    let mut lines = Lines::new()?;
    let before = memory("VmRSS")?;
    let mut taking = Duration::ZERO;
    for _ in 0..requests {
        let line = lines.next_line();
        let from = Instant::now();
        run.add(line)?;
        taking += from.elapsed();
    }
    let kept = memory("VmRSS")?.saturating_sub(before);
    std::fs::write("/proc/self/clear_refs", "5").context("cannot reset the peak of memory")?;
    let (from, cpu) = (Instant::now(), cpu_time()?);
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(i64::MAX / 2),
        lines: requests,
        listed_models: None,
    };
    let record = run.close(Some(&trailer))?.into_record(Vec::new())?;
    let (took, cpu) = (from.elapsed(), cpu_time()? - cpu);
    let peak = memory("VmHWM")?.saturating_sub(before);
    let (raw, beside) = (requests * RAW_BYTES, peak as f64 / kept as f64);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    writeln!(
        stdout().lock(),
        "| | |\n| --- | --- |\n\
         | requests, intervals of each | {requests}, {} |\n\
         | metrics of the record | {} |\n\
         | taking the lines | {:.2} s |\n\
         | the metric set | {:.2} s, of the processor {:.2} s (wanted: at most {:.0} s) |\n\
         | least that the samples need | {:.0} MiB |\n\
         | kept | {:.0} MiB |\n\
         | at most, while figures are made | {:.0} MiB, {beside:.2} times what is kept \
         (wanted: at most {WANTED_MEMORY}) |",
        EVENTS - 1,
        record.metrics.len(),
        taking.as_secs_f64(),
        took.as_secs_f64(),
        cpu.as_secs_f64(),
        WANTED_TIME.as_secs_f64(),
        mib(raw),
        mib(kept),
        mib(peak),
    )?;
    Ok(())
}

/// Request lines as a closed loop gives them, one in the place of the one before.
struct Lines {
    line: Box<RequestLine>,
    free_at_us: Vec<u64>,
    random: u64,
    index: u64,
}

impl Lines {
    fn new() -> anyhow::Result<Self> {
        let lines = JOURNAL.lines().map(serde_json::from_str::<JournalLine>);
        let measured = lines.filter_map(|line| match line {
            Ok(JournalLine::Request(line)) if line.stage == Stage::Measured => Some(line),
            _ => None,
        });
        let mut streams = measured.filter(|line| {
            let seen = line.observation.as_ref();
            seen.is_some_and(|seen| seen.succeeded() && seen.not_generated.is_empty())
        });
        let mut line = streams.next().context("the sample journal has a plain stream")?;
        (line.observer_lag_us, line.output_lags_us, line.end_lag_us) = (None, None, None);
        Ok(Self { line, free_at_us: vec![0; CLIENTS as usize], random: 1, index: 0 })
    }

    /// From 0 to less than 1; Knuth's MMIX generator, whose upper bits are good enough here.
    fn unit(&mut self) -> f64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A long-tailed time around so many microseconds.
    fn time_us(&mut self, around_us: f64) -> u64 {
        (around_us * (0.5 - (1.0 - self.unit()).ln())) as u64
    }

    fn next_line(&mut self) -> &RequestLine {
        let first_us = self.time_us(200_000.0);
        let gaps: [u64; EVENTS - 1] = std::array::from_fn(|_| self.time_us(15_000.0));
        let last_us = first_us + gaps.iter().sum::<u64>();
        let elapsed_us = last_us + 50;
        let client = (self.index % CLIENTS) as usize;
        let started_us = self.free_at_us[client];
        self.free_at_us[client] = started_us + elapsed_us;
        let tokens = 20 + (self.unit() * 50.0) as u64;
        let line = &mut self.line;
        (line.index, line.prompt_sha256) = (self.index, Digest::of(&self.index.to_le_bytes()));
        (line.started_us, line.last_attempt_started_us) = (started_us, started_us);
        (line.elapsed_us, line.headers_us, line.connect_us) = (elapsed_us, Some(90), Some(120));
        self.index += 1;
        let seen = line.observation.as_mut().expect("it was chosen for its stream");
        seen.elapsed_us = elapsed_us;
        seen.arrivals_us.clear();
        seen.arrivals_us.push(first_us);
        seen.arrivals_us.extend(gaps);
        (seen.output_events, seen.generated_events) = (EVENTS as u64, EVENTS as u64);
        let (first, last) = (Some(first_us), Some(last_us));
        (seen.first_event_us, seen.first_output_us, seen.last_output_us) = (first, first, last);
        (seen.first_generated_us, seen.last_generated_us) = (first, last);
        (seen.first_reasoning_us, seen.first_content_us) = (None, first);
        if let Some(usage) = &mut seen.usage {
            (usage.completion_tokens, usage.prompt_tokens) = (Some(tokens), Some(512));
        }
        line
    }
}

/// A figure of this process's memory, in bytes.
fn memory(name: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).with_context(|| format!("/proc/self/status says no {name}"))
}

fn cpu_time() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("getrusage")?;
    let time = |time: nix::sys::time::TimeVal| {
        Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1_000)
    };
    Ok(time(usage.user_time()) + time(usage.system_time()))
}
