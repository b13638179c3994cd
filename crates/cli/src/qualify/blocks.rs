//! Block after block, and what is judged after which of them.

use anyhow::{Context, bail};
use streamgauge_client::{read_file, write_new};
use streamgauge_schema::{
    ComparisonV2, Digest, Document, GateVerdict, Identifier, QualificationCompared,
    QualificationPhase, QualificationStep, Visit,
};

use super::dir::QualificationDir;
use super::judged::{Stand, bytes, comparison};
use super::work::{Going, Work};
use crate::console;

/// File of the comparison by which a qualification ends.
pub(crate) const COMPARISON: &str = "comparison.json";
/// File of the comparison of the blocks, where turnover runs follow them.
const BLOCKS: &str = "blocks.json";
/// File of the comparison of the baseline with itself.
const AA_COMPARISON: &str = "aa-comparison.json";

/// How the work on the blocks ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The candidate is judged.
    Judged(Box<ComparisonV2>),
    /// A signal stopped it.
    Interrupted,
    /// The time was over before anything could be judged.
    TimeOver,
}

/// Takes every block that is missing, judges where that was planned, and stops where nothing is left
/// to decide.
pub(crate) async fn all_blocks(work: &mut Work<'_>) -> anyhow::Result<Outcome> {
    let plan = &work.resolved.plan;
    let mut last = None;
    let is_of_blocks = |visit: &Visit| visit.phase != QualificationPhase::Turnover;
    let (blocks, turnovers): (Vec<Visit>, Vec<Visit>) =
        plan.visits().into_iter().partition(is_of_blocks);
    for visit in blocks {
        if !work.has_begun(visit) && is_over(work) {
            console::remark(&format!("the time is over: block {} does not begin", visit.block));
            break;
        }
        let was_complete = work.is_block_complete(visit);
        if work.visit(visit).await? == Going::Interrupted {
            return Ok(Outcome::Interrupted);
        }
        if !work.is_block_complete(visit) {
            continue;
        }
        if visit.block == 1 && !was_complete {
            early(work, visit.phase)?;
        }
        match visit.phase {
            QualificationPhase::Aa if visit.block == plan.aa_blocks => aa(work, visit)?,
            QualificationPhase::Blocks => {
                let Some((stand, found)) = look(work, visit)? else { continue };
                let decided = is_decided(&found);
                last = Some((stand, found));
                if decided {
                    break;
                }
            }
            QualificationPhase::Aa | QualificationPhase::Turnover => {}
        }
    }
    let Some((stand, last)) = last else { return Ok(Outcome::TimeOver) };
    for visit in turnovers {
        if work.visit(visit).await? == Going::Interrupted {
            return Ok(Outcome::Interrupted);
        }
    }
    if plan.turnover.is_some() {
        let stand = Stand { phase: QualificationPhase::Turnover, ..stand };
        return Ok(Outcome::Judged(Box::new(judge(work, stand, COMPARISON)?)));
    }
    if plan.planned_blocks.len() > 1 {
        keep(work, COMPARISON, &bytes(&last)?)?;
    }
    Ok(Outcome::Judged(Box::new(last)))
}

/// Whether the time is over, where it has an end.
fn is_over(work: &Work<'_>) -> bool {
    work.resolved.plan.max_time_ms.is_some_and(|most| work.spent_ms() >= most)
}

/// After the first block: what cannot be compared, or never judged, is said before more is spent.
fn early(work: &Work<'_>, phase: QualificationPhase) -> anyhow::Result<()> {
    let stand = Stand { phase, blocks: 1, look: None };
    let found = comparison(work.dir, &work.resolved.plan, work.log().lines(), stand)?;
    for (cell, compared) in found.cells.iter() {
        if let Some(why) = &compared.speed_void {
            console::remark(&format!("note: {cell} will not be judged: {why}"));
            continue;
        }
        for (name, metric) in compared.metrics.iter() {
            if metric.verdict == GateVerdict::NotEvaluated {
                let why = &metric.reason;
                console::remark(&format!("note: {cell} {name} will not be judged: {why}"));
            }
        }
    }
    Ok(())
}

/// The baseline held against itself.
fn aa(work: &mut Work<'_>, visit: Visit) -> anyhow::Result<()> {
    let stand = Stand { phase: visit.phase, blocks: visit.block, look: None };
    let found = judge(work, stand, AA_COMPARISON)?;
    let verdict = found.verdict.as_str().replace('_', " ");
    console::remark(&format!("the baseline against itself: {verdict}"));
    if found.verdict == GateVerdict::Fail {
        console::remark(
            "warning: the gates find a difference where there is none; what does that, such as a \
             server that warms up or other work on the machine, will be in the verdict",
        );
    }
    Ok(())
}

/// Judges the candidate where a look was planned. Where turnover runs follow, what it finds is no
/// comparison of all yet, and has a file of its own.
fn look(work: &mut Work<'_>, visit: Visit) -> anyhow::Result<Option<(Stand, ComparisonV2)>> {
    let planned = &work.resolved.plan.planned_blocks;
    let Some(place) = planned.iter().position(|blocks| *blocks == visit.block) else {
        return Ok(None);
    };
    let (several, number) = (planned.len() > 1, place as u64 + 1);
    let stand = Stand { phase: visit.phase, blocks: visit.block, look: several.then_some(number) };
    if !several {
        let file = if work.resolved.plan.turnover.is_some() { BLOCKS } else { COMPARISON };
        return Ok(Some((stand, judge(work, stand, file)?)));
    }
    let found = judge(work, stand, &format!("look-{number}.json"))?;
    console::remark(&format!(
        "look {number} of {}, {} blocks: {}",
        work.resolved.plan.planned_blocks.len(),
        visit.block,
        found.verdict.as_str().replace('_', " ")
    ));
    Ok(Some((stand, found)))
}

/// Whether more blocks could not change anything: a gate has failed, which no later look takes back,
/// or none is left inconclusive.
fn is_decided(comparison: &ComparisonV2) -> bool {
    let metrics = || comparison.cells.iter().flat_map(|(_, cell)| cell.metrics.iter());
    let any = |verdict| metrics().any(|(_, metric)| metric.verdict == verdict);
    any(GateVerdict::Fail) || !any(GateVerdict::Inconclusive)
}

/// Compares, and keeps the comparison.
fn judge(work: &mut Work<'_>, stand: Stand, file: &str) -> anyhow::Result<ComparisonV2> {
    if let Some(known) = work.course().compared.iter().find(|it| it.file.as_str() == file) {
        return kept(work.dir, known);
    }
    let found = comparison(work.dir, &work.resolved.plan, work.log().lines(), stand)?;
    let bytes = bytes(&found)?;
    keep(work, file, &bytes)?;
    work.note(QualificationStep::Compared(QualificationCompared {
        phase: stand.phase,
        blocks: stand.blocks,
        look: stand.look,
        file: Identifier::new(file).expect("names of files are identifiers"),
        sha256: Digest::of(&bytes),
        verdict: found.verdict,
    }))?;
    Ok(found)
}

/// A comparison that was made before the work was taken up again.
pub(crate) fn kept(
    dir: &QualificationDir,
    known: &QualificationCompared,
) -> anyhow::Result<ComparisonV2> {
    let path = dir.file(known.file.as_str());
    let bytes = read_file(&path)?;
    if Digest::of(&bytes) != known.sha256 {
        bail!("{} is not the comparison that the log names", path.display());
    }
    match Document::read(&bytes).with_context(|| path.display().to_string())? {
        Document::ComparisonV2(comparison) => Ok(*comparison),
        _ => bail!("{} is no comparison of this kind", path.display()),
    }
}

/// Writes a comparison's file. The same one may be there, when the end came between the file and its
/// line in the log.
fn keep(work: &Work<'_>, file: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let path = work.dir.file(file);
    if !path.exists() {
        return Ok(write_new(&path, bytes, 0o644)?);
    }
    if read_file(&path)? != bytes {
        bail!("{}: another comparison is there already", path.display());
    }
    Ok(())
}
