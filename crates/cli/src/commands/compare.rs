//! `streamgauge compare`: holds a candidate's runs against a baseline's.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use streamgauge_client::write_new;
use streamgauge_metrics::{
    BlockRules, GateOutcome, MatchingCondition, Pairing, Turnovers, compare_blocks, compare_point,
    verdict,
};
use streamgauge_schema::{
    Comparison, ComparisonV2, GateVerdict, Gates, Json, Layout, RunRecord, file_bytes,
};

use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::input::read_text;
use crate::records::{load, load_all};
use crate::show;

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge compare runs/old-… runs/new-…
  streamgauge compare --baseline runs/old-c1 runs/old-c8 --candidate runs/new-c1 runs/new-c8 \\
      --out comparison.json
  streamgauge compare --rule interval --baseline runs/old-* --candidate runs/new-*")]
pub(crate) struct CompareArgs {
    /// The baseline and the candidate, where each is one path
    #[arg(num_args = 2, value_names = ["BASELINE", "CANDIDATE"])]
    #[arg(conflicts_with_all = ["baseline", "candidate"], required_unless_present = "baseline")]
    pair: Vec<PathBuf>,
    /// Records, run directories or folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "candidate")]
    baseline: Vec<PathBuf>,
    /// Records, run directories or folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "baseline")]
    candidate: Vec<PathBuf>,
    /// How it is judged
    #[arg(long, value_enum, default_value_t)]
    rule: Rule,
    /// How the runs of a cell belong together, for the interval rule
    #[arg(long, value_enum, default_value_t)]
    pairing: Pairs,
    /// Gates in TOML, for the interval rule [default: median TTFT, E2E and decode rate, 5 percent
    /// each]
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,
    /// Go on although this condition differs; may be given again
    #[arg(long, value_name = "FIELD")]
    allow_differing: Vec<MatchingCondition>,
    /// File to write the comparison to
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How a comparison is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// Each figure within 5 percent of the baseline's; noise is not considered
    #[default]
    Point,
    /// Several runs of each side, with the noise between them
    Interval,
}

/// How the runs of a cell belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Pairs {
    /// Blocks: by their starts each two runs in turn, one of each side
    #[default]
    ByTime,
    /// Blocks: the n-th that is named of one side with the n-th of the other
    AsGiven,
    /// No blocks: the runs were taken apart in time, on different machines, or imported
    Unpaired,
}

/// Compares and judges.
pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    if let Some(out) = &args.out
        && out.exists()
    {
        bail!("--out {}: the file exists, and is not written over", out.display());
    }
    let (baseline, candidate) = match args.pair.as_slice() {
        [baseline, candidate] => (load(baseline)?, load(candidate)?),
        _ => (load_all(&args.baseline)?, load_all(&args.candidate)?),
    };
    declared_differently(&baseline, &candidate)?;
    match args.rule {
        Rule::Point => by_points(args, &baseline, &candidate),
        Rule::Interval => by_intervals(args, &baseline, &candidate),
    }
}

fn by_points(
    args: &CompareArgs,
    baseline: &[RunRecord],
    candidate: &[RunRecord],
) -> anyhow::Result<Exit> {
    if args.gates.is_some() {
        bail!("--gates: the point rule has gates of its own; --rule interval takes others");
    }
    for record in baseline {
        if candidate.iter().any(|other| other.run_id() == record.run_id()) {
            console::remark(&format!("note: {} stands on both sides", record.run_id()));
        }
    }
    let comparison = compare_point(baseline, candidate, &args.allow_differing)?;
    tell(args, &comparison, || show::comparison(&comparison, args.format))?;
    Ok(exit_of(&comparison))
}

fn by_intervals(
    args: &CompareArgs,
    baseline: &[RunRecord],
    candidate: &[RunRecord],
) -> anyhow::Result<Exit> {
    let gates = match &args.gates {
        Some(path) => {
            toml::from_str(&read_text(path)?).with_context(|| path.display().to_string())?
        }
        None => Gates::default(),
    };
    let rules = BlockRules {
        gates: &gates,
        pairing: match args.pairing {
            Pairs::ByTime => Pairing::ByTime,
            Pairs::AsGiven => Pairing::AsGiven,
            Pairs::Unpaired => Pairing::Unpaired,
        },
        looks: None,
        allow_differing: &args.allow_differing,
        limitations: &[],
    };
    let comparison = compare_blocks(baseline, candidate, Turnovers::default(), &rules)?;
    tell(args, &comparison, || show::comparison_v2(&comparison, args.format))?;
    Ok(exit_of_v2(&comparison))
}

/// Prints a comparison, and writes it where it was asked for.
fn tell<T: Serialize>(
    args: &CompareArgs,
    comparison: &T,
    shown: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    console::result(&match args.format {
        Format::Json => String::from_utf8(file_bytes(comparison, Layout::AsGiven)?)
            .context("canonical bytes are ASCII")?,
        Format::Markdown | Format::Table => shown(),
    })?;
    let Some(path) = &args.out else { return Ok(()) };
    write_comparison(comparison, path)?;
    let path = path.display().to_string();
    match args.format {
        Format::Json => console::remark(&path),
        Format::Markdown | Format::Table => console::result(&path)?,
    }
    Ok(())
}

/// Says what the operators declared differently of the two sides: it may be what is compared, or a
/// mistake.
fn declared_differently(baseline: &[RunRecord], candidate: &[RunRecord]) -> anyhow::Result<()> {
    let (Some(baseline), Some(candidate)) = (baseline.first(), candidate.first()) else {
        return Ok(());
    };
    let [old, new] =
        [Json::from_value(baseline.deployment())?, Json::from_value(candidate.deployment())?];
    let Json::Object(members) = &old else { return Ok(()) };
    for (name, value) in members {
        let other = new.member(name).unwrap_or(&Json::Null);
        if value != other {
            let [value, other] = [serde_json::to_string(value)?, serde_json::to_string(other)?];
            console::remark(&format!("note: {name} was declared {value}, and {other}"));
        }
    }
    Ok(())
}

/// The exit code that a comparison deserves.
pub(crate) fn exit_of(comparison: &Comparison) -> Exit {
    match verdict(comparison) {
        GateOutcome::Passed => Exit::Done,
        GateOutcome::Failed => Exit::GateFailed,
        GateOutcome::Ineligible | GateOutcome::NotEvaluated => Exit::Inconclusive,
    }
}

/// The exit code that a comparison by intervals deserves.
pub(crate) fn exit_of_v2(comparison: &ComparisonV2) -> Exit {
    match comparison.verdict {
        GateVerdict::Pass => Exit::Done,
        GateVerdict::Fail => Exit::GateFailed,
        GateVerdict::Inconclusive | GateVerdict::NotEvaluated => Exit::Inconclusive,
    }
}

/// Writes a comparison's file, which must not exist.
pub(crate) fn write_comparison<T: Serialize>(comparison: &T, path: &Path) -> anyhow::Result<()> {
    Ok(write_new(path, &file_bytes(comparison, Layout::AsGiven)?, 0o644)?)
}
