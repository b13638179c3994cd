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

fn is_staged(run: &RunArgs) -> bool {
    run.load.concurrency.as_ref().is_some_and(|clients| clients.staged)
        || run.load.request_rate.as_ref().is_some_and(|rates| rates.staged)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Flags that do something beside all that clap lets through. Those that differ by API or server
    /// are refused where these are known.
    const ALWAYS: &[&str] = &[
        "allow_cached_prompts",
        "api",
        "ca_file",
        "calibrate",
        "capture",
        "cell",
        "client_cert",
        "client_key",
        "concurrency",
        "config",
        "connect_timeout",
        "dataset",
        "deployment",
        "determinism",
        "dry_run",
        "endpoint_path",
        "expect_model",
        "extra_body",
        "goodput",
        "header",
        "help",
        "idle_timeout",
        "ignore_eos",
        "input_tokens",
        "insecure",
        "intervals",
        "keep_answers",
        "kernel_stamps",
        "max_error_rate",
        "max_failure_ratio",
        "model",
        "name",
        "no_length_probes",
        "no_progress",
        "no_resend",
        "out",
        "output_tokens",
        "prefix_tokens",
        "prompt_seed",
        "request_rate",
        "requests",
        "resume",
        "retries",
        "seed",
        "server_metrics",
        "simulate",
        "temperature",
        "time_basis",
        "timeout",
        #[cfg(feature = "tokenizer")]
        "tokenizer",
        "wait_ready",
        "warmup",
        "workers",
    ];

    #[test]
    fn each_flag_is_known_to_act_always_or_beside_others() {
        let mut command = Cli::command();
        command.build();
        let run = command.find_subcommand("run").unwrap();
        let flags: BTreeSet<&str> =
            run.get_arguments().map(|flag| flag.get_id().as_str()).collect();
        let conditional = EFFECTS.iter().map(|effect| effect.flag);
        assert_eq!(flags, ALWAYS.iter().copied().chain(conditional).collect());
    }

    /// What is said to a `run` of a simulated server with these flags.
    fn said(more: &str) -> Option<String> {
        let line = ["streamgauge", "run", "--simulate"].into_iter().chain(more.split_whitespace());
        Cli::read(line).err().map(|error| error.to_string())
    }

    #[test]
    fn a_flag_without_effect_is_refused_with_the_flag_that_it_needs() {
        for (more, named) in [
            ("--base-url http://h", ["--base-url", "--simulate"]),
            ("--api-key-env KEY", ["--api-key-env", "--simulate"]),
            ("--proxy http://p:1", ["--proxy", "--simulate"]),
            ("--proxy-from-env", ["--proxy-from-env", "--simulate"]),
            ("--nonce", ["--nonce", "--dataset"]),
            ("--retry-pause 5", ["--retry-pause", "--retries"]),
            ("--repeat", ["--repeat", "--dataset"]),
            ("--dataset d --trace --repeat", ["--repeat", "--trace"]),
            ("--dataset d --nonce-seed 1", ["--nonce-seed", "--nonce"]),
            ("--dataset d --prompt-seed 1", ["--prompt-seed", "--dataset"]),
            ("--dataset d --input-tokens 64", ["--input-tokens", "--dataset"]),
            ("--dataset d --prefix-tokens 64", ["--prefix-tokens", "--dataset"]),
            ("--dataset d --allow-cached-prompts", ["--allow-cached-prompts", "--dataset"]),
            ("--allow-cached-prompts --nonce-seed 1", ["--nonce-seed", "--allow-cached-prompts"]),
            ("--prefixes 2", ["--prefixes", "--prefix-tokens"]),
            ("--concurrency 1..4:5s --duration 5", ["--duration", "--concurrency"]),
            ("--request-rate 1:5s --duration 5", ["--duration", "--request-rate"]),
            ("--trace", ["--trace", "--dataset"]),
            ("--arrival constant", ["--arrival", "--request-rate"]),
            ("--concurrency 4 --arrival gamma", ["--arrival", "--request-rate"]),
            ("--dataset d --trace --arrival poisson", ["--arrival", "--request-rate"]),
            (
                "--search concurrency --goodput e2e:9 --arrival gamma",
                ["--arrival", "--search rate"],
            ),
            ("--burstiness 2", ["--burstiness", "--arrival gamma"]),
            ("--request-rate 2 --burstiness 2", ["--burstiness", "--arrival gamma"]),
            ("--arrival-seed 2", ["--arrival-seed", "--request-rate"]),
            (
                "--request-rate 2 --arrival constant --arrival-seed 2",
                ["--arrival-seed", "--arrival constant"],
            ),
            ("--max-concurrency 2", ["--max-concurrency", "--request-rate"]),
            ("--concurrency 4 --max-concurrency 2", ["--max-concurrency", "--concurrency"]),
            (
                "--search rate --goodput e2e:9 --max-concurrency 2",
                ["--max-concurrency", "--search"],
            ),
            ("--search rate --goodput e2e:9 --calibrate", ["--calibrate", "--search"]),
            ("--search rate", ["--search", "--goodput"]),
            ("--goodput e2e:9 --attainment 0.9", ["--attainment", "--search"]),
            ("--search-from 2", ["--search-from", "--search"]),
            ("--search-to 2", ["--search-to", "--search"]),
            (
                "--search concurrency --goodput e2e:9 --search-step 0.1",
                ["--search-step", "--search rate"],
            ),
            ("--grace 5", ["--grace", "--duration"]),
            ("--request-rate 5 --requests 9 --grace 5", ["--grace", "--duration"]),
            ("--dry-run --format markdown", ["--format", "--dry-run"]),
            ("--format vllm --dry-run", ["--format vllm", "--dry-run"]),
            ("--format vllm --steady-window", ["--steady-window", "--format json or vllm"]),
            ("--format json --steady-window", ["--steady-window", "--format json"]),
        ] {
            let said = said(more).unwrap_or_else(|| panic!("{more}: taken"));
            for flag in named {
                assert!(said.contains(flag), "{more}: {flag} is not in {said}");
            }
        }
    }

    #[test]
    fn beside_resume_only_the_way_in_and_the_output_are_told() {
        let said = |more: &str| {
            let line = ["streamgauge", "run", "--resume", "d"].into_iter();
            Cli::read(line.chain(more.split_whitespace())).err().map(|error| error.to_string())
        };
        for more in ["", "--header a:b --api-key-env KEY", "--base-url http://h --format json"] {
            assert_eq!(said(more), None, "{more}");
        }
        for (more, flag) in [
            ("--requests 5", "--requests"),
            ("--concurrency 2 --header a:b", "--concurrency"),
            ("--model m", "--model"),
            ("--no-grade --dataset d", "--no-grade"),
            ("--out o", "--out"),
        ] {
            let said = said(more).unwrap_or_else(|| panic!("{more}: taken"));
            assert!(said.contains(&format!("leave {flag} out")), "{more}: {said}");
        }
    }

    #[test]
    fn a_flag_that_acts_is_taken() {
        for more in [
            "--request-rate 5 --arrival gamma --burstiness 2 --arrival-seed 3",
            "--search rate --goodput e2e:9 --arrival gamma --burstiness 2 --search-step 0.1",
            "--dataset d --nonce --nonce-seed 3",
            "--nonce-seed 3 --prefix-tokens 9 --prefixes 2",
            "--dataset d --trace --max-concurrency 3",
            "--duration 5 --grace 1",
            "--concurrency 1..4:5s --grace 1",
            "--request-rate 1:5s --grace 1",
            "--search concurrency --goodput e2e:9 --duration 5 --grace 1 --attainment 0.9",
            "--dry-run --format json",
            "--steady-window --format markdown",
        ] {
            assert_eq!(said(more), None, "{more}");
        }
    }
}
