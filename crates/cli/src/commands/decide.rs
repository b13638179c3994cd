//! `streamgauge decide`: writes what was decided on a comparison, and lists it in the ledger.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use streamgauge_client::{RunClock, write_new};
use streamgauge_metrics::{Compared, DecideError, DecisionInput, decide as make, verify};
use streamgauge_schema::{
    Decision, DecisionChoice, DecisionEvidence, Digest, Document, EvidenceKind, LedgerLine,
    PublicText, ReadError,
};

use crate::args::Format;
use crate::console;
use crate::evidence::{compared_runs, run_records};
use crate::exit::Exit;
use crate::input::read_document;
use crate::ledger::{LEDGER, Ledger, LedgerBroken, published_name};
use crate::report::tell_path;
use crate::show::{self, Page};

/// Arguments of `decide`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("choice").required(true).args(["promote", "retain"]))]
#[command(after_help = "\
The comparison is not changed. Promoting against a gate that did not pass is refused with exit \
code 1 unless --override says why; an --override that overrides nothing is refused with 2. A \
comparison or a ledger that does not verify is refused with 1.

Examples:
  streamgauge decide comparison.json --retain --by \"A. Person\" --reason \"slower\"
  streamgauge decide comparison.json --promote --by \"A. Person\" \\
      --reason \"mends a crash\" --override \"the crash costs more than 9 percent\"")]
pub(crate) struct DecideArgs {
    /// The comparison that is decided on
    comparison: PathBuf,
    /// The candidate takes the baseline's place
    #[arg(long)]
    promote: bool,
    /// The baseline stays
    #[arg(long)]
    retain: bool,
    /// Who decides: a person, or a rule
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Why; it is published
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Why the candidate is promoted although a gate did not pass; it is published
    #[arg(long = "override", value_name = "REASON")]
    override_reason: Option<String>,
    /// Records of the runs that were compared, run directories or folders of them [default: those
    /// beside the comparison]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    runs: Vec<PathBuf>,
    /// Ledger in which the decision is listed [default: decisions.jsonl beside the comparison]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// File to write the decision to [default: named by its id, beside the comparison]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Decides.
pub(crate) fn decide(args: &DecideArgs) -> anyhow::Result<Exit> {
    if let Some(out) = &args.out
        && out.exists()
    {
        bail!("--out {}: the file exists, and is not written over", out.display());
    }
    let file = read_document(&args.comparison)?;
    let document = match read_comparison(&args.comparison, &file)? {
        Ok(document) => document,
        Err(problem) => {
            console::remark(&format!("error: {}: {problem}", args.comparison.display()));
            return Ok(Exit::GateFailed);
        }
    };
    let compared = match &document {
        Document::Comparison(comparison) => Compared::V1(comparison),
        Document::ComparisonV2(comparison) => Compared::V2(comparison),
        Document::Decision(_) | Document::Determinism(_) | Document::Run(_) => {
            bail!("{} is no comparison", args.comparison.display())
        }
    };
    let input = input(args, compared, &file)?;
    match make(input.clone()) {
        Err(DecideError::NotPassed { .. }) => {
            console::remark(&format!(
                "error: nothing is promoted against its gates unless --override REASON says why\n\n{}",
                show::verdict(compared, Page::of(args.format))
            ));
            return Ok(Exit::GateFailed);
        }
        Err(DecideError::NothingToOverride { why }) => {
            bail!("--override: there is nothing to override: {why}")
        }
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    match record(args, input) {
        Ok(recorded) => tell(args, compared, &recorded),
        Err(error) if error.downcast_ref::<LedgerBroken>().is_some() => {
            console::complain(&error);
            Ok(Exit::GateFailed)
        }
        Err(error) => Err(error),
    }
}

/// A comparison that verifies, or what is wrong with it.
fn read_comparison(path: &Path, file: &[u8]) -> anyhow::Result<Result<Document, String>> {
    let document = match Document::read(file) {
        Ok(document) => document,
        Err(error @ ReadError::Shape { .. }) => {
            return Ok(Err(format!("it does not verify: {error}")));
        }
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    if let Some(broken) = verify(&document).broken().next() {
        return Ok(Err(format!("it does not verify: {}: {}", broken.rule, broken.statement)));
    }
    if document.file_bytes_like(file)? != file {
        return Ok(Err("it does not verify: its bytes are not canonical".to_owned()));
    }
    Ok(Ok(document))
}

fn input<'a>(
    args: &DecideArgs,
    compared: Compared<'a>,
    file: &[u8],
) -> anyhow::Result<DecisionInput<'a>> {
    let comparison = DecisionEvidence {
        kind: EvidenceKind::Comparison,
        name: published_name(&args.comparison)?,
        sha256: Digest::of(file),
        bytes: file.len() as u64,
    };
    let override_reason = args.override_reason.as_deref();
    let (by, reason) = (public("--by", &args.by)?, public("--reason", &args.reason)?);
    let override_reason = override_reason.map(|text| public("--override", text)).transpose()?;
    let runs = run_records(compared, &args.comparison, &args.runs)?;
    Ok(DecisionInput {
        compared,
        choice: if args.promote { DecisionChoice::Promote } else { DecisionChoice::Retain },
        by,
        decided_at: RunClock::start().started_at(),
        reason,
        override_reason,
        evidence: std::iter::once(comparison).chain(runs).collect(),
    })
}

/// A text that will be published. It is not shown where it may not be.
fn public(flag: &str, text: &str) -> anyhow::Result<PublicText> {
    PublicText::new(text.trim()).with_context(|| flag.to_owned())
}

/// A decision that was written and listed.
struct Recorded {
    decision: Decision,
    bytes: Vec<u8>,
    path: PathBuf,
    ledger: PathBuf,
    line: LedgerLine,
}

/// Writes a decision and lists it. Both are done, or none.
fn record(args: &DecideArgs, mut input: DecisionInput<'_>) -> anyhow::Result<Recorded> {
    let beside = |name: &str| args.comparison.with_file_name(name);
    let ledger_path = args.ledger.clone().unwrap_or_else(|| beside(LEDGER));
    let mut ledger = Ledger::open(&ledger_path)?;
    // Whoever waited decides after the one who was waited for.
    input.decided_at = RunClock::start().started_at();
    let decision = make(input)?;
    earlier(&ledger, &decision);
    let name = format!("{}.json", decision.decision_id);
    let path = args.out.clone().unwrap_or_else(|| beside(&name));
    let bytes = Document::Decision(Box::new(decision.clone())).file_bytes()?;
    let name = published_name(&path)?;
    let line = LedgerLine::after(ledger.lines().next_back(), &decision, name, Digest::of(&bytes))?;
    write_new(&path, &bytes, 0o644)?;
    if let Err(error) = ledger.append(&line) {
        // A decision that no ledger lists was not made. It is a moment old, and ours.
        std::fs::remove_file(&path).ok();
        return Err(error);
    }
    Ok(Recorded { decision, bytes, path, ledger: ledger_path, line })
}

/// Says what was decided before on the same comparison.
fn earlier(ledger: &Ledger, decision: &Decision) {
    let same = |line: &&LedgerLine| {
        decision.comparison().is_some_and(|it| it.sha256 == line.comparison_sha256)
    };
    if let Some(line) = ledger.lines().rfind(same) {
        console::remark(&format!(
            "note: line {} of the ledger decided on this comparison before: {}, by {}",
            line.line, line.decision, line.by
        ));
    }
}

fn tell(args: &DecideArgs, compared: Compared<'_>, recorded: &Recorded) -> anyhow::Result<Exit> {
    let Recorded { decision, line, .. } = recorded;
    let ledger = format!(
        "{} line {}, head {}\nKeep the head elsewhere: `streamgauge verify {} --head …` then shows \
         whether lines were cut off, or all of them written anew.",
        recorded.ledger.display(),
        line.line,
        line.sha256,
        recorded.ledger.display()
    );
    let runs = decision.evidence.len() - 1;
    let evidence = format!(
        "evidence   {} and {runs} of {} run records",
        decision.evidence[0].name,
        compared_runs(compared)
    );
    match args.format {
        Format::Json => {
            let text = String::from_utf8(recorded.bytes.clone());
            console::result(&text.context("canonical bytes are ASCII")?)?;
            console::remark(&ledger);
        }
        Format::Markdown => console::result(&show::decision_in_markdown(decision))?,
        Format::Table => {
            let page = Page::of(args.format);
            let told = show::decision(decision, page);
            let verdict = show::verdict(compared, page);
            console::result(&console::printable(&format!(
                "{told}\n{evidence}\n\n{verdict}\n\n{ledger}"
            )))?;
        }
    }
    tell_path(&recorded.path, args.format)?;
    Ok(Exit::Done)
}
