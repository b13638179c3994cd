//! The shards behind some paths, held to each other before anything is made of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use streamgauge_client::RunDir;
use streamgauge_schema::{Plan, Shard, Timestamp};

use super::grades;
use super::listed::Listed;
use crate::journals::{JournalFile, Journals, is_merged};
use crate::rebuild::read_plan;

/// How far apart shards of one run may begin. Beyond that a clock is wrong or they met other loads, and a rate
/// over all of them would mean nothing.
const APART_US: i64 = 86_400_000_000;
/// Most numbers that are named.
const NAMED: usize = 20;

/// One shard.
#[derive(Debug)]
struct Found {
    dir: RunDir,
    plan: Plan,
    shard: Shard,
    journal: JournalFile,
}

/// The shards of one run, by number. None of them is added to as long as this lives.
#[derive(Debug)]
pub(super) struct Shards {
    all: BTreeMap<u64, Found>,
    of: u64,
}

impl Shards {
    /// Those behind some paths.
    ///
    /// # Errors
    /// When one is no shard or its run is still going, or when they are not of the same run.
    pub(super) fn find(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut all: BTreeMap<u64, Found> = BTreeMap::new();
        for dir in dirs(paths)? {
            let found = Found::read(dir)?;
            let other = all.values().next();
            other.map_or(Ok(()), |other| found.check_alike(other))?;
            if let Some(other) = all.get(&found.shard.number()) {
                let [one, two] = [&other.dir, &found.dir].map(|dir| dir.path().display());
                bail!("shard {} is there twice: {one} and {two}; name one of them", found.shard);
            }
            all.insert(found.shard.number(), found);
        }
        let first = all.values().next().context("no shard is there")?;
        let of = first.shard.of();
        let shards = Self { all, of };
        shards.check_together()?;
        Ok(shards)
    }

    /// Refuses shards that cannot have been at work together.
    fn check_together(&self) -> anyhow::Result<()> {
        let started = |found: &&Found| found.journal.header.started_at;
        let (first, last) =
            (self.all.values().min_by_key(started), self.all.values().max_by_key(started));
        let Some((first, last)) = first.zip(last) else { return Ok(()) };
        let [one, two] = [first, last].map(|found| found.journal.header.started_at);
        if two.unix_micros() - one.unix_micros() > APART_US {
            let [this, that] = [first, last].map(|found| found.dir.path().display());
            bail!(
                "{this} began at {one}, {that} at {two}, more than a day later: a machine's clock was wrong, \
                 or they are not shards of one run"
            );
        }
        Ok(())
    }

    /// Holds them to their number.
    pub(super) fn check_all_there(&self, may_be_missing: bool) -> anyhow::Result<()> {
        let missing: Vec<u64> = (1..=self.of).filter(|it| !self.all.contains_key(it)).collect();
        if missing.is_empty() || may_be_missing {
            return Ok(());
        }
        let named: Vec<String> = missing.iter().take(NAMED).map(u64::to_string).collect();
        let more = match missing.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        bail!(
            "shards are missing: {}{more} of {}. Name their directories too; --allow-missing makes a run \
             of what is there, which counts as cut off",
            named.join(", "),
            self.of
        )
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.first().plan
    }

    /// The earliest start by the wall clocks.
    pub(super) fn started_at(&self) -> Timestamp {
        let starts = self.all.values().map(|found| found.journal.header.started_at);
        starts.min().unwrap_or_else(|| self.first().journal.header.started_at)
    }

    /// Their journals, and the list of where they lie, in which the digests of the journals are missing.
    ///
    /// # Errors
    /// When a directory is gone.
    pub(super) fn into_journals(self, merged: &RunDir) -> anyhow::Result<(Journals, Listed)> {
        let listed = Listed::of(self.of, self.all.values().map(|it| (it.shard, &it.dir)), merged)?;
        let files = self.all.into_values().map(|found| found.journal).collect();
        Ok((Journals { files, is_merged: true }, listed))
    }

    /// The bytes of the receipts of all; `None` where nothing graded them.
    ///
    /// # Errors
    /// When some were graded and others not, or not by the same.
    pub(super) fn grades(&self) -> anyhow::Result<Option<Vec<u8>>> {
        grades::of_all(self.all.values().map(|found| &found.dir), self.plan())
    }

    fn first(&self) -> &Found {
        self.all.values().next().expect("there are some")
    }
}

impl Found {
    fn read(dir: RunDir) -> anyhow::Result<Self> {
        let plan = read_plan(&dir)?;
        let (path, shown) = (dir.journal(), dir.path().display());
        if is_merged(&dir) {
            bail!("{shown} was merged from shards; name the shards");
        }
        if !path.exists() {
            bail!("{shown} has no journal: its run never began");
        }
        let journal = JournalFile::open(&path)?;
        let Some(shard) = journal.header.shard else {
            bail!("{shown} is no shard: it is a whole run (run --shard makes shards)");
        };
        let journal = journal.of_shard(shard.number())?;
        Ok(Self { dir, plan, shard, journal })
    }

    /// Holds it to another one.
    fn check_alike(&self, other: &Self) -> anyhow::Result<()> {
        let [this, that] = [self, other].map(|found| found.dir.path().display());
        let (mine, its) = (&self.journal.header.plan_sha256, &other.journal.header.plan_sha256);
        if mine != its {
            let [one, two] = [&self.plan, &other.plan].map(|plan| &plan.instrument_version);
            if one != two {
                bail!("{this} was measured by {one}, {that} by {two}: shards are of one version");
            }
            bail!(
                "{this} carried out the plan {}…, {that} the plan {}…: they are shards of different runs",
                mine.prefix(12),
                its.prefix(12)
            );
        }
        if self.shard.of() != other.shard.of() {
            let [one, two] = [self.shard, other.shard];
            bail!("{this} is shard {one}, {that} is shard {two}: the run was divided differently");
        }
        Ok(())
    }
}

/// Run directories, and those that lie in folders. What was merged before may lie beside the shards.
fn dirs(paths: &[PathBuf]) -> anyhow::Result<Vec<RunDir>> {
    let mut all = Vec::new();
    for path in paths {
        let dir = RunDir::at(path);
        if dir.plan().exists() {
            all.push(dir);
            continue;
        }
        let entries =
            fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut found: Vec<RunDir> = entries
            .filter_map(|entry| Some(RunDir::at(&entry.ok()?.path())))
            .filter(|dir| dir.plan().exists() && !is_merged(dir))
            .collect();
        if found.is_empty() {
            bail!("{} is no run directory and holds no shard", path.display());
        }
        found.sort_by(|one, other| one.path().cmp(other.path()));
        all.extend(found);
    }
    Ok(all)
}
