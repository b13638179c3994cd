//! Flags of `run` and `turnover` that do something only beside others. One that would do nothing is refused: whoever
//! gave it expects something of it. What two flags never are together stands at the flags themselves
//! (`conflicts_with`).
//!
//! Invariant: each flag of `run` has a row here, or does something beside all that clap lets through.

use std::borrow::Cow;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command as ClapCommand, CommandFactory, FromArgMatches};

use super::config;
use super::hints::hinted;
use super::run::{Arrival, BASE_URL, RunArgs, RunFormat, SearchFor};
use super::shard::AskedShard;
use super::{Cli, Command};

/// A flag, when it does something, and what to do when it does not.
struct Effect {
    /// Its id.
    flag: &'static str,
    acts: fn(&RunArgs) -> bool,
    advice: &'static str,
}

const EFFECTS: &[Effect] = &[
    Effect {
        flag: "format",
        acts: |run| run.output.format != RunFormat::Vllm || has_vllm_block(run),
        advice: "--format vllm prints what one measured cell after the other came to, and --dry-run, \
                 --search and turnover runs have no such block: choose another --format",
    },
    Effect {
        flag: "base_url",
        acts: |run| !run.server.simulate,
        advice: "--base-url names a server, and --simulate starts one: leave one of them out",
    },
    Effect {
        flag: "weights",
        acts: |run| run.server.base_url.len() > 1,
        advice: "--weights says how several addresses share the requests of a run: give --base-url more \
                 than once, or leave --weights out",
    },
    Effect {
        flag: "server_metrics",
        acts: |run| run.server.base_url.len() < 2,
        advice: "--server-metrics asks one server, and several have the requests: leave it out, or give \
                 one --base-url",
    },
    Effect {
        flag: "api_key_env",
        acts: |run| !run.server.simulate,
        advice: "--api-key-env: the server that --simulate starts gets no key; leave one of them out",
    },
    Effect {
        flag: "proxy",
        acts: |run| !run.server.simulate,
        advice: "--proxy: the server that --simulate starts is on this machine; leave one of them out",
    },
    Effect {
        flag: "proxy_from_env",
        acts: |run| !run.server.simulate,
        advice: "--proxy-from-env: the server that --simulate starts is on this machine; leave one of \
                 them out",
    },
    Effect {
        flag: "retry_pause",
        acts: |run| run.limits.retries > 0,
        advice: "--retry-pause limits the pauses before requests are sent again: add --retries, or leave \
                 --retry-pause out",
    },
    Effect {
        flag: "nonce",
        acts: |run| run.prompts.dataset.is_some(),
        advice: "--nonce marks the prompts of a --dataset, and synthetic prompts are marked anyway: \
                 add --dataset, or leave --nonce out",
    },
    Effect {
        flag: "no_grade",
        acts: |run| run.prompts.dataset.is_some(),
        advice: "--no-grade keeps the answers to a --dataset from being graded: add --dataset, or leave \
                 --no-grade out",
    },
    Effect {
        flag: "repeat",
        acts: |run| run.prompts.dataset.is_some(),
        advice: "--repeat uses the lines of a --dataset again: add --dataset, or leave --repeat out",
    },
    Effect {
        flag: "nonce_seed",
        acts: |run| run.prompts.dataset.is_none() || run.prompts.nonce,
        advice: "--nonce-seed: the prompts of a --dataset are marked with --nonce only; add --nonce, \
                 or leave --nonce-seed out",
    },
    Effect {
        flag: "prefixes",
        acts: |run| run.prompts.prefix_tokens.is_some(),
        advice: "--prefixes counts the beginnings that --prefix-tokens makes: add --prefix-tokens, \
                 or leave --prefixes out",
    },
    Effect {
        flag: "duration",
        acts: |run| !is_staged(run),
        advice: "--duration: the stages of --concurrency or --request-rate have lengths of their \
                 own; leave --duration out, or give a number without stages",
    },
    Effect {
        flag: "trace",
        acts: |run| run.prompts.dataset.is_some(),
        advice: "--trace sends the lines of a --dataset when their \"at_ms\" says: add --dataset",
    },
    Effect {
        flag: "arrival",
        acts: sends_by_rate,
        advice: "--arrival spreads requests that are sent by a rate: add --request-rate or --search \
                 rate, or leave --arrival out",
    },
    Effect {
        flag: "burstiness",
        acts: |run| sends_by_rate(run) && run.load.arrival == Arrival::Gamma,
        advice: "--burstiness shapes gamma arrivals only: add --arrival gamma (with --request-rate \
                 or --search rate), or leave --burstiness out",
    },
    Effect {
        flag: "arrival_seed",
        acts: |run| sends_by_rate(run) && run.load.arrival != Arrival::Constant,
        advice: "--arrival-seed draws random arrivals only: add --request-rate or --search rate \
                 without --arrival constant, or leave --arrival-seed out",
    },
    Effect {
        flag: "max_concurrency",
        acts: |run| run.load.request_rate.is_some() || run.load.trace,
        advice: "--max-concurrency limits a rate or a trace, and a closed loop has its \
                 --concurrency: add --request-rate or --trace, or give --concurrency instead",
    },
    Effect {
        flag: "search",
        acts: |run| !run.goals.goodput.is_empty(),
        advice: "--search looks for the most at which goals hold: give them with --goodput, such as \
                 --goodput ttft:500",
    },
    Effect {
        flag: "shard",
        acts: |run| !is_search(run),
        advice: "--shard carries out a part of one run, and --search measures many: search from one \
                 machine, or give the load itself",
    },
    Effect {
        flag: "shard",
        acts: |run| !run.server.simulate,
        advice: "--shard: --simulate would start a server for each shard: start `streamgauge sim` and give \
                 its address with --base-url",
    },
    Effect {
        flag: "shard",
        acts: |run| run.prompts.determinism.is_none(),
        advice: "--shard: the answers that --determinism holds against each other belong to one run: leave \
                 one of them out",
    },
    Effect {
        flag: "shard",
        acts: |run| !run.instrument.calibrate,
        advice: "--shard: --calibrate would put figures of this machine into the plan, which is the same for \
                 every shard: run `streamgauge calibrate` by itself",
    },
    Effect {
        flag: "shard",
        acts: |run| !has_several_cells(run),
        advice: "--shard carries out a part of one cell: give one --concurrency or --request-rate, and the \
                 command once for each",
    },
    Effect {
        flag: "shard",
        acts: |run| !needs_nonce_seed(run),
        advice: "--shard: each shard would mark the prompts by a random number of its own, and have another \
                 plan: give all of them the same --nonce-seed, such as the number of the job",
    },
    Effect {
        flag: "shards",
        acts: |run| run.shard.shard == Some(AskedShard::Auto),
        advice: "--shards is for --shard auto, where it finds a number alone: add --shard auto, or write \
                 --shard I/N",
    },
    Effect {
        flag: "start_at",
        acts: |run| !is_search(run),
        advice: "--start-at is the beginning of one run, and --search measures many: leave one of them out",
    },
    Effect {
        flag: "start_at",
        acts: |run| !has_several_cells(run),
        advice: "--start-at is the beginning of one cell: give one --concurrency or --request-rate, or leave \
                 --start-at out",
    },
    Effect {
        flag: "attainment",
        acts: is_search,
        advice: "--attainment is what a search asks of its probes: add --search, or leave \
                 --attainment out (the share of good requests stands in each record)",
    },
    Effect {
        flag: "search_from",
        acts: is_search,
        advice: "--search-from says where a search begins: add --search, or leave --search-from out",
    },
    Effect {
        flag: "search_to",
        acts: is_search,
        advice: "--search-to says where a search ends: add --search, or leave --search-to out",
    },
    Effect {
        flag: "search_step",
        acts: |run| run.goals.search == Some(SearchFor::Rate),
        advice: "--search-step is a step between rates, and numbers of clients have neighbours: add \
                 --search rate, or leave --search-step out",
    },
    Effect {
        flag: "grace",
        acts: |run| run.load.duration.is_some() || is_staged(run),
        advice: "--grace is for requests under way when the time of a load is over: add --duration \
                 or stages, or leave --grace out",
    },
    Effect {
        flag: "steady_window",
        acts: |run| has_tables_of_a_run(run),
        advice: "--steady-window prints tables, and neither --dry-run nor --search nor a turnover nor \
                 --format json or vllm has any of a run: leave one of them out (records hold both \
                 windows)",
    },
    Effect {
        flag: "format",
        acts: |run| !run.output.dry_run || run.output.format == RunFormat::Json,
        advice: "--format: what --dry-run prints is JSON; leave --format out, or say --format json",
    },
];

impl Cli {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// When it is none, or has a flag that does nothing.
    pub(crate) fn read<I>(line: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item: Into<OsString>>,
    {
        let line: Vec<OsString> = line.into_iter().map(Into::into).collect();
        match config::expand(&line).map_err(|error| config::plain(&error))? {
            Some(config) => Self::read_whole(&config.line).map_err(|error| config.placed(error)),
            None => Self::read_whole(&line),
        }
    }

    /// The same of a line on which everything stands.
    fn read_whole(line: &[OsString]) -> Result<Self, clap::Error> {
        let mut command = without_empty_variables(Self::command(), line);
        let matches =
            command.try_get_matches_from_mut(line).map_err(|error| hinted(error, line))?;
        let cli = Self::from_arg_matches(&matches)?;
        let run = match &cli.command {
            Command::Run(args) => Some(Cow::Borrowed(&**args)),
            Command::Turnover(args) => args.as_run().ok().map(Cow::Owned),
            _ => None,
        };
        if let (Some(args), Some((name, given))) = (&run, matches.subcommand())
            && args.resume.is_some()
            && let Some(flag) = decided_by_the_plan(given)
        {
            let command = command.find_subcommand_mut(name).expect("it was just parsed");
            let text = format!(
                "{flag}: with --resume the plan is that of the run directory: leave {flag} out, or begin \
                 a run of its own"
            );
            let mut error = command.error(ErrorKind::ArgumentConflict, text);
            error.insert(ContextKind::InvalidArg, ContextValue::String(flag));
            return Err(error);
        }
        if let (Some(args), Some((name, given))) = (run, matches.subcommand())
            && let Some(idle) = without_effect(&args, given)
        {
            let command = command.find_subcommand_mut(name).expect("it was just parsed");
            let mut error = command.error(ErrorKind::ArgumentConflict, idle.advice);
            let flag = format!("--{}", idle.flag.replace('_', "-"));
            error.insert(ContextKind::InvalidArg, ContextValue::String(flag));
            return Err(error);
        }
        Ok(cli)
    }
}

/// The command, which takes a variable without a value as one that is not set: shells and CI systems
/// leave such behind. A run that is taken up has the address of its plan.
fn without_empty_variables(command: ClapCommand, line: &[OsString]) -> ClapCommand {
    let is_empty = std::env::var_os(BASE_URL).is_some_and(|value| value.is_empty());
    let is_resume = |word: &OsString| word.to_str().is_some_and(|it| it.starts_with("--resume"));
    if !is_empty && !line.iter().any(is_resume) {
        return command;
    }
    command.mut_subcommand("run", |run| run.mut_arg("base_url", |flag| flag.env(None)))
}

/// The first flag that was written and does nothing. What comes from the environment or by default
/// may do nothing.
fn without_effect(args: &RunArgs, given: &ArgMatches) -> Option<&'static Effect> {
    let known = |flag: &str| given.ids().any(|id| id.as_str() == flag);
    EFFECTS.iter().find(|effect| {
        known(effect.flag)
            && given.value_source(effect.flag) == Some(ValueSource::CommandLine)
            && !(effect.acts)(args)
    })
}

/// Flags that have their say when a run is taken up: the way in, of which a plan holds no secret, and how
/// results are shown.
const BESIDE_RESUME: &[&str] = &[
    "api_key_env",
    "base_url",
    "ca_file",
    "client_cert",
    "client_key",
    "config",
    "dataset",
    "endpoint_path",
    "format",
    "header",
    "insecure",
    "no_progress",
    "proxy",
    "proxy_from_env",
    "resume",
    "simulate",
    "steady_window",
    "wait_ready",
];

/// A flag that was written and that the plan of a run directory decides.
fn decided_by_the_plan(given: &ArgMatches) -> Option<String> {
    let mut written = given.ids().map(|id| id.as_str()).filter(|id| {
        matches!(given.try_contains_id(id), Ok(true))
            && given.value_source(id) == Some(ValueSource::CommandLine)
    });
    let is_group =
        |id: &str| id.starts_with(char::is_uppercase) || ["server", "shape"].contains(&id);
    let decided = written.find(|id| !BESIDE_RESUME.contains(id) && !is_group(id))?;
    Some(format!("--{}", decided.replace('_', "-")))
}

fn sends_by_rate(run: &RunArgs) -> bool {
    run.load.request_rate.is_some() || run.goals.search == Some(SearchFor::Rate)
}

/// Whether a run is printed in tables.
fn prints_pages(run: &RunArgs) -> bool {
    matches!(run.output.format, RunFormat::Markdown | RunFormat::Table)
}

/// Whether tables of a run's figures are printed.
fn has_tables_of_a_run(run: &RunArgs) -> bool {
    has_vllm_block(run) && prints_pages(run)
}

/// Whether a run has what vLLM's block shows.
fn has_vllm_block(run: &RunArgs) -> bool {
    !run.output.dry_run && !is_search(run) && run.prompts.turnover.is_none()
}

fn is_search(run: &RunArgs) -> bool {
    run.goals.search.is_some()
}

fn has_several_cells(run: &RunArgs) -> bool {
    run.load.concurrency.as_ref().is_some_and(|clients| clients.cells.len() > 1)
        || run.load.request_rate.as_ref().is_some_and(|rates| rates.cells.len() > 1)
}

/// Whether prompts are marked by a number that would be drawn anew each time.
fn needs_nonce_seed(run: &RunArgs) -> bool {
    let is_marked =
        run.prompts.nonce || (run.prompts.dataset.is_none() && !run.prompts.allow_cached_prompts);
    is_marked && run.prompts.nonce_seed.is_none()
}

fn is_staged(run: &RunArgs) -> bool {
    run.load.concurrency.as_ref().is_some_and(|clients| clients.staged)
        || run.load.request_rate.as_ref().is_some_and(|rates| rates.staged)
}

#[cfg(test)]
mod tests;
