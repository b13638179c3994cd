//! A qualification carried out: visit after visit, each step written down when it has happened.

mod arms;
mod runs;

use anyhow::Context;
use streamgauge_schema::{
    QualificationEnd, QualificationEnded, QualificationSide, QualificationStep, Visit,
};
use tokio::sync::watch;

use arms::Met;

use super::course::Course;
use super::dir::{Log, QualificationDir};
use super::resolve::Resolved;
use crate::planning::{meet_at, reach};
use crate::progress::View;
use crate::provenance::identify;
use crate::signals::stopped;

/// A qualification under way.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) resolved: &'a Resolved,
    pub(crate) dir: &'a QualificationDir,
    log: Log,
    course: Course,
    stop: watch::Receiver<bool>,
    view: View,
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
        view: View,
        stop: watch::Receiver<bool>,
    ) -> anyhow::Result<Self> {
        let log = Log::open(dir, &resolved.plan)?;
        let course = Course::of(log.lines());
        Ok(Self { resolved, dir, log, course, stop, view, before: None })
    }

    pub(crate) fn course(&self) -> &Course {
        &self.course
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Time spent on the qualification by all who worked on it.
    pub(crate) fn spent_ms(&self) -> u64 {
        self.course.earlier_ms().saturating_add(self.log.now_ms())
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
        let mut cells = self.resolved.cells_of(visit).iter();
        cells.all(|cell| self.course.finished(visit, &cell.name).is_some())
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
        let cells = resolved.cells_of(visit);
        let first = cells.first().context("a visit has a cell")?;
        let args = first.of(visit.arm()).args(resolved.plan.is_swapped(visit));
        let (endpoint, access) = reach(&args.server, &args.server.base_url)?.first()?;
        let met = Met { visit, endpoint: &endpoint, access: &access, args };
        if self.swap(visit).await? == Going::Interrupted
            || self.bring_up(&met).await? == Going::Interrupted
        {
            return Ok(Going::Interrupted);
        }
        let interrupted = stopped(self.stop.clone());
        let met = async {
            let server = meet_at(&args.server, &args.limits, endpoint, access).await?;
            let identity = identify(&server, args.server.api).await;
            Ok::<_, anyhow::Error>((server, identity))
        };
        let (server, identity) = tokio::select! {
            () = interrupted => return Ok(Going::Interrupted),
            met = met => met?,
        };
        self.recognise(visit, identity)?;
        for cell in cells {
            if self.course.finished(visit, &cell.name).is_none()
                && self.measure(visit, cell, &server).await? == Going::Interrupted
            {
                return Ok(Going::Interrupted);
            }
        }
        self.before = Some(visit);
        Ok(Going::On)
    }
}
