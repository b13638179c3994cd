//! Arguments of `turnover`, in the habit of those of `run`.
//!
//! Invariant: what both commands have is one flag with one meaning: the arguments become those of a
//! run, whose prompts and load they decide.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgGroup, Args, Command, FromArgMatches, ValueEnum};
use streamgauge_schema::{Identifier, OutputPolicy, TurnoverReport};
use streamgauge_workload::{Clients, TurnoverPrompts, WorkloadError};

use super::instrument::InstrumentArgs;
use super::run::{LimitArgs, OutputArgs, RunArgs, RunFormat, ServerArgs};
use super::values::{Sweep, Temperature, parse_identifier, parse_temperature};

/// What the flags of a turnover's own stand under.
pub(crate) const HEADING: &str = "Turnover";
/// Most runs of one command, and most requests of one run: all that fail stand in a record.
const MOST_REPEATS: u64 = 1_000;
pub(crate) const MOST_REQUESTS: u64 = 100_000;
/// Tokens that a word may take, and those of a marker and of what ends an answer.
const TOKENS_PER_WORD: u64 = 8;
const TOKENS_BESIDES: u64 = 64;

/// Arguments of `turnover`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("server").required(true).multiple(true)
    .args(["base_url", "simulate"])))]
#[command(after_help = "\
Each request asks for its own marker and then the word, a number of times; as soon as one has ended, the \
next one is sent. The markers find answers that cross in a batch, the words steps that a scheduler loses \
or repeats. A strict run fails when one answer is not exact.

Examples:
  export OPENAI_BASE_URL=http://127.0.0.1:8000    # or --base-url each time
  streamgauge turnover --concurrency 12
  streamgauge turnover --concurrency 64 --waves 20 --repeats 2
  streamgauge turnover --policy observe --word blue --count 64")]
#[command(mut_arg("format", without_vllm), mut_arg("steady_window", |flag| flag.hide(true)))]
#[command(mut_arg("base_url", one_address), mut_arg("weights", |flag| flag.hide(true)))]
pub(crate) struct TurnoverArgs {
    /// Flags of this command by their long names, in TOML; those given here win
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) asked: AskedArgs,
    #[command(flatten)]
    pub(crate) answers: TurnoverAnswerArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) instrument: InstrumentArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A turnover keeps one server's batches full: several share them, and none is.
fn one_address(flag: Arg) -> Arg {
    let help = "Address of the server, with or without /v1";
    let sockets = "unix:///path/of.sock is a Unix-domain socket, and unix:///path/of.sock:/v1 has a path there";
    flag.action(ArgAction::Set).help(help).long_help(format!("{help}\n\n{sockets}"))
}

/// The formats of a run but for vLLM's block, which has no line for what a turnover finds.
fn without_vllm(format: Arg) -> Arg {
    let formats = RunFormat::value_variants().iter().filter(|it| **it != RunFormat::Vllm);
    let named = PossibleValuesParser::new(formats.filter_map(ValueEnum::to_possible_value));
    format.value_parser(named.try_map(|name| RunFormat::from_str(&name, false)))
}

/// What is asked, how often and of how many at once.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct AskedArgs {
    /// Requests under way at once
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) concurrency: u64,
    /// How often the requests under way are all replaced, at least 4
    #[arg(long, value_name = "COUNT", default_value_t = TurnoverReport::MIN_WAVES)]
    #[arg(value_parser = clap::value_parser!(u64).range(TurnoverReport::MIN_WAVES..))]
    pub(crate) waves: u64,
    /// Runs, each with markers of its own
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MOST_REPEATS))]
    pub(crate) repeats: u64,
    /// Word to repeat
    #[arg(long, value_name = "WORD", default_value = "apple")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) word: String,
    /// How often each answer has to repeat it
    #[arg(long, value_name = "COUNT", default_value_t = 32)]
    pub(crate) count: u64,
    /// What a wrong answer means: strict lets the run fail, observe reports it
    #[arg(long, value_name = "POLICY", default_value_t = OutputPolicy::Strict)]
    pub(crate) policy: OutputPolicy,
    /// Requests sent before each run and left out of it
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MOST_REQUESTS))]
    pub(crate) warmup: u64,
    /// Seed of the markers [default: a new one each time]
    #[arg(long, value_name = "SEED")]
    pub(crate) nonce_seed: Option<u64>,
    /// Name of the cell [default: its load, such as c8]
    #[arg(long, value_name = "NAME", value_parser = parse_identifier)]
    pub(crate) cell: Option<Identifier>,
}

/// What the answers are to be, besides the word.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Answers")]
pub(crate) struct TurnoverAnswerArgs {
    /// Tokens after which an answer stops [default: 8 for each word, and 64]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) output_tokens: Option<u64>,
    /// Sampling temperature, or none to send none, as some models refuse any
    #[arg(long, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    #[arg(value_parser = parse_temperature)]
    pub(crate) temperature: Temperature,
    /// Sampling seed to send; refused where the API has no member for it
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// JSON object whose members are added to every request body, such as a grammar
    #[arg(long, value_name = "JSON")]
    pub(crate) extra_body: Option<String>,
}

/// What a turnover asks for, beside the markers.
#[derive(Clone, Debug)]
pub(crate) struct ControlledWord {
    pub(crate) word: String,
    pub(crate) count: u64,
    pub(crate) policy: OutputPolicy,
}

impl ControlledWord {
    /// The prompts that ask for it, with the markers of a seed.
    ///
    /// # Errors
    /// When it cannot be asked for; the flag is named.
    pub(crate) fn prompts(&self, seed: u64) -> anyhow::Result<TurnoverPrompts> {
        TurnoverPrompts::new(&self.word, self.count, self.policy, seed).map_err(|error| {
            let flag = match error {
                WorkloadError::TurnoverCount { .. } => "--count",
                _ => "--word",
            };
            anyhow::Error::new(error).context(flag)
        })
    }
}

impl TurnoverArgs {
    /// Requests of a run: those that are under way first, and all that take their places.
    ///
    /// # Errors
    /// When they are more than a run has.
    pub(crate) fn requests(&self) -> anyhow::Result<u64> {
        let AskedArgs { concurrency, waves, .. } = self.asked;
        let requests = waves.checked_add(1).and_then(|waves| waves.checked_mul(concurrency));
        match requests.filter(|requests| *requests <= MOST_REQUESTS) {
            Some(requests) => Ok(requests),
            None => anyhow::bail!(
                "--waves {waves} of --concurrency {concurrency} are more than {MOST_REQUESTS} requests; \
                 give fewer waves, or --repeats"
            ),
        }
    }

    /// The same as arguments of `run`.
    ///
    /// # Errors
    /// When the requests are more than a run has.
    pub(crate) fn as_run(&self) -> anyhow::Result<RunArgs> {
        let Self { config, server, asked, answers, limits, instrument, output } = self.clone();
        let mut run = default_run();
        run.load.requests = Some(self.requests()?);
        run.load.concurrency =
            Some(Sweep { cells: vec![Clients::constant(asked.concurrency)], staged: false });
        run.load.warmup = asked.warmup;
        run.load.cell = asked.cell;
        run.prompts.nonce_seed = asked.nonce_seed;
        run.answers.output_tokens = answers.output_tokens.unwrap_or_else(|| {
            asked.count.saturating_mul(TOKENS_PER_WORD).saturating_add(TOKENS_BESIDES)
        });
        run.answers.temperature = answers.temperature;
        run.answers.seed = answers.seed;
        run.answers.extra_body = answers.extra_body;
        run.prompts.turnover =
            Some(ControlledWord { word: asked.word, count: asked.count, policy: asked.policy });
        Ok(RunArgs { config, server, limits, instrument, output, ..run })
    }
}

/// The arguments of a `run` that nobody gave any.
fn default_run() -> RunArgs {
    let run = RunArgs::augment_args(Command::new("run"));
    let given = run
        .try_get_matches_from(["run", "--simulate"])
        .and_then(|given| RunArgs::from_arg_matches(&given));
    given.expect("every flag of `run` but its server has a default, or needs none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command as Asked};

    fn read(more: &str) -> Result<TurnoverArgs, String> {
        let words = ["streamgauge", "turnover", "--base-url", "http://h"].into_iter();
        match Cli::read(words.chain(more.split_whitespace())) {
            Ok(Cli { command: Asked::Turnover(args) }) => Ok(*args),
            Ok(_) => panic!("another command"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn waves_come_after_those_that_are_first_under_way() {
        for (more, requests) in [
            ("", 40),
            ("--concurrency 12", 60),
            ("--concurrency 256 --waves 39", 10_240),
            ("--concurrency 1 --waves 99999", 100_000),
        ] {
            let run = read(more).unwrap().as_run().unwrap();
            assert_eq!(run.load.requests, Some(requests), "{more}");
        }
        assert!(read("--waves 3").unwrap_err().contains("--waves"));
        for more in ["--concurrency 2 --waves 50000", "--waves 18446744073709551615"] {
            let error = read(more).unwrap().as_run().unwrap_err().to_string();
            assert!(error.contains("more than 100000 requests"), "{error}");
        }
    }

    #[test]
    fn answers_have_room_for_every_word() {
        let tokens = |more| read(more).unwrap().as_run().unwrap().answers.output_tokens;
        assert_eq!(tokens("--count 24"), 256);
        assert_eq!(tokens("--count 24 --output-tokens 100"), 100);
        assert_eq!(tokens("--count 18446744073709551615"), u64::MAX);
    }
}
