//! `streamgauge run`: measures one deployment, one cell for each concurrency.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use streamgauge_client::Endpoint;
use streamgauge_schema::{Dialect, Identifier, KernelStamps, Load, Stage, digest_bytes};
use streamgauge_sim::{SimConfig, spawn_thread};

use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::measure::{Measured, measure};
use crate::planning::{Asked, Cell, meet, plan};
use crate::show;
use crate::signals::{SAVING, stop_on_signal};

/// Arguments of `run`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("server").required(true).multiple(true)
    .args(["base_url", "simulate"])))]
#[command(after_help = "\
Examples:
  streamgauge run --simulate
  streamgauge run --base-url http://127.0.0.1:8000 --concurrency 1,8,32 --requests 200
  streamgauge run --base-url https://host/v1 --dataset prompts.jsonl --ignore-eos --name build-7
  streamgauge run --base-url http://127.0.0.1:11434 --api ollama-chat --model NAME")]
pub(crate) struct RunArgs {
    /// Address of the server, with or without /v1
    #[arg(long, env = "OPENAI_BASE_URL", value_name = "URL", help_heading = "Server")]
    pub(crate) base_url: Option<String>,
    /// Measure a simulated server that is started for this run, whatever --base-url says
    #[arg(long, help_heading = "Server")]
    pub(crate) simulate: bool,
    /// API to speak: anthropic-messages, ollama-chat, ollama-generate, openai-chat,
    /// openai-completions, openai-responses, sglang-generate or tgi-generate
    #[arg(long, value_name = "DIALECT", default_value_t = Dialect::OpenaiChat)]
    #[arg(help_heading = "Server")]
    pub(crate) api: Dialect,
    /// Path of the API below the address [default: the API's own, as /v1/chat/completions]
    #[arg(long, value_name = "PATH", help_heading = "Server")]
    pub(crate) endpoint_path: Option<String>,
    /// Model to ask for [default: the only one that the server lists]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub(crate) model: Option<String>,
    /// Model that must answer [default: the one asked for]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub(crate) expect_model: Option<String>,
    /// Environment variable that holds the API key [default: OPENAI_API_KEY; ANTHROPIC_API_KEY for
    /// anthropic-messages]
    #[arg(long, value_name = "VARIABLE", help_heading = "Server")]
    pub(crate) api_key_env: Option<String>,
    /// Header to send, "Name: value"; may be given again
    #[arg(long, value_name = "HEADER", help_heading = "Server")]
    pub(crate) header: Vec<String>,
    /// Certificate authorities to trust instead of the platform's, in PEM
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Prompts: one JSON object a line, {"id", "prompt" | "messages", "max_tokens"?, "expect"?};
    /// only a chat API takes messages
    #[arg(long, value_name = "FILE", help_heading = "Prompts")]
    pub(crate) dataset: Option<PathBuf>,
    /// Put a line of its own before each prompt, so that no two are equal
    #[arg(long, requires = "dataset", help_heading = "Prompts")]
    pub(crate) nonce: bool,
    /// Use the dataset again from its first line when it is too short
    #[arg(long, requires = "dataset", conflicts_with = "nonce", help_heading = "Prompts")]
    pub(crate) repeat: bool,
    /// Rough length of a synthetic prompt: four tokens are taken for three words
    #[arg(long, value_name = "TOKENS", default_value_t = 512, conflicts_with = "dataset")]
    #[arg(help_heading = "Prompts")]
    pub(crate) input_tokens: u64,
    /// Seed of the synthetic prompts
    #[arg(long, value_name = "SEED", default_value_t = 0, conflicts_with = "dataset")]
    #[arg(help_heading = "Prompts")]
    pub(crate) prompt_seed: u64,

    /// Tokens after which an answer stops
    #[arg(long, value_name = "TOKENS", default_value_t = 128, help_heading = "Answers")]
    pub(crate) output_tokens: u64,
    /// Ask the server to go on after an end token; refused where the API has no member for it
    #[arg(long, help_heading = "Answers")]
    pub(crate) ignore_eos: bool,
    /// Sampling temperature, or none to send none, as some models refuse any
    #[arg(long, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    #[arg(value_parser = parse_temperature, help_heading = "Answers")]
    pub(crate) temperature: Temperature,
    /// Sampling seed to send; refused where the API has no member for it
    #[arg(long, value_name = "SEED", help_heading = "Answers")]
    pub(crate) seed: Option<u64>,
    /// JSON object whose members are added to every request body; those of its options,
    /// sampling_params or parameters to the API's own object of that name
    #[arg(long, value_name = "JSON", help_heading = "Answers")]
    pub(crate) extra_body: Option<String>,

    /// Measured requests in each cell
    #[arg(long, value_name = "COUNT", default_value_t = 64, help_heading = "Load")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Load::MAX_REQUESTS))]
    pub(crate) requests: u64,
    /// Requests under way at once; several make one cell each
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=65_536), help_heading = "Load")]
    pub(crate) concurrency: Vec<u64>,
    /// Requests sent before each cell and left out of its figures
    #[arg(long, value_name = "COUNT", default_value_t = 0, help_heading = "Load")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=Load::MAX_REQUESTS))]
    pub(crate) warmup: u64,
    /// Name of the cell, by which runs are compared [default: its load, such as c8]
    #[arg(long, value_name = "NAME", value_parser = parse_identifier, help_heading = "Load")]
    pub(crate) cell: Option<Identifier>,

    /// Longest time for a whole request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, allow_negative_numbers = true)]
    #[arg(help_heading = "Limits")]
    pub(crate) timeout: f64,
    /// Longest silence of the server within a request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, allow_negative_numbers = true)]
    #[arg(help_heading = "Limits")]
    pub(crate) idle_timeout: f64,
    /// Longest time to make a connection, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, allow_negative_numbers = true)]
    #[arg(help_heading = "Limits")]
    pub(crate) connect_timeout: f64,
    /// Share of requests that may fail before the figures stop being eligible
    #[arg(long, value_name = "RATIO", default_value_t = 0.0, allow_negative_numbers = true)]
    #[arg(help_heading = "Limits")]
    pub(crate) max_failure_ratio: f64,
    /// Do not send a request again when a reused connection turns out closed
    #[arg(long, help_heading = "Limits")]
    pub(crate) no_resend: bool,

    /// Connections that carry the kernel's receive stamps: all, sampled or off
    #[arg(long, value_name = "WHICH", default_value_t = KernelStamps::Sampled)]
    #[arg(help_heading = "Instrument")]
    pub(crate) kernel_stamps: KernelStamps,

    /// Name of the run [default: the deployment's]
    #[arg(long, value_name = "NAME", value_parser = parse_identifier, help_heading = "Output")]
    pub(crate) name: Option<Identifier>,
    /// What is being measured, in TOML or JSON: image, hardware, runtime, …
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) deployment: Option<PathBuf>,
    /// Folder in which run directories are made
    #[arg(long, value_name = "FOLDER", default_value = "runs", help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// Keep the raw bytes of each response with their arrival times, to `observe` them again
    #[arg(long, help_heading = "Output")]
    pub(crate) capture: bool,
    /// How results are printed
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Format,
    /// Print the resolved plan and the first request's body, and send nothing but the question
    /// for models
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
}

/// What is asked of the sampling: a temperature, or nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Temperature(pub(crate) Option<f64>);

fn parse_temperature(text: &str) -> Result<Temperature, String> {
    match text {
        "none" => Ok(Temperature(None)),
        number => number
            .parse()
            .map(|number| Temperature(Some(number)))
            .map_err(|_| "a temperature is a number, or the word none".to_owned()),
    }
}

fn parse_identifier(text: &str) -> Result<Identifier, String> {
    Identifier::new(text).ok_or_else(|| {
        "a name is letters, digits, '.', '_' and '-', beginning with a letter or digit".to_owned()
    })
}

/// Runs the command.
pub(crate) async fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    if args.cell.is_some() && args.concurrency.len() > 1 {
        bail!("--cell names one cell, and --concurrency asks for {}", args.concurrency.len());
    }
    if args.simulate && args.api != Dialect::OpenaiChat {
        bail!("--api {}: the simulated server speaks {} only", args.api, Dialect::OpenaiChat);
    }
    let distinct: BTreeSet<_> = args.concurrency.iter().collect();
    if distinct.len() < args.concurrency.len() {
        bail!("--concurrency names a number twice; a cell is measured once in a run");
    }
    let asked = Asked::read(args)?;
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let simulated =
        args.simulate.then(|| spawn_thread(SimConfig::default(), any_port)).transpose()?;
    let base_url = match (&simulated, &args.base_url) {
        (Some(server), _) => format!("http://{}", server.addr()),
        (None, Some(url)) => url.clone(),
        (None, None) => bail!("no server: give --base-url or --simulate"),
    };
    let server = meet(args, &base_url).await?;
    let cells: Vec<Cell> = args
        .concurrency
        .iter()
        .map(|&concurrency| plan(args, &asked, &server, concurrency))
        .collect::<Result<_, _>>()?;
    if args.dry_run {
        return dry_run(&server.endpoint, &cells);
    }
    let stop = stop_on_signal(SAVING)?;
    let mut exit = Exit::Done;
    let mut measured = Vec::new();
    for cell in &cells {
        let result = measure(cell, &server.access, &args.out, stop.clone()).await?;
        exit = exit.max(result.exit());
        if args.format != Format::Json {
            console::result(&show::run(&result, args.format))?;
        }
        measured.push(result);
        if *stop.borrow() {
            break;
        }
    }
    if args.format == Format::Json {
        console::result(&as_json(&measured)?)?;
    }
    Ok(exit)
}

/// One record, or a list of them where several cells were measured.
fn as_json(measured: &[Measured]) -> anyhow::Result<String> {
    let bytes = match measured {
        [only] => digest_bytes(&only.record)?,
        several => digest_bytes(&several.iter().map(|cell| &cell.record).collect::<Vec<_>>())?,
    };
    for cell in measured {
        console::remark(&cell.dir.record().display().to_string());
    }
    String::from_utf8(bytes).context("canonical bytes are ASCII")
}

fn dry_run(endpoint: &Endpoint, cells: &[Cell]) -> anyhow::Result<Exit> {
    for cell in cells {
        let plan = String::from_utf8(digest_bytes(&cell.plan)?).context("the plan is ASCII")?;
        let first = cell.requests.request(Stage::Measured, 0);
        console::remark(&format!(
            "first request to {endpoint}, path {}:\n{}",
            endpoint.path(&cell.plan.target.endpoint_path),
            String::from_utf8_lossy(&first.body)
        ));
        console::result(&plan)?;
    }
    Ok(Exit::Done)
}
