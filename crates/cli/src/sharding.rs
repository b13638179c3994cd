//! One of several commands that carry out a plan together: which part is asked for, and when all begin.

mod environment;
mod start;

use anyhow::Context;
use streamgauge_schema::Shard;

use crate::args::shard::{AskedShard, ShardArgs};

pub(crate) use start::start_of;

/// The part that is asked for; `None` is the whole run.
///
/// # Errors
/// When the environment does not say which part this is.
pub(crate) fn shard_of(args: &ShardArgs) -> anyhow::Result<Option<Shard>> {
    let variable = |name: &str| std::env::var(name).ok();
    match args.shard {
        None => Ok(None),
        Some(AskedShard::Of(shard)) => Ok(Some(shard)),
        Some(AskedShard::Auto) => {
            environment::shard(variable, args.shards).map(Some).context("--shard auto")
        }
    }
}
