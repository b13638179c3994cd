//! `streamgauge sim`: serves a simulated model with known timing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde::Deserialize;
use streamgauge_sim::{ConnectionRule, FaultRule, Jitter, Sim, SimConfig};

use crate::console;
use crate::exit::Exit;
use crate::input::read_text;
use crate::signals::{stop_on_signal, stopped};

/// Arguments of `sim`.
#[derive(Debug, Args)]
#[command(after_help = "\
The server keeps an account of each request at /sim/account: when it was received and when its \
first and last event were written, by the machine's monotonic clock.

Examples:
  streamgauge sim --listen 127.0.0.1:8000 --ttft-ms 200 --interval-ms 10
  streamgauge sim --fault 10=status:503 --fault 25=reset:4
  streamgauge sim --fault 50=cross --fault 7=drop:1")]
pub(crate) struct SimArgs {
    /// Address to listen at; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    /// Name of the model
    #[arg(long, value_name = "NAME", default_value = "sim-model")]
    model: String,
    /// From a request to its first output, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50.0, allow_negative_numbers = true)]
    ttft_ms: f64,
    /// From one event to the next, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10.0, allow_negative_numbers = true)]
    interval_ms: f64,
    /// Added to the time to first output for each word of the prompt, in microseconds
    #[arg(long, value_name = "US", default_value_t = 0)]
    prefill_us_per_word: u64,
    /// Cache the beginnings of prompts, which then take no prefill, and say so in usage
    #[arg(long)]
    prompt_cache: bool,
    /// Tokens in each event
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    tokens_per_event: u32,
    /// Tokens of an answer when a request does not limit them
    #[arg(long, value_name = "COUNT", default_value_t = 128)]
    answer_tokens: u32,
    /// Share of an answer's tokens that is reasoning
    #[arg(long, value_name = "RATIO", default_value_t = 0.0)]
    reasoning_ratio: f64,
    /// Spread of the timing: standard deviation of the logarithm
    #[arg(long, value_name = "SIGMA", default_value_t = 0.0)]
    jitter: f64,
    /// Seed of answers and jitter
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Events that share a write where they are due at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    events_per_write: u32,
    /// Keep the write time of every event, for /sim/account and /sim/stamps
    #[arg(long)]
    event_times: bool,
    /// Ask the kernel when each request arrived
    #[arg(long)]
    kernel_stamps: bool,
    /// Requests that the account remembers; the oldest are forgotten
    #[arg(long, value_name = "COUNT", default_value_t = 65_536)]
    account_limit: usize,
    /// End when standard input is closed, as it is when the program that started this one ends
    #[arg(long)]
    end_with_stdin: bool,
    /// Close the connection after each stream although it was promised to stay
    #[arg(long)]
    close_after_stream: bool,
    /// What the counter of generated tokens at /metrics adds for each token; other than 1 it counts wrong
    #[arg(long, value_name = "RATIO", default_value_t = 1.0)]
    counter_ratio: f64,
    /// Let every Nth request fail: N=status:503, N=reset:4, N=stall:4, N=close:4, N=end:4,
    /// N=restart:500; or answer it wrong: N=cross (with the next request), N=drop:2 and N=length:5
    /// (words), N=change:3 (the word at that place), N=model, N=think; or spoil the bytes that carry
    /// it: N=redirect:307, N=html:503, N=drip:20, N=close:100b and so on, see the simulator's README
    #[arg(long, value_name = "N=FAULT")]
    fault: Vec<String>,
    /// Let every Nth connection fail when its first bytes come: N=close, N=reset, N=silent
    #[arg(long, value_name = "N=FAULT")]
    connection_fault: Vec<String>,
    /// Answers that the server knows: one JSON object a line, {"prompt", "answer"}
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
}

/// Serves until it is stopped.
pub(crate) async fn sim(args: &SimArgs) -> anyhow::Result<Exit> {
    let stop = stop_on_signal("stopping")?;
    let config = SimConfig {
        account_limit: args.account_limit,
        answer_tokens: args.answer_tokens,
        answers: args.answers.as_deref().map(known_answers).transpose()?.unwrap_or_default(),
        close_after_stream: args.close_after_stream,
        connection_faults: args
            .connection_fault
            .iter()
            .map(|text| connection_rule(text))
            .collect::<Result<_, _>>()?,
        counter_ratio: args.counter_ratio,
        event_times: args.event_times,
        events_per_write: args.events_per_write,
        faults: args.fault.iter().map(|text| fault_rule(text)).collect::<Result<_, _>>()?,
        interval: millis("--interval-ms", args.interval_ms)?,
        jitter: if args.jitter == 0.0 {
            Jitter::None
        } else {
            Jitter::LogNormal { sigma: args.jitter }
        },
        kernel_stamps: args.kernel_stamps,
        model: args.model.clone(),
        prefill_per_word: Duration::from_micros(args.prefill_us_per_word),
        prompt_cache: args.prompt_cache,
        reasoning_ratio: args.reasoning_ratio,
        seed: args.seed,
        tokens_per_event: args.tokens_per_event,
        ttft: millis("--ttft-ms", args.ttft_ms)?,
        ..SimConfig::default()
    };
    let server = Sim::start(config, args.listen).await?;
    console::result(&format!("http://{}", server.addr()))?;
    tokio::select! {
        () = stopped(stop) => {}
        () = stdin_closed(), if args.end_with_stdin => {}
    }
    server.shutdown().await;
    Ok(Exit::Done)
}

/// Returns when nobody can write to standard input any more.
async fn stdin_closed() {
    let (closed, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // What comes does not matter, and neither does why no more comes.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = closed.send(());
    });
    let _ = end.await;
}

fn millis(flag: &str, value: f64) -> anyhow::Result<Duration> {
    if !(0.0..=3.6e6).contains(&value) {
        bail!("{flag} {value} is not within 0 to 3,600,000 ms");
    }
    Ok(Duration::from_secs_f64(value / 1000.0))
}

/// A prompt and what is right.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownAnswer {
    prompt: String,
    answer: String,
}

fn known_answers(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = read_text(path)?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let known = lines.map(|(line, number)| {
        let KnownAnswer { prompt, answer } = serde_json::from_str(line)
            .with_context(|| format!("--answers {} line {number}", path.display()))?;
        Ok((prompt, answer))
    });
    known.collect()
}

fn fault_rule(text: &str) -> anyhow::Result<FaultRule> {
    let (every, kind) = rule("--fault", text, "10=status:503")?;
    Ok(FaultRule { every, kind })
}

fn connection_rule(text: &str) -> anyhow::Result<ConnectionRule> {
    let (every, kind) = rule("--connection-fault", text, "10=reset")?;
    Ok(ConnectionRule { every, kind })
}

/// How often a fault strikes, and which.
fn rule<K>(flag: &str, text: &str, example: &str) -> anyhow::Result<(u64, K)>
where
    K: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let (every, kind) = text
        .split_once('=')
        .with_context(|| format!("{flag} {text:?} is not N=FAULT, such as {example}"))?;
    let every = every.parse().with_context(|| format!("{flag} {text:?}: N is no number"))?;
    let kind = kind.parse().with_context(|| format!("{flag} {text:?}"))?;
    Ok((every, kind))
}
