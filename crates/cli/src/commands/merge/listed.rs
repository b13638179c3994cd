//! Where the shards lie, as seen from the merged run's directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use streamgauge_client::RunDir;
use streamgauge_schema::{Digest, Layout, MergedShard, MergedShards, Plan, Shard, file_bytes};

use crate::journals::SHARDS_VERSION;

/// Each shard's number with its path, by number.
#[derive(Debug)]
pub(super) struct Listed {
    of: u64,
    shards: Vec<(u64, String)>,
}

impl Listed {
    pub(super) fn of<'a>(
        of: u64,
        shards: impl Iterator<Item = (Shard, &'a RunDir)>,
        merged: &RunDir,
    ) -> anyhow::Result<Self> {
        let from = absolute(merged.path())?;
        let each = shards.map(|(shard, dir)| {
            let path = relative(&absolute(dir.path())?, &from);
            Ok((shard.number(), path.to_string_lossy().into_owned()))
        });
        Ok(Self { of, shards: each.collect::<anyhow::Result<_>>()? })
    }

    /// What `shards.json` holds, with the digests of the journals.
    pub(super) fn bytes(self, plan: &Plan, journals: &[Digest]) -> anyhow::Result<Vec<u8>> {
        let shards = self.shards.into_iter().zip(journals);
        let shards = shards.map(|((number, path), digest)| MergedShard {
            number,
            path,
            journal_sha256: *digest,
        });
        let merged = MergedShards {
            shards_version: SHARDS_VERSION,
            plan_sha256: Digest::of_value(plan)?,
            of: self.of,
            shards: shards.collect(),
        };
        Ok(file_bytes(&merged, Layout::Sorted)?)
    }
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A path as seen from a folder; both are absolute.
fn relative(path: &Path, from: &Path) -> PathBuf {
    let shared = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    // Where they have nothing but the root in common, the one may be mounted elsewhere than the other.
    if shared <= 1 {
        return path.to_owned();
    }
    let up = from.components().skip(shared).map(|_| Path::new(".."));
    let down = path.components().skip(shared).map(|it| Path::new(it.as_os_str()));
    up.chain(down).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_merged_run() {
        for (path, from, expected) in [
            ("/lab/shards/a", "/lab/runs/m", "../../shards/a"),
            ("/lab/runs/a", "/lab/runs/m", "../a"),
            ("/data/a", "/lab/runs/m", "/data/a"),
        ] {
            assert_eq!(relative(Path::new(path), Path::new(from)), Path::new(expected));
        }
    }
}
