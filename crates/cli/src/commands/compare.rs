//! `streamgauge compare`: holds a candidate's runs against a baseline's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use streamgauge_metrics::{
    BlockRules, CompareError, Compared, InsecureRuns, MatchingCondition, Pairing, PromptOutcomes,
    compare_blocks, compare_point, discordant_prompts, was_taken_up,
};
use streamgauge_schema::{Digest, Gates, Json, RunRecord};

use crate::args::Format;
use crate::console;
use crate::exit::Exit;
use crate::gates::read_gates;
use crate::records::{load, load_all, without_prompts};
use crate::report::{ReportArgs, exit_of, report_comparison, tell_path, write_comparison};
use crate::show;

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge compare runs/old-… runs/new-…
  streamgauge compare --baseline old/* --candidate new/* --out comparison.json
  streamgauge compare --rule interval --baseline old/* --candidate new/*")]
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
    /// each; of graded runs also pass_ratio, 5 percentage points]
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,
    /// Go on although this condition differs; may be given again
    #[arg(long, value_name = "FIELD")]
    allow_differing: Vec<MatchingCondition>,
    /// Judge runs that did not verify the certificate of their server; the comparison says so
    #[arg(long)]
    allow_insecure: bool,
    /// File to write the comparison to
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
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
    args.report.check()?;
    if let Some(out) = &args.out
        && out.exists()
    {
        bail!("--out {}: the file exists, and is not written over", out.display());
    }
    let (baseline, candidate) = match args.pair.as_slice() {
        [baseline, candidate] => (load(baseline)?, load(candidate)?),
        _ => (load_all(&args.baseline)?, load_all(&args.candidate)?),
    };
    let prompts = baseline.iter().chain(&candidate).filter_map(|run| run.prompts.as_ref());
    let ids: BTreeMap<Digest, String> = prompts.flat_map(|prompts| prompts.ids.clone()).collect();
    let mut outcomes = PromptOutcomes::default();
    let [baseline, candidate] =
        [baseline, candidate].map(|runs| without_prompts(runs, &mut outcomes));
    declared_differently(&baseline, &candidate)?;
    match args.rule {
        Rule::Point => by_points(args, &baseline, &candidate),
        Rule::Interval => {
            let exit = by_intervals(args, &baseline, &candidate, &outcomes)?;
            if args.report.format == Format::Table {
                let pairing = args.pairing.into();
                let found = discordant_prompts(&baseline, &candidate, pairing, &outcomes)?;
                show::discordant(&found, &ids).into_iter().for_each(|text| console::remark(&text));
            }
            Ok(exit)
        }
    }
}

impl From<Pairs> for Pairing {
    fn from(pairs: Pairs) -> Self {
        match pairs {
            Pairs::ByTime => Self::ByTime,
            Pairs::AsGiven => Self::AsGiven,
            Pairs::Unpaired => Self::Unpaired,
        }
    }
}

impl CompareArgs {
    fn insecure(&self) -> InsecureRuns {
        if self.allow_insecure { InsecureRuns::Allowed } else { InsecureRuns::Refused }
    }
}

/// The error with the flag that allows what it refuses.
fn naming_its_flag(error: CompareError) -> anyhow::Error {
    match error {
        error @ CompareError::Insecure { .. } => anyhow!("{error}: --allow-insecure"),
        error => error.into(),
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
    for record in baseline.iter().chain(candidate) {
        let RunRecord::V2(run) = record else { continue };
        if was_taken_up(run) {
            let between = match run.shards.len() {
                0 | 1 => "its rates leave out the time between",
                _ => "other shards went on meanwhile, and its rates have the time between",
            };
            console::remark(&format!(
                "note: {} broke off and was taken up again; {between}",
                record.run_id()
            ));
        }
    }
    let comparison = compare_point(baseline, candidate, &args.allow_differing, args.insecure())
        .map_err(naming_its_flag)?;
    tell(args, Compared::V1(&comparison))
}

fn by_intervals(
    args: &CompareArgs,
    baseline: &[RunRecord],
    candidate: &[RunRecord],
    outcomes: &PromptOutcomes,
) -> anyhow::Result<Exit> {
    let gates = match &args.gates {
        Some(path) => read_gates(path)?,
        None => Gates::default(),
    };
    let rules = BlockRules {
        gates: &gates,
        pairing: args.pairing.into(),
        looks: None,
        outcomes,
        allow_differing: &args.allow_differing,
        insecure: args.insecure(),
        limitations: &[],
    };
    let comparison = compare_blocks(baseline, candidate, &rules).map_err(naming_its_flag)?;
    tell(args, Compared::V2(&comparison))
}

/// Writes a comparison where it was asked for, and reports it.
fn tell(args: &CompareArgs, compared: Compared<'_>) -> anyhow::Result<Exit> {
    if let Some(path) = &args.out {
        write_comparison(compared, path)?;
    }
    report_comparison(compared, &args.report)?;
    if let Some(path) = &args.out {
        tell_path(path, args.report.format)?;
    }
    Ok(exit_of(compared))
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
