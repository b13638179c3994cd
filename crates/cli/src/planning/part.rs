//! The part of a cell that this command carries out: all of it, or a shard's.

use anyhow::Context;
use streamgauge_schema::{Request, Shard, Stage};

use super::Cell;
use crate::show;

impl Cell {
    /// The part of it that a shard carries out.
    ///
    /// # Errors
    /// When some shard would have nothing to do.
    pub(crate) fn of_shard(self, shard: Shard) -> anyhow::Result<Self> {
        let schedule = self.schedule.of_shard(shard).with_context(|| format!("shard {shard}"))?;
        Ok(Self { schedule, ..self })
    }

    /// What it is called to whoever watches; it is the first of one.
    pub(crate) fn title(&self) -> String {
        let title = show::title("cell", &self.plan.load.cell, 1, 1);
        match self.shard() {
            Some(shard) => format!("{title}, shard {shard}"),
            None => title,
        }
    }

    /// The shard whose part is carried out; `None` is all of it.
    pub(crate) fn shard(&self) -> Option<Shard> {
        self.schedule.shard()
    }

    /// Measured requests of this part.
    pub(crate) fn own_requests(&self) -> u64 {
        self.schedule.own_requests()
    }

    /// Warm-up requests of this part.
    pub(crate) fn own_warmup(&self) -> u64 {
        self.schedule.own_warmup()
    }

    /// The most requests that this part has under way at once; `None` when nothing limits them.
    pub(crate) fn max_inflight(&self) -> Option<u64> {
        self.schedule.max_inflight()
    }

    /// The first measured request of this part.
    pub(crate) fn first_request(&self) -> Request {
        let first = (0..self.plan.load.requests).find(|index| self.schedule.has(*index));
        self.request(Stage::Measured, first.unwrap_or(0))
    }
}
