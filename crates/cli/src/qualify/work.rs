//! A qualification carried out: visit after visit, each step written down when it has happened.

use std::time::Duration;

use anyhow::Context;
use streamgauge_client::{Access, Endpoint, RunDir, read_file};
use streamgauge_schema::{
    Activation, Digest, DiscardReason, Identifier, LengthBasis, QualificationActivated,
    QualificationArm, QualificationBegun, QualificationDiscarded, QualificationEnd,
    QualificationEnded, QualificationFailed, QualificationFinished, QualificationIdentified,
    QualificationLengths, QualificationPhase, QualificationReady, QualificationSide,
    QualificationStep, Visit,
};
use streamgauge_workload::Lengths;
use tokio::sync::watch;

use super::activate::{Brought, ask, run_program};
use super::course::Course;
use super::dir::{Log, QualificationDir};
use super::identity::{are_alike, change, identify, wait_until_ready};
use super::resolve::{PlannedCell, Resolved};
use crate::args::run::RunArgs;
use crate::console;
use crate::exit::Unreachable;
use crate::measure::{create_dir, measure_into};
use crate::planning::{Cell, Planner, Server, meet_at, reach};
use crate::signals::stopped;

/// A qualification under way.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) resolved: &'a Resolved,
    pub(crate) dir: &'a QualificationDir,
    log: Log,
    course: Course,
    stop: watch::Receiver<bool>,
    /// What was measured last by this process: before that nobody knows what is up.
    before: Option<Visit>,
}

/// Whether the work goes on after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    On,
    Interrupted,
}

impl<'a> Work<'a> {
    /// Takes the work up, where the log says that it is.
    pub(crate) fn take_up(
        resolved: &'a Resolved,
        dir: &'a QualificationDir,
        stop: watch::Receiver<bool>,
    ) -> anyhow::Result<Self> {
        let log = Log::open(dir, &resolved.plan)?;
        let course = Course::of(log.lines());
        Ok(Self { resolved, dir, log, course, stop, before: None })
    }

    pub(crate) fn course(&self) -> &Course {
        &self.course
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Time spent on the qualification by all who worked on it.
    pub(crate) fn spent_ms(&self) -> u64 {
        self.course.earlier_ms() + self.log.now_ms()
    }

    /// Writes a step down, and follows it.
    pub(crate) fn note(&mut self, step: QualificationStep) -> anyhow::Result<()> {
        self.log.append(step)?;
        if let Some(line) = self.log.lines().last() {
            self.course.follow(line);
        }
        Ok(())
    }

    /// Writes down that the work ends.
    pub(crate) fn end(&mut self, reason: QualificationEnd) -> anyhow::Result<()> {
        self.note(QualificationStep::Ended(QualificationEnded { reason }))
    }

    /// Whether every run of a visit is there.
    fn is_done(&self, visit: Visit) -> bool {
        self.resolved.cells.iter().all(|cell| self.course.finished(visit, &cell.name).is_some())
    }

    /// Whether a run of a visit's block is there.
    pub(crate) fn has_begun(&self, visit: Visit) -> bool {
        let mut known = self.course.all_finished();
        known.any(|(it, ..)| (it.phase, it.block) == (visit.phase, visit.block))
    }

    /// Whether both visits of a visit's block are done.
    pub(crate) fn is_block_complete(&self, visit: Visit) -> bool {
        let other = match visit.side {
            QualificationSide::Baseline => QualificationSide::Candidate,
            QualificationSide::Candidate => QualificationSide::Baseline,
        };
        self.is_done(visit) && self.is_done(Visit { side: other, ..visit })
    }

    /// Measures what is missing of a visit.
    pub(crate) async fn visit(&mut self, visit: Visit) -> anyhow::Result<Going> {
        if self.is_done(visit) {
            return Ok(Going::On);
        }
        let resolved = self.resolved;
        let first = resolved.cells.first().context("a qualification has a cell")?;
        let args = first.of(visit.arm()).args(resolved.plan.is_swapped(visit));
        let base_url = args.server.base_url.as_deref().context("an arm has an address")?;
        let (endpoint, access) = reach(&args.server, base_url)?;
        if self.swap(visit).await? == Going::Interrupted
            || self.bring_up(visit, &endpoint, &access, args).await? == Going::Interrupted
        {
            return Ok(Going::Interrupted);
        }
        let interrupted = stopped(self.stop.clone());
        let met = async {
            let server = meet_at(&args.server, &args.limits, endpoint, access).await?;
            let identity = identify(&server, args).await;
            Ok::<_, anyhow::Error>((server, identity))
        };
        let (server, identity) = tokio::select! {
            () = interrupted => return Ok(Going::Interrupted),
            met = met => met?,
        };
        self.recognise(visit, identity)?;
        for cell in &resolved.cells {
            if self.course.finished(visit, &cell.name).is_none()
                && self.measure(visit, cell, &server).await? == Going::Interrupted
            {
                return Ok(Going::Interrupted);
            }
        }
        self.before = Some(visit);
        Ok(Going::On)
    }

    /// Half-way, the builds change places where that was asked for.
    async fn swap(&mut self, visit: Visit) -> anyhow::Result<Going> {
        let plan = &self.resolved.plan;
        let is_after = |visit: &Visit| plan.is_swapped(*visit);
        if !is_after(&visit) || self.course.activated(is_after) {
            return Ok(Going::On);
        }
        let what = format!(
            "swap the builds: start the baseline at {} and the candidate at {}",
            plan.candidate.base_url, plan.baseline.base_url
        );
        self.brought(visit, async |stop| ask(&what, &stop).await).await
    }

    /// Activates an arm when another one was up, and waits until it is ready.
    async fn bring_up(
        &mut self,
        visit: Visit,
        endpoint: &Endpoint,
        access: &Access,
        args: &RunArgs,
    ) -> anyhow::Result<Going> {
        if !visit.switches_from(self.before) {
            return Ok(Going::On);
        }
        let resolved = self.resolved;
        let arm: &QualificationArm = resolved.plan.arm(visit);
        let going = match &arm.activation {
            Activation::None {} => Going::On,
            Activation::Ask {} => {
                let what = format!("{visit}: switch {} to the {}", arm.base_url, visit.arm());
                self.brought(visit, async |stop| ask(&what, &stop).await).await?
            }
            Activation::Program { command, timeout_ms } => {
                console::remark(&format!("{visit}: activating the {} …", visit.arm()));
                let (timeout, output) =
                    (Duration::from_millis(*timeout_ms), self.dir.activation_log());
                let title = visit.to_string();
                let folder = &resolved.folder;
                let run = async |stop: watch::Receiver<bool>| {
                    run_program(command, timeout, folder, &output, &title, &stop).await
                };
                self.brought(visit, run).await?
            }
        };
        if going == Going::Interrupted {
            return Ok(going);
        }
        self.await_ready(visit, endpoint, access, args).await
    }

    /// Writes down how an attempt to bring an arm up ended.
    async fn brought(
        &mut self,
        visit: Visit,
        attempt: impl AsyncFnOnce(watch::Receiver<bool>) -> anyhow::Result<Brought>,
    ) -> anyhow::Result<Going> {
        let begun = self.log.now_ms();
        let brought = attempt(self.stop.clone()).await?;
        let elapsed_ms = self.log.now_ms() - begun;
        match brought {
            Brought::Interrupted => Ok(Going::Interrupted),
            Brought::Up { exit_code } => {
                let activated = QualificationActivated { visit, elapsed_ms, exit_code };
                self.note(QualificationStep::Activated(activated))?;
                Ok(Going::On)
            }
            Brought::Failed { exit_code, problem } => {
                let text = match exit_code {
                    // What it printed is private, and says why.
                    Some(_) => format!(
                        "{visit}: {problem}; what it printed is in {}",
                        self.dir.activation_log().display()
                    ),
                    None => format!("{visit}: {problem}"),
                };
                self.failed(visit, elapsed_ms, exit_code, problem)?;
                Err(Unreachable(text).into())
            }
        }
    }

    fn failed(
        &mut self,
        visit: Visit,
        elapsed_ms: u64,
        exit_code: Option<i32>,
        problem: String,
    ) -> anyhow::Result<()> {
        let failed = QualificationFailed { visit, elapsed_ms, exit_code, problem };
        self.note(QualificationStep::Failed(failed))
    }

    async fn await_ready(
        &mut self,
        visit: Visit,
        endpoint: &Endpoint,
        access: &Access,
        args: &RunArgs,
    ) -> anyhow::Result<Going> {
        let ready = &self.resolved.plan.arm(visit).ready;
        let begun = self.log.now_ms();
        let outcome = tokio::select! {
            () = stopped(self.stop.clone()) => return Ok(Going::Interrupted),
            outcome = wait_until_ready(endpoint, access, args.server.api, ready) => outcome,
        };
        let elapsed_ms = self.log.now_ms() - begun;
        match outcome {
            Ok(()) => {
                let ready = QualificationReady { visit, elapsed_ms };
                self.note(QualificationStep::Ready(ready))?;
                Ok(Going::On)
            }
            Err(error) => {
                let waited = Duration::from_millis(ready.timeout_ms);
                let problem = format!("{endpoint} was not ready within {waited:?}: {error}");
                let text = format!("{visit}: {problem}");
                self.failed(visit, elapsed_ms, None, problem)?;
                Err(Unreachable(text).into())
            }
        }
    }

    /// Fails when an arm is not what it was when it was first met.
    fn recognise(
        &mut self,
        visit: Visit,
        identity: streamgauge_schema::ServerIdentity,
    ) -> anyhow::Result<()> {
        let arm = visit.arm();
        if let Some(change) = self.course.identity(arm).and_then(|known| change(known, &identity)) {
            anyhow::bail!(
                "{visit}: the {arm} is not what was measured before: {change}; runs of different \
                 builds are no blocks"
            );
        }
        let is_first = self.course.identity(arm).is_none();
        let identified = QualificationIdentified { visit, identity };
        self.note(QualificationStep::Identified(identified))?;
        if let (true, Some(one), Some(other)) = (
            is_first,
            self.course.identity(QualificationSide::Baseline),
            self.course.identity(QualificationSide::Candidate),
        ) && are_alike(one, other)
        {
            console::remark(
                "note: both arms say the same of themselves; is the candidate really up?",
            );
        }
        Ok(())
    }

    /// Measures one cell into a run directory.
    async fn measure(
        &mut self,
        visit: Visit,
        cell: &PlannedCell,
        server: &Server,
    ) -> anyhow::Result<Going> {
        let of_arm = cell.of(visit.arm());
        let mut args = of_arm.args(self.resolved.plan.is_swapped(visit)).clone();
        args.output.name = Some(self.run_name(visit)?);
        // A run that is taken anew sends no prompt that a cache may know from the first attempt.
        args.prompts.nonce_seed =
            Some(self.resolved.plan.nonce_seed.wrapping_add(self.course.begun()));
        let planner = match self.course.lengths(&cell.name) {
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
        if self.course.lengths(&cell.name).is_none() {
            let basis = planner.lengths().basis().clone();
            let lengths = QualificationLengths { cell: cell.name.clone(), basis };
            self.note(QualificationStep::Lengths(lengths))?;
        }
        let planned = planner.cell(0, cell.load.clone())?;
        console::remark(&format!("{}, cell {} …", self.place(visit), cell.name));
        self.run(visit, &cell.name, &planned, server).await
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
        let measured = measure_into(dir, planned, &server.access, self.stop.clone()).await?;
        let reason = if measured.interrupted {
            Some(DiscardReason::Interrupted)
        } else if measured.record.load.succeeded == 0 {
            Some(DiscardReason::NothingSucceeded)
        } else {
            None
        };
        let Some(reason) = reason else {
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

    /// Runs are told apart by the side that they stand for.
    fn run_name(&self, visit: Visit) -> anyhow::Result<Identifier> {
        let side = match (visit.phase, visit.side) {
            (QualificationPhase::Aa, QualificationSide::Baseline) => "aa-baseline",
            (QualificationPhase::Aa, QualificationSide::Candidate) => "aa-again",
            (QualificationPhase::Blocks, QualificationSide::Baseline) => "baseline",
            (QualificationPhase::Blocks, QualificationSide::Candidate) => "candidate",
        };
        Identifier::new(format!("{}-{side}", self.resolved.plan.name)).context("the name of a run")
    }

    /// How far the work is, for people.
    fn place(&self, visit: Visit) -> String {
        let plan = &self.resolved.plan;
        let (most, shown) = match visit.phase {
            QualificationPhase::Aa => (plan.aa_blocks, visit.to_string()),
            QualificationPhase::Blocks => (plan.most_blocks(), visit.to_string()),
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
