//! The command line.

mod config;
mod effects;
mod hints;
pub(crate) mod instrument;
pub(crate) mod run;
pub(crate) mod shard;
pub(crate) mod turnover;
pub(crate) mod values;

use clap::{Parser, Subcommand, ValueEnum};

use self::run::RunArgs;
use self::turnover::TurnoverArgs;
pub(crate) use self::values::parse_identifier;
use crate::commands::{
    calibrate::CalibrateArgs, compare::CompareArgs, completions::CompletionsArgs,
    decide::DecideArgs, demo::DemoArgs, determinism::DeterminismArgs, export::ExportArgs,
    grade::GradeArgs, import::ImportArgs, init::InitArgs, merge::MergeArgs, observe::ObserveArgs,
    qualify::QualifyArgs, record::RecordArgs, report::ReportArgs, schema::SchemaArgs, sim::SimArgs,
    verify::VerifyArgs,
};

/// Measures a streaming language-model server, and decides on the evidence whether a build of it
/// may ship.
#[derive(Debug, Parser)]
#[command(name = "streamgauge", version, arg_required_else_help = true, after_help = EXIT_CODES)]
#[command(max_term_width = 120)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done, and every judged gate passed
  1    a gate or a strict turnover failed, a record did not verify, or
       `decide` refused to promote against a gate
  2    bad arguments, unreadable or malformed input, differing conditions
  3    inconclusive, not evaluated or ineligible
  4    the server was unreachable, or nothing succeeded
  130  interrupted; what had finished is saved
  141  whoever read the output left before its end: no verdict was told";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure two simulated builds and compare them, to see how it all looks
    Demo(DemoArgs),
    /// Write a commented file of flags or a plan, to begin with
    Init(InitArgs),
    /// Measure one deployment: one cell, or one for each concurrency
    Run(Box<RunArgs>),
    /// Keep short requests in flight, and hold each answer to a marker and a word of its own
    Turnover(Box<TurnoverArgs>),
    /// Measure this client's own error on this machine
    Calibrate(CalibrateArgs),
    /// Hold a candidate's runs against a baseline's
    Compare(CompareArgs),
    /// Write what was decided on a comparison, and list it in the ledger
    Decide(DecideArgs),
    /// Take the blocks of a plan, both builds in turn, and judge them
    Qualify(QualifyArgs),
    /// Recompute and check records, comparisons, decisions, ledgers and run directories
    Verify(VerifyArgs),
    /// Build the record of a run directory from its plan and journal
    Record(RecordArgs),
    /// Make one run of the shards that several machines carried out
    Merge(MergeArgs),
    /// Write what people and other tools read, from records
    Report(ReportArgs),
    /// Grade the answers that a run kept
    Grade(GradeArgs),
    /// Say which prompts are answered the same each time, and where two builds part
    Determinism(DeterminismArgs),
    /// Extract an observation from a saved response
    Observe(ObserveArgs),
    /// Turn the result file of another tool into records
    Import(ImportArgs),
    /// Write a record under the names of another tool
    Export(ExportArgs),
    /// Serve a simulated model with known timing
    Sim(SimArgs),
    /// Print the JSON Schema of a document
    Schema(SchemaArgs),
    /// Print the script by which a shell completes commands and flags
    Completions(CompletionsArgs),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Exactly one JSON document
    Json,
    /// Markdown, for a pull request
    Markdown,
    /// A table for a terminal
    #[default]
    Table,
}
