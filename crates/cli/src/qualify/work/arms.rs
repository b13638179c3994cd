//! Arms brought up for their visits, and recognised.

use std::time::Duration;

use streamgauge_client::{Access, Endpoint};
use streamgauge_schema::{
    Activation, QualificationActivated, QualificationArm, QualificationFailed,
    QualificationIdentified, QualificationReady, QualificationSide, QualificationStep,
    ServerIdentity, Visit,
};
use tokio::sync::watch;

use super::{Going, Work};
use crate::args::run::RunArgs;
use crate::console;
use crate::exit::Unreachable;
use crate::qualify::activate::{Brought, ask, run_program};
use crate::qualify::identity::{are_alike, change, wait_until_ready};
use crate::signals::stopped;

/// The arm of a visit: where it is, the way in, and what is asked of it.
pub(super) struct Met<'a> {
    pub(super) visit: Visit,
    pub(super) endpoint: &'a Endpoint,
    pub(super) access: &'a Access,
    pub(super) args: &'a RunArgs,
}

impl Work<'_> {
    /// Half-way, the builds change places where that was asked for.
    pub(super) async fn swap(&mut self, visit: Visit) -> anyhow::Result<Going> {
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
    pub(super) async fn bring_up(&mut self, met: &Met<'_>) -> anyhow::Result<Going> {
        let visit = met.visit;
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
                let (folder, hidden) = (&resolved.folder, resolved.key_variables());
                let run = async |stop: watch::Receiver<bool>| {
                    run_program(command, &hidden, timeout, folder, &output, &title, &stop).await
                };
                self.brought(visit, run).await?
            }
        };
        if going == Going::Interrupted {
            return Ok(going);
        }
        self.await_ready(met).await
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

    async fn await_ready(&mut self, met: &Met<'_>) -> anyhow::Result<Going> {
        let Met { visit, endpoint, access, args } = *met;
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
                let text = format!("{visit}: {problem}{}", self.where_it_says_why(visit));
                self.failed(visit, elapsed_ms, None, problem)?;
                Err(Unreachable(text).into())
            }
        }
    }

    /// What a program printed is private; where it stands is not.
    fn where_it_says_why(&self, visit: Visit) -> String {
        match &self.resolved.plan.arm(visit).activation {
            Activation::Program { .. } => format!(
                "; what its activation printed is in {}",
                self.dir.activation_log().display()
            ),
            Activation::Ask {} | Activation::None {} => String::new(),
        }
    }

    /// Fails when an arm is not what it was when it was first met.
    pub(super) fn recognise(
        &mut self,
        visit: Visit,
        identity: ServerIdentity,
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
}
