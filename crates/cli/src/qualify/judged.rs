//! The comparisons of a qualification: functions of its plan, its log and its run records.

use std::path::Path;

use anyhow::{Context, bail};
use streamgauge_client::{RunDir, read_file};
use streamgauge_metrics::{
    BlockRules, InsecureRuns, MatchingCondition, Pairing, PromptOutcomes, compare_blocks,
};
use streamgauge_schema::{
    Activation, ComparisonV2, Digest, Document, Layout, Looks, PublicText, QualificationLine,
    QualificationPhase, QualificationPlan, QualificationSide, RunRecord, Visit, file_bytes, visits,
};

use super::course::{Course, FinishedRun};
use super::dir::QualificationDir;
use super::identity::are_alike;
use crate::records::{LoadedRun, load_run, without_prompts};

/// Which blocks are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    /// Of turnover runs: all of them, and the blocks before them.
    pub(crate) phase: QualificationPhase,
    pub(crate) blocks: u64,
    /// Which of the planned looks it is, from 1; `None` where only one was planned.
    pub(crate) look: Option<u64>,
}

/// Compares the blocks of a phase so far. `lines` are those of the log until then.
pub(crate) fn comparison(
    dir: &QualificationDir,
    plan: &QualificationPlan,
    lines: &[QualificationLine],
    stand: Stand,
) -> anyhow::Result<ComparisonV2> {
    let course = Course::of(lines);
    let side = |side, outcomes: &mut _| {
        Ok::<_, anyhow::Error>(without_prompts(runs(dir, plan, &course, stand, side)?, outcomes))
    };
    let allow_differing: Vec<MatchingCondition> =
        plan.allow_differing.iter().map(|name| name.as_str().parse()).collect::<Result<_, _>>()?;
    let looks = stand.look.map(|look| Looks { planned_blocks: plan.planned_blocks.clone(), look });
    let limitations = limitations(plan, &course, stand)?;
    let mut outcomes = PromptOutcomes::default();
    let (baseline, candidate) = (
        side(QualificationSide::Baseline, &mut outcomes)?,
        side(QualificationSide::Candidate, &mut outcomes)?,
    );
    let rules = BlockRules {
        gates: &plan.gates,
        pairing: Pairing::AsGiven,
        looks,
        outcomes: &outcomes,
        allow_differing: &allow_differing,
        insecure: if plan.allow_insecure { InsecureRuns::Allowed } else { InsecureRuns::Refused },
        limitations: &limitations,
    };
    Ok(compare_blocks(&baseline, &candidate, &rules)?)
}

/// The bytes of a comparison's file.
pub(crate) fn bytes(comparison: &ComparisonV2) -> anyhow::Result<Vec<u8>> {
    Ok(file_bytes(comparison, Layout::AsGiven)?)
}

/// The runs of one side: block after block, and in each the cells in their order.
fn runs(
    dir: &QualificationDir,
    plan: &QualificationPlan,
    course: &Course,
    stand: Stand,
    side: QualificationSide,
) -> anyhow::Result<Vec<LoadedRun>> {
    let mut runs = Vec::new();
    for visit in stand.visits(plan).into_iter().filter(|visit| visit.side == side) {
        for cell in plan.cells_of(visit) {
            let run = course.finished(visit, cell);
            let run = run.with_context(|| format!("{visit}, cell {cell} has no run"))?;
            runs.push(loaded(&dir.runs(), run)?);
        }
    }
    Ok(runs)
}

impl Stand {
    /// The visits whose runs are compared.
    fn visits(self, plan: &QualificationPlan) -> Vec<Visit> {
        match self.phase {
            QualificationPhase::Aa => visits(self.blocks, 0, 0),
            QualificationPhase::Blocks => visits(0, self.blocks, 0),
            QualificationPhase::Turnover => visits(0, self.blocks, plan.turnover_repeats()),
        }
    }

    /// Whether a block of a phase is among them.
    fn holds(self, phase: QualificationPhase, block: u64) -> bool {
        use QualificationPhase::{Blocks, Turnover};
        match (self.phase, phase) {
            (Turnover, Turnover) => true,
            (Turnover, Blocks) => block <= self.blocks,
            (own, phase) => own == phase && block <= self.blocks,
        }
    }
}

/// A run with its record, which must be the one that the log names.
fn loaded(runs: &Path, run: &FinishedRun) -> anyhow::Result<LoadedRun> {
    let dir = RunDir::at(&runs.join(run.directory.as_str()));
    let path = dir.record();
    let bytes = read_file(&path)?;
    if Digest::of(&bytes) != run.record_sha256 {
        bail!("{} is not the record that the log names", path.display());
    }
    let record = match Document::read(&bytes).with_context(|| path.display().to_string())? {
        Document::Run(record) => record,
        _ => bail!("{} is no run record", path.display()),
    };
    // Which prompts were answered right, a record does not say.
    let is_graded = matches!(&record, RunRecord::V2(run) if run.evaluator_sha256.is_some());
    let prompts = if is_graded { load_run(&dir)?.prompts } else { None };
    Ok(LoadedRun { record, prompts })
}

/// What must be known to read a comparison rightly.
fn limitations(
    plan: &QualificationPlan,
    course: &Course,
    stand: Stand,
) -> anyhow::Result<Vec<PublicText>> {
    let mut said = Vec::new();
    if stand.phase != QualificationPhase::Aa {
        said.extend(arms(plan));
        said.extend(aa(plan, course));
        said.extend(alike(course));
    }
    said.extend(taken_anew(course, stand));
    said.extend(apart(course, stand));
    said.into_iter().map(|text| PublicText::new(text).context("a limitation")).collect()
}

/// What two arms that are up at once, or one that is never switched, leave open.
fn arms(plan: &QualificationPlan) -> Option<String> {
    let (old, new) = (&plan.baseline, &plan.candidate);
    if old.activation != (Activation::None {}) {
        return None;
    }
    Some(match plan.swap_after_blocks {
        _ if old.base_url == new.base_url => {
            "Both sides were one address, and nothing was switched \
            between them: this compares a server with itself."
                .to_owned()
        }
        Some(blocks) => format!(
            "Both sides were up at once, and exchanged their addresses after block {blocks}: a \
             steady difference of the machines cancels out of the change, and widens its interval."
        ),
        None => "Both sides were up at once, each at an address of its own: build and machine are \
            confounded. Exchanged addresses half-way would part them."
            .to_owned(),
    })
}

/// What the A/A before it amounted to.
fn aa(plan: &QualificationPlan, course: &Course) -> Option<String> {
    let aa = course.compared.iter().find(|it| it.phase == QualificationPhase::Aa)?;
    let verdict = aa.verdict.as_str().replace('_', " ");
    Some(format!(
        "The baseline was first held against itself by the same gates, in {} blocks: {verdict}.",
        plan.aa_blocks
    ))
}

/// Servers that tell their versions, and the same ones.
fn alike(course: &Course) -> Option<String> {
    let one = course.identity(QualificationSide::Baseline)?;
    let other = course.identity(QualificationSide::Candidate)?;
    are_alike(one, other).then(|| {
        "Both sides told the same of themselves: perhaps the candidate was never up.".to_owned()
    })
}

/// Runs that were cut off: whoever takes runs anew could choose among them.
fn taken_anew(course: &Course, stand: Stand) -> Option<String> {
    let count =
        course.unused().filter(|(_, visit, _)| stand.holds(visit.phase, visit.block)).count();
    (count > 0).then(|| {
        format!(
            "Runs that were cut off, or in which nothing succeeded, and were taken anew: {count}."
        )
    })
}

/// Blocks whose runs do not lie side by side in time.
fn apart(course: &Course, stand: Stand) -> Option<String> {
    let blocks = course.interrupted_blocks.iter();
    let blocks: Vec<String> = blocks
        .filter(|(phase, block)| stand.holds(*phase, *block))
        .map(|(phase, block)| match phase {
            QualificationPhase::Turnover => format!("turnover {block}"),
            QualificationPhase::Aa | QualificationPhase::Blocks => block.to_string(),
        })
        .collect();
    (!blocks.is_empty()).then(|| {
        let shown = if blocks.len() > 20 { "many".to_owned() } else { blocks.join(", ") };
        format!(
            "The work was interrupted within blocks and taken up again, so that their runs are apart \
             in time: {shown}."
        )
    })
}
