//! `streamgauge qualify`: takes the blocks of a plan, and judges them.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Parser};
use streamgauge_metrics::Compared;
use streamgauge_schema::{
    Activation, ComparisonV2, QualificationEnd, QualificationPlan, digest_bytes,
};

use crate::args::{Cli, Command, Format};
use crate::console;
use crate::exit::Exit;
use crate::progress::View;
use crate::qualify::{
    COMPARISON, Course, Outcome, Outlook, QualificationDir, Resolved, ScheduleArgs, Work,
    all_blocks, kept, somebody_is_there,
};
use crate::report::{ReportArgs, exit_of, report_comparison, tell_path};
use crate::show::{self, Page};
use crate::signals::{SAVING, stop_on_signal};

/// Arguments of `qualify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge qualify kernel-change.toml --plan-only --from qualifications/…
  streamgauge qualify kernel-change.toml
  streamgauge qualify kernel-change.toml --until-decided --max-blocks 12
  streamgauge qualify --resume qualifications/kernel-change-…")]
pub(crate) struct QualifyArgs {
    /// The plan, in TOML
    #[arg(value_name = "PLAN.toml", required_unless_present = "resume")]
    plan: Option<PathBuf>,
    /// Go on with a qualification at its first missing run
    #[arg(long, value_name = "DIR")]
    #[arg(conflicts_with_all = ["until_decided", "max_blocks", "max_time", "swap_addresses", "out"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Contact nothing: print the order of the runs, and what their number can decide
    #[arg(long, conflicts_with = "resume")]
    plan_only: bool,
    /// Earlier measurements that tell the noise: qualifications, comparisons, or runs of one build
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "plan_only")]
    from: Vec<PathBuf>,
    /// Folder in which the directory of the qualification is made
    #[arg(long, value_name = "FOLDER", default_value = "qualifications")]
    #[arg(help_heading = "Output")]
    out: PathBuf,
    /// Show no progress on stderr
    #[arg(long, help_heading = "Output")]
    no_progress: bool,
    #[command(flatten, next_help_heading = "Output")]
    report: ReportArgs,
}

/// Runs the command.
pub(crate) async fn qualify(args: &QualifyArgs) -> anyhow::Result<Exit> {
    args.report.check()?;
    if let Some(dir) = &args.resume {
        return resume(args, &QualificationDir::at(dir)).await;
    }
    let path = args.plan.as_deref().context("a plan is needed")?;
    let resolved = Resolved::read(path, &args.schedule)?;
    for advice in resolved.advice() {
        console::remark(&format!("note: {advice}"));
    }
    if args.plan_only {
        return plan_only(args, &resolved);
    }
    check_somebody(&resolved)?;
    let dir = QualificationDir::create(&args.out, &resolved.plan)?;
    to_its_end(args, &resolved, &dir).await
}

fn plan_only(args: &QualifyArgs, resolved: &Resolved) -> anyhow::Result<Exit> {
    let outlook = Outlook::of(resolved, &args.from)?;
    console::result(&match args.report.format {
        Format::Json => serde_json::to_string_pretty(&outlook)?,
        format => show::outlook(&outlook, Page::of(format)),
    })?;
    Ok(Exit::Done)
}

/// Goes on where the log ends. The plan's file is read again, as headers and keys stand nowhere
/// else; what it asks for must be what was asked.
async fn resume(args: &QualifyArgs, dir: &QualificationDir) -> anyhow::Result<Exit> {
    let shown = dir.path().display();
    if !dir.is_one() {
        bail!("{shown} is no directory of a qualification");
    }
    let known = dir.read_plan()?;
    let course = Course::of(&dir.read_log()?.0);
    if let (true, Some(last)) = (course.complete, course.compared.last()) {
        console::remark(&format!("{shown} is complete; nothing is left to do"));
        return tell(args, dir, &kept(dir, last)?);
    }
    let source = args.plan.clone().unwrap_or_else(|| PathBuf::from(&known.source));
    let mut resolved = Resolved::read(&source, &schedule_of(&known)?)?;
    resolved.plan.source.clone_from(&known.source);
    resolved.plan.nonce_seed = known.nonce_seed;
    if let Some(difference) = difference(&known, &resolved.plan)? {
        bail!("{}: it is not the plan of {shown}: {difference}", source.display());
    }
    check_somebody(&resolved)?;
    to_its_end(args, &resolved, dir).await
}

/// The options that a plan was made with.
fn schedule_of(plan: &QualificationPlan) -> anyhow::Result<ScheduleArgs> {
    let words = ["streamgauge", "qualify", "plan"].into_iter();
    let line = words.chain(plan.options.iter().map(String::as_str));
    match Cli::try_parse_from(line).context("options in the plan of the qualification")?.command {
        Command::Qualify(args) => Ok(args.schedule),
        _ => bail!("options in the plan of the qualification are another command's"),
    }
}

/// Where a plan first differs from the one that a qualification was begun with.
fn difference(
    known: &QualificationPlan,
    now: &QualificationPlan,
) -> anyhow::Result<Option<String>> {
    let [known, now] =
        [String::from_utf8(digest_bytes(known)?)?, String::from_utf8(digest_bytes(now)?)?];
    if known == now {
        return Ok(None);
    }
    let mut pairs = known.lines().zip(now.lines()).zip(1..);
    Ok(Some(match pairs.find(|((was, is), _)| was != is) {
        Some(((was, is), line)) => format!(
            "line {line} of its plan.json is {:?}, and would be {:?} now",
            was.trim(),
            is.trim()
        ),
        None => "one of them is longer".to_owned(),
    }))
}

/// Where somebody is to be asked, somebody must be there.
fn check_somebody(resolved: &Resolved) -> anyhow::Result<()> {
    let plan = &resolved.plan;
    let arms = [&plan.baseline, &plan.candidate];
    let asks = arms.iter().any(|arm| arm.activation == (Activation::Ask {}));
    if (asks || plan.swap_after_blocks.is_some()) && !somebody_is_there() {
        bail!("somebody is to be asked to switch builds, and standard input is no terminal");
    }
    Ok(())
}

/// What the work on a qualification came to.
#[derive(Debug)]
pub(crate) enum Carried {
    /// The candidate is judged.
    Judged(Box<ComparisonV2>),
    /// Nothing is decided.
    Open(Exit),
}

/// Carries a qualification out until it is judged, or until it cannot go on.
pub(crate) async fn carry_out(
    resolved: &Resolved,
    dir: &QualificationDir,
    view: View,
) -> anyhow::Result<Carried> {
    let stop = stop_on_signal(SAVING)?;
    let mut work = Work::take_up(resolved, dir, view, stop)?;
    let (reason, outcome) = match all_blocks(&mut work).await {
        Ok(Outcome::Judged(last)) => (QualificationEnd::Complete, Ok(Carried::Judged(last))),
        Ok(Outcome::Interrupted) => {
            (QualificationEnd::Interrupted, Ok(Carried::Open(Exit::Interrupted)))
        }
        Ok(Outcome::TimeOver) => {
            console::remark("the time was over before the first look: nothing is decided");
            (QualificationEnd::TimeOver, Ok(Carried::Open(Exit::Inconclusive)))
        }
        Err(error) => (QualificationEnd::Stopped, Err(error)),
    };
    let ended = work.end(reason);
    // What stopped the work says more than that this could not be written down either.
    let carried = outcome?;
    ended.map(|()| carried)
}

/// Carries it out, and says what it came to or how to go on.
async fn to_its_end(
    args: &QualifyArgs,
    resolved: &Resolved,
    dir: &QualificationDir,
) -> anyhow::Result<Exit> {
    let view = View::of(args.no_progress, args.report.format);
    match carry_out(resolved, dir, view).await {
        Ok(Carried::Judged(last)) => tell(args, dir, &last),
        Ok(Carried::Open(exit)) => {
            console::remark(&go_on(dir.path()));
            Ok(exit)
        }
        Err(error) => {
            console::remark(&go_on(dir.path()));
            Err(error)
        }
    }
}

fn go_on(dir: &Path) -> String {
    let dir = dir.display();
    format!("what has finished is kept; to go on: streamgauge qualify --resume {dir}")
}

fn tell(args: &QualifyArgs, dir: &QualificationDir, last: &ComparisonV2) -> anyhow::Result<Exit> {
    let compared = Compared::V2(last);
    report_comparison(compared, &args.report)?;
    tell_path(&dir.file(COMPARISON), args.report.format)?;
    Ok(exit_of(compared))
}
