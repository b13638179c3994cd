//! What `run` can be told. Other commands that measure take the same groups.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, ValueEnum};
use streamgauge_schema::{Dialect, Goal, Identifier, Load};
use streamgauge_workload::{Clients, Rates};

use super::Format;
use super::instrument::InstrumentArgs;
use super::shard::ShardArgs;
use super::turnover::ControlledWord;
use super::values::{
    Sweep, Temperature, Weights, parse_clients, parse_goal, parse_identifier, parse_rates,
    parse_temperature, parse_weights,
};
use crate::progress::View;
use crate::repeated::MOST_REPETITIONS;

/// Variable that holds the address of the server where no flag does.
pub(super) const BASE_URL: &str = "OPENAI_BASE_URL";

/// Arguments of `run`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("server").required(true).multiple(true)
    .args(["base_url", "simulate", "resume"])))]
#[command(after_help = "\
Examples:
  streamgauge run --simulate
  streamgauge run --base-url http://host:11434 --api ollama-chat --model NAME
  export OPENAI_BASE_URL=http://127.0.0.1:8000    # or --base-url each time
  streamgauge run --concurrency 1,8,32 --requests 200
  streamgauge run --request-rate 4,8 --duration 60
  streamgauge run --search rate --goodput ttft:500 e2e:5000
  streamgauge run --dataset prompts.jsonl --ignore-eos --name build-7
  streamgauge run --concurrency 64 --shard 1/4 --nonce-seed 7
  streamgauge run --resume runs/build-7-20261130T150821Z-840a")]
pub(crate) struct RunArgs {
    /// Flags of this command by their long names, in TOML; those given here win
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Take up a run that broke off: ask what is missing in this run directory, by its own plan
    #[arg(long, value_name = "RUNDIR")]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) prompts: PromptArgs,
    #[command(flatten)]
    pub(crate) answers: AnswerArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
    #[command(flatten)]
    pub(crate) goals: GoalArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) end: EndArgs,
    #[command(flatten)]
    pub(crate) instrument: InstrumentArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The server, and the way in.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Address of the server, with or without /v1; may be given again: several share the
    /// requests
    ///
    /// unix:///path/of.sock is a Unix-domain socket, and unix:///path/of.sock:/v1 has a path there
    #[arg(long, env = BASE_URL, hide_env_values = true, value_name = "URL")]
    #[arg(aliases = ["target", "url"])]
    pub(crate) base_url: Vec<String>,
    /// How several addresses share the requests, a whole number for each in their order, as 2,1
    /// [default: alike]
    #[arg(long, hide_short_help = true, value_name = "WEIGHTS", value_parser = parse_weights)]
    pub(crate) weights: Option<Weights>,
    /// Measure a simulated server that is started for this run, whatever OPENAI_BASE_URL says
    #[arg(long)]
    pub(crate) simulate: bool,
    /// API to speak: anthropic-messages, ollama-chat, ollama-generate, openai-chat,
    /// openai-completions, openai-responses, sglang-generate or tgi-generate
    #[arg(long, value_name = "DIALECT", default_value_t = Dialect::OpenaiChat)]
    pub(crate) api: Dialect,
    /// Path of the API below the address, with a query if it needs one; of that only the names are
    /// kept [default: the API's own, as /v1/chat/completions]
    #[arg(long, hide_short_help = true, value_name = "PATH")]
    #[arg(aliases = ["custom-endpoint", "endpoint"])]
    pub(crate) endpoint_path: Option<String>,
    /// Model to ask for [default: the only one that the server lists]
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// Model that must answer [default: the one asked for]
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) expect_model: Option<String>,
    /// Environment variable that holds the API key [default: OPENAI_API_KEY; ANTHROPIC_API_KEY for
    /// anthropic-messages]
    #[arg(long, value_name = "VARIABLE")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) api_key_env: Option<String>,
    /// Header to send, "Name: value"; may be given again
    #[arg(long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// Certificate authorities to trust instead of the platform's, in PEM
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Certificate to come with, in PEM, followed by those that it was signed by
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "client_key")]
    pub(crate) client_cert: Option<PathBuf>,
    /// Private key of --client-cert, in PEM
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
    /// Do not verify the server's certificate; the record says so, and no gate is judged by it unless
    /// that is allowed
    #[arg(long, hide_short_help = true, conflicts_with = "ca_file")]
    pub(crate) insecure: bool,
    /// HTTP proxy to go through, http://host:port or http://user:password@host:port; the user is kept
    /// nowhere
    #[arg(long, hide_short_help = true, value_name = "URL", conflicts_with = "proxy_from_env")]
    pub(crate) proxy: Option<String>,
    /// Go through the HTTP proxy that https_proxy, http_proxy or all_proxy name, unless no_proxy names
    /// the server
    #[arg(long, hide_short_help = true)]
    pub(crate) proxy_from_env: bool,
    /// Wait until the server answers, at most so many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    #[arg(aliases = ["ready-check-timeout-sec"])]
    pub(crate) wait_ready: Option<f64>,
}

/// What is asked.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Prompts")]
pub(crate) struct PromptArgs {
    /// File of prompts, one JSON object a line, or in the ShareGPT layout
    ///
    /// A line is {"id", "prompt" | "messages", "max_tokens"?, "expect"?, "at_ms"?}; only a chat API
    /// takes messages. At most 4 GiB, and 64 MiB a line
    #[arg(long, value_name = "FILE")]
    #[arg(aliases = ["dataset-path"])]
    pub(crate) dataset: Option<PathBuf>,
    /// Put a line of its own before each prompt of the dataset, so that no two are equal
    #[arg(long, hide_short_help = true)]
    pub(crate) nonce: bool,
    /// Grade nothing, whatever the lines of the dataset "expect"
    #[arg(long, hide_short_help = true)]
    pub(crate) no_grade: bool,
    /// Use the dataset again from its first line when it is too short
    #[arg(long, hide_short_help = true, conflicts_with_all = ["nonce", "trace"])]
    pub(crate) repeat: bool,
    /// Ask each prompt so many times, in rounds, and say which get the same answer each time;
    /// `determinism` holds another build's against them. --requests counts the prompts, answers are
    /// kept, and none is graded
    #[arg(long, hide_short_help = true, value_name = "TIMES")]
    #[arg(conflicts_with_all = ["duration", "repeat", "search", "trace"])]
    #[arg(value_parser = clap::value_parser!(u64).range(2..=MOST_REPETITIONS))]
    pub(crate) determinism: Option<u64>,
    /// Length of a synthetic prompt, as the server counts it
    #[arg(long, value_name = "TOKENS", default_value_t = 512, conflicts_with = "dataset")]
    #[arg(aliases = ["input-len", "isl", "random-input-len", "synthetic-input-tokens-mean"])]
    pub(crate) input_tokens: u64,
    /// Length of a beginning that synthetic prompts share, out of --input-tokens. The warm-up has
    /// beginnings of its own, unless the deployment says warm_engine_shared_prefixes
    #[arg(long, hide_short_help = true, value_name = "TOKENS", conflicts_with = "dataset")]
    pub(crate) prefix_tokens: Option<u64>,
    /// Different shared beginnings; prompt after prompt takes the next
    #[arg(long, hide_short_help = true, value_name = "COUNT", default_value_t = 1)]
    pub(crate) prefixes: u64,
    /// Seed of the synthetic prompts
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SEED",
        default_value_t = 0,
        conflicts_with = "dataset"
    )]
    pub(crate) prompt_seed: u64,
    /// Seed of the lines that keep this run's prompts apart from any other run's [default: a new
    /// one each time]
    #[arg(long, hide_short_help = true, value_name = "SEED")]
    pub(crate) nonce_seed: Option<u64>,
    /// Send synthetic prompts without such lines: a server that has seen them may answer from its
    /// cache
    #[arg(long, hide_short_help = true, conflicts_with_all = ["dataset", "nonce_seed"])]
    pub(crate) allow_cached_prompts: bool,
    /// Take four tokens for three words instead of asking the server to count a few prompts
    #[arg(long, hide_short_help = true)]
    pub(crate) no_length_probes: bool,
    /// Count tokens by this tokenizer.json instead of asking the server
    #[cfg(feature = "tokenizer")]
    #[arg(long, hide_short_help = true, value_name = "FILE", conflicts_with = "no_length_probes")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// A marker and a word, which only `turnover` asks for.
    #[arg(skip)]
    pub(crate) turnover: Option<ControlledWord>,
}

impl PromptArgs {
    /// The flag that says where lengths in words come from, if one does.
    pub(crate) fn lengths_from(&self) -> Option<&'static str> {
        #[cfg(feature = "tokenizer")]
        if self.tokenizer.is_some() {
            return Some("--tokenizer");
        }
        self.no_length_probes.then_some("--no-length-probes")
    }
}

/// What the answers are to be.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Answers")]
pub(crate) struct AnswerArgs {
    /// Tokens after which an answer stops
    #[arg(long, value_name = "TOKENS", default_value_t = 128)]
    #[arg(aliases = ["osl", "output-len", "output-tokens-mean", "random-output-len"])]
    pub(crate) output_tokens: u64,
    /// Ask the server to go on after an end token; refused where the API has no member for it
    #[arg(long)]
    pub(crate) ignore_eos: bool,
    /// Sampling temperature, or none to send none, as some models refuse any
    #[arg(long, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    #[arg(value_parser = parse_temperature)]
    pub(crate) temperature: Temperature,
    /// Sampling seed to send; refused where the API has no member for it
    #[arg(long, hide_short_help = true, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// JSON object whose members are added to every request body; those of its options,
    /// sampling_params or parameters to the API's own object of that name
    #[arg(long, hide_short_help = true, value_name = "JSON")]
    pub(crate) extra_body: Option<String>,
}

/// How many requests are sent when.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Load")]
#[command(group(ArgGroup::new("shape").args(["concurrency", "request_rate", "trace"])))]
pub(crate) struct LoadArgs {
    /// Measured requests in each cell [default: 64; with a duration, what it holds]
    #[arg(long, value_name = "COUNT")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Load::MAX_REQUESTS))]
    #[arg(aliases = ["max-requests", "num-prompts", "num-requests", "request-count"])]
    pub(crate) requests: Option<u64>,
    /// Seconds after which no further request begins
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    #[arg(aliases = ["benchmark-duration", "max-seconds"])]
    pub(crate) duration: Option<f64>,
    /// Requests under way at once; several numbers make one cell each [default: 1]
    ///
    /// A new one begins as soon as one has ended. Numbers that change with time are one cell:
    /// 1..64:60s,64:5m
    #[arg(long, value_name = "N[,N…]", value_parser = parse_clients)]
    pub(crate) concurrency: Option<Sweep<Clients>>,
    /// Requests a second, whether or not others have ended; several rates make one cell each
    ///
    /// Rates that change with time are one cell: 10:30s,10..50:1m
    #[arg(long, value_name = "R[,R…]", value_parser = parse_rates)]
    pub(crate) request_rate: Option<Sweep<Rates>>,
    /// Send each request when the "at_ms" of its line in the dataset says
    #[arg(long)]
    pub(crate) trace: bool,
    /// How requests of a rate are spread
    #[arg(long, value_enum, default_value_t)]
    #[arg(aliases = ["arrival-pattern"])]
    pub(crate) arrival: Arrival,
    /// Shape of gamma arrivals: below 1 they come in bursts, above 1 more evenly
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SHAPE",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub(crate) burstiness: f64,
    /// Seed of random arrivals
    #[arg(long, hide_short_help = true, value_name = "SEED", default_value_t = 0)]
    pub(crate) arrival_seed: u64,
    /// Most requests under way at once where they are sent by a rate or a trace; others wait, and
    /// are late
    #[arg(long, hide_short_help = true, value_name = "N", conflicts_with = "concurrency")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) max_concurrency: Option<u64>,
    /// Requests sent before each cell and left out of its figures
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=Load::MAX_REQUESTS))]
    #[arg(aliases = ["num-warmups", "warmup-request-count", "warmup-requests"])]
    pub(crate) warmup: u64,
    /// Name of the cell, by which runs are compared [default: its load, such as c8 or r12.5-poisson]
    #[arg(long, hide_short_help = true, value_name = "NAME", value_parser = parse_identifier)]
    pub(crate) cell: Option<Identifier>,
}

/// How requests of a rate are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrival {
    /// At equal distances
    Constant,
    /// By a gamma distribution of --burstiness
    Gamma,
    /// As from very many users who do not know of each other
    #[default]
    Poisson,
}

/// What a request must keep to be good, and the search for the most that keeps it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Goals")]
pub(crate) struct GoalArgs {
    /// What a good request keeps, in milliseconds: ttft:500 ttfc:800 tpot:40 e2e:5000
    #[arg(long, value_name = "GOAL", num_args = 1.., value_parser = parse_goal)]
    pub(crate) goodput: Vec<Goal>,
    /// Look for the highest concurrency or rate at which the goals hold; each probe is a run
    #[arg(long, value_enum, value_name = "WHAT")]
    #[arg(conflicts_with_all = ["concurrency", "request_rate", "trace", "cell", "max_concurrency"])]
    #[arg(conflicts_with = "calibrate")]
    pub(crate) search: Option<SearchFor>,
    /// Share of requests that must be good for the goals to hold
    #[arg(
        long,
        hide_short_help = true,
        value_name = "RATIO",
        default_value_t = 0.95,
        allow_negative_numbers = true
    )]
    pub(crate) attainment: f64,
    /// Where the search begins
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1.0)]
    pub(crate) search_from: f64,
    /// The most that the search tries
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1024.0)]
    pub(crate) search_to: f64,
    /// Step between rates at which the search ends, as a share of the rate
    #[arg(long, hide_short_help = true, value_name = "RATIO", default_value_t = 0.05)]
    pub(crate) search_step: f64,
}

/// What a search varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchFor {
    /// Requests under way at once, in a closed loop
    Concurrency,
    /// Requests a second
    Rate,
}

/// When to stop waiting.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Longest time for a whole request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, allow_negative_numbers = true)]
    #[arg(aliases = ["request-timeout-seconds"])]
    pub(crate) timeout: f64,
    /// Longest silence of the server within a request, in seconds
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SECONDS",
        default_value_t = 120.0,
        allow_negative_numbers = true
    )]
    pub(crate) idle_timeout: f64,
    /// Longest time to make a connection, in seconds
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SECONDS",
        default_value_t = 10.0,
        allow_negative_numbers = true
    )]
    pub(crate) connect_timeout: f64,
    /// Share of requests that may fail before the figures stop being eligible
    #[arg(
        long,
        hide_short_help = true,
        value_name = "RATIO",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(crate) max_failure_ratio: f64,
    /// Stop a cell when more than this share of its ended requests has failed, once 20 have ended
    #[arg(long, hide_short_help = true, value_name = "RATIO", allow_negative_numbers = true)]
    pub(crate) max_error_rate: Option<f64>,
    /// Send a request again, so many times at most, that finds no connection or that the server refuses
    /// by 429 or 503 with a Retry-After; latencies count from the first attempt
    #[arg(long, hide_short_help = true, value_name = "COUNT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=100))]
    pub(crate) retries: u64,
    /// Longest pause before a request is sent again, in seconds; one for which the server asks a longer
    /// one is not sent again
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SECONDS",
        default_value_t = 30.0,
        allow_negative_numbers = true
    )]
    pub(crate) retry_pause: f64,
    /// Do not send a request again when a reused connection turns out closed
    #[arg(long, hide_short_help = true)]
    pub(crate) no_resend: bool,
}

/// What happens when the time of a load is over.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct EndArgs {
    /// How long requests under way may go on after the duration, in seconds
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SECONDS",
        default_value_t = 30.0,
        allow_negative_numbers = true
    )]
    #[arg(aliases = ["benchmark-grace-period"])]
    pub(crate) grace: f64,
}

impl OutputArgs {
    /// How progress is shown.
    pub(crate) fn view(&self) -> View {
        match self.format {
            RunFormat::Vllm => View::of(self.no_progress, Format::Json),
            _ => View::of(self.no_progress, self.page_format()),
        }
    }

    /// How pages are laid out; beside vLLM's block as for a terminal.
    pub(crate) fn page_format(&self) -> Format {
        match self.format {
            RunFormat::Json => Format::Json,
            RunFormat::Markdown => Format::Markdown,
            RunFormat::Table | RunFormat::Vllm => Format::Table,
        }
    }
}

/// How the results of a run are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// Exactly one JSON document
    Json,
    /// Markdown, for a pull request
    Markdown,
    /// A table for a terminal
    #[default]
    Table,
    /// The block that `vllm bench serve` ends with, as far as its figures are the same
    Vllm,
}

/// Where results go.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Name of the run [default: the deployment's]
    #[arg(long, value_name = "NAME", value_parser = parse_identifier)]
    pub(crate) name: Option<Identifier>,
    /// What is being measured, in TOML or JSON: image, hardware, runtime, …
    #[arg(long, value_name = "FILE")]
    pub(crate) deployment: Option<PathBuf>,
    /// Folder in which run directories are made
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    /// Keep what measured requests are answered in answers.jsonl, which is private, to `grade` it later
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_answers: bool,
    /// Keep the raw bytes of each response with their arrival times, to `observe` them again
    #[arg(long, hide_short_help = true)]
    pub(crate) capture: bool,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: RunFormat,
    /// Show no progress on stderr
    #[arg(long, hide_short_help = true)]
    #[arg(aliases = ["disable-tqdm"])]
    pub(crate) no_progress: bool,
    /// Print the figures of the steady window too
    #[arg(long, hide_short_help = true)]
    pub(crate) steady_window: bool,
    /// Print the resolved plan, each cell's first request and who would be contacted
    ///
    /// Nothing is sent but questions for models and version
    #[arg(long)]
    pub(crate) dry_run: bool,
}
