//! Runs of a visit, each in a directory of its own.

use anyhow::{Context, bail};
use streamgauge_client::{RunDir, read_file};
use streamgauge_schema::{
    Digest, DiscardReason, Identifier, LengthBasis, Plan, QualificationBegun,
    QualificationDiscarded, QualificationFinished, QualificationLengths, QualificationPhase,
    QualificationSide, QualificationStep, RunRecordV2, Visit,
};
use streamgauge_workload::Lengths;

use super::{Going, Work};
use crate::console;
use crate::exit::Unreachable;
use crate::measure::{Measuring, create_dir, measure_into};
use crate::planning::{Cell, Planner, Server};
use crate::provenance::of_server;
use crate::qualify::resolve::PlannedCell;
use crate::rebuild::read_plan;
use crate::signals::stopped;

impl Work<'_> {
    /// Measures one cell into a run directory.
    pub(super) async fn measure(
        &mut self,
        visit: Visit,
        cell: &PlannedCell,
        server: &Server,
    ) -> anyhow::Result<Going> {
        if *self.stop.borrow() {
            return Ok(Going::Interrupted);
        }
        let of_arm = cell.of(visit.arm());
        let mut args = of_arm.args(self.resolved.plan.is_swapped(visit)).clone();
        args.output.name = Some(self.run_name(visit)?);
        // A run that is taken anew sends no prompt that a cache may know from the first attempt.
        args.prompts.nonce_seed =
            Some(self.resolved.plan.nonce_seed.wrapping_add(self.course.begun()));
        let planner = match self.course.lengths(&cell.name) {
            _ if visit.phase == QualificationPhase::Turnover => {
                Planner::with_lengths(&args, &of_arm.asked, server, Lengths::assumed())?
            }
            Some(LengthBasis::Assumed {}) => {
                Planner::with_lengths(&args, &of_arm.asked, server, Lengths::assumed())?
            }
            Some(LengthBasis::Calibrated { probes }) => {
                let lengths =
                    Lengths::calibrated(probes).context("lengths of prompts in the log")?;
                Planner::with_lengths(&args, &of_arm.asked, server, lengths)?
            }
            Some(LengthBasis::Tokenizer { .. }) | None => tokio::select! {
                () = stopped(self.stop.clone()) => return Ok(Going::Interrupted),
                planner = Planner::new(&args, &of_arm.asked, server) => planner?,
            },
        };
        let has_lengths = visit.phase != QualificationPhase::Turnover;
        if has_lengths && self.course.lengths(&cell.name).is_none() {
            let basis = planner.lengths().basis().clone();
            let lengths = QualificationLengths { cell: cell.name.clone(), basis };
            self.note(QualificationStep::Lengths(lengths))?;
        }
        let mut planned = planner.cell(0, cell.load.clone())?;
        self.check_prompts(&planned, &cell.name)?;
        // By what the arm said first: a server may be too busy to say it again.
        if let Some(identity) = self.course.identity(visit.arm()) {
            planned.conditions.extend(of_server(identity)?);
        }
        console::remark(&format!("{} …", self.title(visit, &cell.name)));
        self.run(visit, &cell.name, &planned, server).await
    }

    /// Refuses prompts that are not those of the runs before, as where a dataset was edited meanwhile:
    /// nothing could be compared after all runs were taken.
    fn check_prompts(&self, planned: &Cell, cell: &Identifier) -> anyhow::Result<()> {
        let Some((_, _, run)) = self.course.all_finished().find(|(_, of, _)| *of == cell) else {
            return Ok(());
        };
        let dir = RunDir::at(&self.dir.runs().join(run.directory.as_str()));
        let (before, now) = (read_plan(&dir)?, &planned.plan);
        let asked = |plan: &Plan| {
            let expected = plan.grading.as_ref().map(|grading| grading.expectations_sha256);
            (plan.workload.dataset_sha256, expected)
        };
        if asked(&before) != asked(now) {
            bail!(
                "cell {cell}: its prompts, or what their answers are held against, are not those of {}: \
                 was a dataset edited since? With what was there before, `qualify --resume` goes on; \
                 with the new one, begin a new qualification",
                run.directory
            );
        }
        Ok(())
    }

    async fn run(
        &mut self,
        visit: Visit,
        cell: &Identifier,
        planned: &Cell,
        server: &Server,
    ) -> anyhow::Result<Going> {
        let dir = create_dir(&self.dir.runs(), &planned.plan).await?;
        let directory = name_of(&dir)?;
        let begun = QualificationBegun { visit, cell: cell.clone(), directory: directory.clone() };
        self.note(QualificationStep::Begun(begun))?;
        let measuring = Measuring { access: &server.access, view: self.view, stop: &self.stop };
        let title = self.title(visit, cell);
        let measured = measure_into(dir, planned, &title, &measuring).await?;
        let reason = if measured.interrupted {
            Some(DiscardReason::Interrupted)
        } else if measured.record.load.succeeded == 0 {
            Some(DiscardReason::NothingSucceeded)
        } else {
            None
        };
        let Some(reason) = reason else {
            self.warn_of_bent(visit, cell, &measured.record);
            let record_sha256 = Digest::of(&read_file(&measured.dir.record())?);
            let cell = cell.clone();
            let finished = QualificationFinished { visit, cell, directory, record_sha256 };
            self.note(QualificationStep::Finished(finished))?;
            return Ok(Going::On);
        };
        self.note(QualificationStep::Discarded(QualificationDiscarded { directory, reason }))?;
        if reason == DiscardReason::Interrupted {
            return Ok(Going::Interrupted);
        }
        let why = measured.failures.first().map_or_else(String::new, |failure| {
            format!(": {} {}: {}", failure.count, failure.class, failure.example)
        });
        Err(Unreachable(format!("{visit}, cell {cell}: no request succeeded{why}")).into())
    }

    /// Says at once which gates a run leaves unjudged, whatever the other blocks are.
    fn warn_of_bent(&self, visit: Visit, cell: &Identifier, record: &RunRecordV2) {
        let limited = &record.instrument.client_limited;
        let gates = self.resolved.plan.gates.gates().iter();
        let bent: Vec<&str> = gates
            .filter(|gate| limited.contains(&gate.metric))
            .map(|gate| gate.metric.as_str())
            .collect();
        if !bent.is_empty() {
            console::remark(&format!(
                "warning: {visit}, cell {cell}: this client may have bent {}, so that no gate on it \
                 will be judged. To judge it, begin anew with more CPU for the client, a machine of \
                 its own, or less load",
                bent.join(", ")
            ));
        }
    }

    /// Runs are told apart by the side that they stand for.
    fn run_name(&self, visit: Visit) -> anyhow::Result<Identifier> {
        let side = match (visit.phase, visit.side) {
            (QualificationPhase::Aa, QualificationSide::Baseline) => "aa-baseline",
            (QualificationPhase::Aa, QualificationSide::Candidate) => "aa-again",
            (QualificationPhase::Blocks, QualificationSide::Baseline) => "baseline",
            (QualificationPhase::Blocks, QualificationSide::Candidate) => "candidate",
            (QualificationPhase::Turnover, QualificationSide::Baseline) => "turnover-baseline",
            (QualificationPhase::Turnover, QualificationSide::Candidate) => "turnover-candidate",
        };
        Identifier::new(format!("{}-{side}", self.resolved.plan.name)).context("the name of a run")
    }

    /// How far the work is, for people.
    fn title(&self, visit: Visit, cell: &Identifier) -> String {
        format!("{}, cell {cell}", self.place(visit))
    }

    fn place(&self, visit: Visit) -> String {
        let plan = &self.resolved.plan;
        let (most, shown) = match visit.phase {
            QualificationPhase::Aa => (plan.aa_blocks, visit.to_string()),
            QualificationPhase::Blocks => (plan.most_blocks(), visit.to_string()),
            QualificationPhase::Turnover => (plan.turnover_repeats(), visit.to_string()),
        };
        match shown.split_once(',') {
            Some((block, side)) => format!("{block} of {most},{side}"),
            None => shown,
        }
    }
}

fn name_of(dir: &RunDir) -> anyhow::Result<Identifier> {
    let name = dir.path().file_name().unwrap_or_default().to_string_lossy();
    Identifier::new(name).context("the name of a run directory")
}
