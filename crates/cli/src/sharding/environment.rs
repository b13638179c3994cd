//! `--shard auto`: which part this is, as the engine that started the command says.
//!
//! Looked for in this order: Slurm's tasks, Slurm's job arrays, an Indexed Job of Kubernetes, Open MPI, and
//! the process managers of other MPIs. All that say something must say the same. One of a single part says
//! nothing where another knows of more: a task of a job array is also the only one of its job.

use anyhow::{anyhow, bail};
use streamgauge_schema::Shard;

/// What is looked for, in words.
const LOOKED_FOR: &str = "SLURM_PROCID with SLURM_NTASKS, SLURM_ARRAY_TASK_ID with SLURM_ARRAY_TASK_COUNT, \
                          JOB_COMPLETION_INDEX with --shards N, OMPI_COMM_WORLD_RANK with \
                          OMPI_COMM_WORLD_SIZE, PMI_RANK with PMI_SIZE";

/// What says which part this is, and how.
#[derive(Clone, Debug)]
struct Found {
    shard: Shard,
    /// The variables with their values.
    said: String,
}

/// The part that the variables name. `shards` is how many there are, where that was told.
///
/// # Errors
/// When nothing names one, what names it contradicts another or `shards`, or a value cannot be.
pub(super) fn shard(
    variable: impl Fn(&str) -> Option<String>,
    shards: Option<u64>,
) -> anyhow::Result<Shard> {
    let variables = Variables(variable);
    let found = [
        variables.ranked("SLURM_PROCID", "SLURM_NTASKS")?,
        variables.job_array()?,
        variables.indexed_job(shards)?,
        variables.ranked("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")?,
        variables.ranked("PMI_RANK", "PMI_SIZE")?,
    ];
    let mut found: Vec<Found> = found.into_iter().flatten().collect();
    if found.iter().any(|found| found.shard.of() > 1) {
        found.retain(|found| found.shard.of() > 1);
    }
    let Some(first) = found.first() else {
        bail!("no variable says which part this is; looked for {LOOKED_FOR}. Give --shard I/N");
    };
    let (said, shard) = (&first.said, first.shard);
    if let Some(other) = found.iter().find(|other| other.shard != shard) {
        bail!(
            "{said} make this shard {shard}, and {} make it {}; give --shard I/N",
            other.said,
            other.shard
        );
    }
    match shards.filter(|shards| *shards != shard.of()) {
        None => Ok(shard),
        Some(shards) => {
            bail!("{said} make this shard {shard}, and --shards says that there are {shards}")
        }
    }
}

/// The environment.
struct Variables<F>(F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    /// A variable that holds a number; `None` where it is not set, or empty.
    fn number(&self, name: &str) -> anyhow::Result<Option<u64>> {
        let Some(text) = (self.0)(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        let number = text.trim().parse();
        number.map(Some).map_err(|_| anyhow!("{name}={text:?} is not a number from 0 on"))
    }

    /// A number from 0 on, and how many there are.
    fn ranked(&self, rank: &str, size: &str) -> anyhow::Result<Option<Found>> {
        let Some(number) = self.number(rank)? else { return Ok(None) };
        let Some(of) = self.number(size)? else {
            bail!("{rank}={number} is there, and {size} is not");
        };
        part(number, of, format!("{rank}={number} of {size}={of}")).map(Some)
    }

    /// A task of a job array, whose numbers begin anywhere and may go by steps.
    fn job_array(&self) -> anyhow::Result<Option<Found>> {
        const ID: &str = "SLURM_ARRAY_TASK_ID";
        const COUNT: &str = "SLURM_ARRAY_TASK_COUNT";
        let Some(id) = self.number(ID)? else { return Ok(None) };
        let Some(of) = self.number(COUNT)? else { bail!("{ID}={id} is there, and {COUNT} is not") };
        let least = self.number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
        let step = self.number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
        let said = format!("{ID}={id} of {COUNT}={of}");
        let Some(above) = id.checked_sub(least).filter(|above| above % step == 0) else {
            bail!(
                "{said}: {id} is not among the tasks from {least} on in steps of {step}; number the \
                 tasks of the array evenly, as --array=0-{}",
                of.saturating_sub(1)
            );
        };
        part(above / step, of, said).map(Some)
    }

    /// A pod of an Indexed Job, which does not know how many there are.
    fn indexed_job(&self, shards: Option<u64>) -> anyhow::Result<Option<Found>> {
        const INDEX: &str = "JOB_COMPLETION_INDEX";
        let Some(index) = self.number(INDEX)? else { return Ok(None) };
        let Some(of) = shards else {
            bail!("{INDEX}={index} is there: give --shards N, the completions of the job");
        };
        part(index, of, format!("{INDEX}={index} with --shards {of}")).map(Some)
    }
}

/// The part of a number that counts from 0.
fn part(number: u64, of: u64, said: String) -> anyhow::Result<Found> {
    match number.checked_add(1).and_then(|number| Shard::new(number, of)) {
        Some(shard) => Ok(Found { shard, said }),
        None => bail!(
            "{said}: numbers go from 0 to one less than there are, and there are 1 to {}",
            Shard::MOST
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `NAME=value` pairs come to: `2/4`, or an error.
    fn found(variables: &str, shards: Option<u64>) -> Result<String, String> {
        let pairs: Vec<(&str, &str)> =
            variables.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        let variable = |name: &str| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        match shard(variable, shards) {
            Ok(shard) => Ok(format!("{}/{}", shard.number(), shard.of())),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn engines_are_understood() {
        for (variables, shards, expected) in [
            ("SLURM_PROCID=1 SLURM_NTASKS=4", None, "2/4"),
            ("SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=3", None, "1/3"),
            (
                "SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 \
                 SLURM_ARRAY_TASK_STEP=1",
                None,
                "3/3",
            ),
            (
                "SLURM_ARRAY_TASK_ID=14 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=10 \
                 SLURM_ARRAY_TASK_STEP=2",
                None,
                "3/3",
            ),
            // Each task of an array is a job of one task.
            (
                "SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=3",
                None,
                "3/3",
            ),
            ("JOB_COMPLETION_INDEX=4 SLURM_PROCID=0 SLURM_NTASKS=1", Some(5), "5/5"),
            ("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", None, "1/2"),
            ("PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=1 SLURM_NTASKS=2", Some(2), "2/2"),
            ("SLURM_PROCID=0 SLURM_NTASKS=1", None, "1/1"),
            ("SLURM_PROCID=0 SLURM_NTASKS=1 PMI_RANK=0 PMI_SIZE=1", None, "1/1"),
            // The size of a step of which this is no task says nothing.
            ("SLURM_NTASKS=8 PMI_RANK=0 PMI_SIZE=2", None, "1/2"),
            ("SLURM_PROCID= PMI_RANK=0 PMI_SIZE=2", None, "1/2"),
        ] {
            assert_eq!(found(variables, shards).as_deref(), Ok(expected), "{variables}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (variables, shards, named) in [
            ("", None, &["SLURM_PROCID", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"][..]),
            ("", Some(3), &["OMPI_COMM_WORLD_RANK", "PMI_RANK", "--shard I/N"]),
            (
                "SLURM_PROCID=1 SLURM_NTASKS=4 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4",
                None,
                &["SLURM_PROCID=1", "SLURM_NTASKS=4", "OMPI_COMM_WORLD_RANK=2", "2 of 4", "3 of 4"],
            ),
            (
                "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=4",
                None,
                &["SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_ARRAY_TASK_ID=1", "COUNT=4"],
            ),
            ("PMI_RANK=0 PMI_SIZE=4", Some(5), &["PMI_RANK=0", "PMI_SIZE=4", "--shards", "5"]),
            ("JOB_COMPLETION_INDEX=1", None, &["JOB_COMPLETION_INDEX=1", "--shards N"]),
            ("JOB_COMPLETION_INDEX=3", Some(3), &["JOB_COMPLETION_INDEX=3", "--shards 3"]),
            ("SLURM_PROCID=x SLURM_NTASKS=4", None, &["SLURM_PROCID=\"x\"", "number"]),
            ("SLURM_PROCID=4 SLURM_NTASKS=4", None, &["SLURM_PROCID=4", "SLURM_NTASKS=4"]),
            ("SLURM_PROCID=0 SLURM_NTASKS=0", None, &["SLURM_NTASKS=0"]),
            ("PMI_RANK=0", None, &["PMI_RANK=0", "PMI_SIZE is not"]),
            (
                "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=0 \
                 SLURM_ARRAY_TASK_STEP=2",
                None,
                &["SLURM_ARRAY_TASK_ID=5", "steps of 2", "--array=0-2"],
            ),
            ("PMI_RANK=18446744073709551615 PMI_SIZE=2", None, &["PMI_RANK=18446744073709551615"]),
        ] {
            let error = found(variables, shards).expect_err(variables);
            for part in named {
                assert!(error.contains(part), "{variables}: {part} is not in {error}");
            }
        }
    }
}
