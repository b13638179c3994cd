//! `cargo run --release -p streamgauge-benches --bin merge_shards [SHARDS] [REQUESTS]`: what `merge` takes
//! for so many shards of so many requests each, in time and memory. Build the command first
//! (`cargo build --release`): it is run as users run it, in a process of its own.
//!
//! The journals are invented and always the same: a closed loop of 64 clients a shard, 8 output events a
//! request. They go into a temporary folder (TMPDIR), about a kilobyte a request. Prints Markdown.

use std::fs::{self, File};
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use streamgauge_schema::{
    ClockState, Digest, EndReason, JournalBegun, JournalHeader, JournalLine, JournalTrailer,
    LoadShape, Plan, RequestLine, Shard, Stage, Timestamp, digest_bytes, read_typed,
};

const PLAN: &[u8] = include_bytes!("../../../crates/schema/tests/run/plan.json");
const JOURNAL: &str = include_str!("../../../crates/schema/tests/run/observations.jsonl");

const SHARDS: u64 = 100;
const REQUESTS: u64 = 100_000;
const CLIENTS: u64 = 64;
const EVENTS: u64 = 8;
/// When the first shard began, and how much later each further one did.
const START_US: i64 = 1_790_000_000_000_000;
const APART_US: u64 = 137;
/// What is wanted of the merge of 100 shards of 100,000 requests.
const WANTED_TIME: Duration = Duration::from_secs(60);
const WANTED_MIB: u64 = 1024;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let mut number = |otherwise| match args.next() {
        Some(text) => text.parse::<u64>().with_context(|| format!("{text} is no number")),
        None => Ok(otherwise),
    };
    let (shards, requests) = (number(SHARDS)?, number(REQUESTS)?);
    let command = std::env::current_exe()?.with_file_name("streamgauge");
    if !command.exists() {
        bail!("{} is not there: build it first, with the same profile", command.display());
    }
    let folder = tempfile::tempdir()?;
    let plan = plan(shards, requests)?;
    let from = Instant::now();
    let mut bytes = 0;
    for number in 1..=shards {
        let shard = Shard::new(number, shards).context("there are no such shards")?;
        bytes += write_shard(&folder.path().join(format!("shard-{number}")), &plan, shard)?;
    }
    let wrote = from.elapsed();
    let (took, cpu, peak_kib) = merge(&command, folder.path())?;
    writeln!(
        stdout().lock(),
        "| | |\n| --- | --- |\n\
         | shards, requests of each | {shards}, {requests} |\n\
         | journals | {} MiB, made in {:.1} s |\n\
         | merge | {:.1} s, of the processor {:.1} s (wanted of 100 times 100,000: at most {} s) |\n\
         | memory at most | {} MiB (wanted: at most {WANTED_MIB}) |",
        bytes >> 20,
        wrote.as_secs_f64(),
        took.as_secs_f64(),
        cpu.as_secs_f64(),
        WANTED_TIME.as_secs(),
        peak_kib >> 10,
    )?;
    Ok(())
}

fn plan(shards: u64, requests: u64) -> anyhow::Result<Plan> {
    let mut plan: Plan = read_typed(PLAN)?;
    (plan.load.requests, plan.load.warmup) = (shards * requests, 0);
    plan.load.shape = LoadShape::ClosedLoop { concurrency: shards * CLIENTS };
    Ok(plan)
}

/// Writes a shard's directory; gives the length of its journal.
fn write_shard(dir: &Path, plan: &Plan, shard: Shard) -> anyhow::Result<u64> {
    fs::create_dir(dir)?;
    fs::write(dir.join("plan.json"), digest_bytes(plan)?)?;
    let path = dir.join("observations.jsonl");
    let mut journal = BufWriter::new(File::create(&path)?);
    let mut write = |line: &JournalLine| -> anyhow::Result<()> {
        serde_json::to_writer(&mut journal, line)?;
        Ok(journal.write_all(b"\n")?)
    };
    let delay_us = APART_US * (shard.number() - 1);
    write(&JournalLine::Header(JournalHeader {
        journal_version: 1,
        plan_sha256: Digest::of_value(plan)?,
        started_at: Timestamp::from_unix_micros(START_US + delay_us as i64),
        started_monotonic_ns: None,
        listed_models: None,
        conditions: Vec::new(),
        shard: Some(shard),
    }))?;
    let clock = Some(ClockState { synchronised: true, max_error_us: 250 });
    write(&JournalLine::Begun(JournalBegun { at_us: 0, start_us: Some(0), clock }))?;
    let mut lines = Lines::new(shard)?;
    let all = (0..plan.load.requests).filter(|index| shard.has(&plan.load, *index));
    let mut count = 0;
    for index in all {
        write(lines.at(index))?;
        count += 1;
    }
    write(&JournalLine::Trailer(JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(i64::MAX / 2),
        lines: count,
        listed_models: None,
    }))?;
    journal.flush()?;
    Ok(fs::metadata(path)?.len())
}

/// Runs the command: how long it took, by the clock and of the processor, and its memory at most in KiB.
fn merge(command: &Path, folder: &Path) -> anyhow::Result<(Duration, Duration, u64)> {
    let out: PathBuf = folder.join("merged");
    let from = Instant::now();
    let ended = Command::new(command)
        .args([Path::new("merge"), folder, Path::new("--out"), &out])
        .stdout(Stdio::null())
        .status()?;
    let took = from.elapsed();
    if !ended.success() {
        bail!("merge ended with {ended}");
    }
    // It is the only child.
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let time = |time: nix::sys::time::TimeVal| {
        Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1_000)
    };
    let cpu = time(usage.user_time()) + time(usage.system_time());
    Ok((took, cpu, usage.max_rss() as u64))
}

/// Request lines of one shard, one in the place of the one before.
struct Lines {
    line: JournalLine,
    free_at_us: Vec<u64>,
    random: u64,
    count: u64,
}

impl Lines {
    fn new(shard: Shard) -> anyhow::Result<Self> {
        let lines = JOURNAL.lines().map(serde_json::from_str::<JournalLine>);
        let mut streams = lines.filter_map(Result::ok).filter(is_plain_stream);
        let line = streams.next().context("the sample journal has a plain stream")?;
        let free_at_us = vec![0; CLIENTS as usize];
        Ok(Self { line, free_at_us, random: shard.number(), count: 0 })
    }

    /// A long-tailed time around so many microseconds, by Knuth's MMIX generator, whose upper bits are good
    /// enough here.
    fn time_us(&mut self, around_us: f64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let unit = (self.random >> 11) as f64 / (1_u64 << 53) as f64;
        (around_us * (0.5 - (1.0 - unit).ln())) as u64
    }

    fn at(&mut self, index: u64) -> &JournalLine {
        let first_us = self.time_us(200_000.0);
        let gaps: Vec<u64> = (1..EVENTS).map(|_| self.time_us(15_000.0)).collect();
        let last_us = first_us + gaps.iter().sum::<u64>();
        let client = (self.count % CLIENTS) as usize;
        let started_us = self.free_at_us[client];
        self.free_at_us[client] = started_us + last_us;
        self.count += 1;
        let JournalLine::Request(line) = &mut self.line else { unreachable!("it was chosen") };
        fill(line, index, started_us, [first_us, last_us]);
        if let Some(seen) = &mut line.observation {
            seen.arrivals_us.clear();
            seen.arrivals_us.push(first_us);
            seen.arrivals_us.extend(gaps);
        }
        &self.line
    }
}

fn is_plain_stream(line: &JournalLine) -> bool {
    let JournalLine::Request(line) = line else { return false };
    let seen = line.observation.as_ref();
    line.stage == Stage::Measured
        && seen.is_some_and(|seen| seen.succeeded() && seen.not_generated.is_empty())
}

fn fill(line: &mut RequestLine, index: u64, started_us: u64, [first_us, last_us]: [u64; 2]) {
    (line.index, line.prompt_sha256) = (index, Digest::of(&index.to_le_bytes()));
    (line.started_us, line.last_attempt_started_us) = (started_us, started_us);
    (line.elapsed_us, line.headers_us, line.connect_us) = (last_us, Some(90), None);
    (line.observer_lag_us, line.output_lags_us, line.end_lag_us) = (None, None, None);
    if index.is_multiple_of(8) {
        line.observer_lag_us = Some((0..=EVENTS).map(|read| 20 + (index + read) % 60).collect());
    }
    let Some(seen) = &mut line.observation else { return };
    seen.elapsed_us = last_us;
    (seen.output_events, seen.generated_events) = (EVENTS, EVENTS);
    let (first, last) = (Some(first_us), Some(last_us));
    (seen.first_event_us, seen.first_output_us, seen.last_output_us) = (first, first, last);
    (seen.first_generated_us, seen.last_generated_us) = (first, last);
    (seen.first_reasoning_us, seen.first_content_us) = (None, first);
    if let Some(usage) = &mut seen.usage {
        (usage.completion_tokens, usage.prompt_tokens) = (Some(EVENTS + index % 24), Some(512));
    }
}
