//! How many blocks are taken and when somebody looks: fixed before the first block.

use anyhow::bail;
use clap::Args;
use streamgauge_schema::QualificationPlan;

use super::file::{PlanFile, UntilDecided, millis};
use crate::flags::Source;

/// Fewest blocks that have an interval.
const FEWEST: u64 = 3;
/// More blocks than anybody takes.
const MOST: u64 = QualificationPlan::MAX_BLOCKS;
/// Blocks at the first of several looks.
const FIRST_LOOK: u64 = 4;
/// Blocks from one look to the next: both orders of a block once more.
const BETWEEN_LOOKS: u64 = 2;
/// Blocks at the last of several looks, where nobody says.
const MOST_UNTIL_DECIDED: u64 = 12;

/// What the command says of the schedule beside the file.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Schedule")]
pub(crate) struct ScheduleArgs {
    /// Look after 4, 6, 8 … blocks, each time at an equal share of alpha, and stop at the first look
    /// at which a gate fails or none is left inconclusive
    #[arg(long)]
    pub(crate) until_decided: bool,
    /// Blocks at the last look [default: 12]
    #[arg(long, value_name = "BLOCKS", requires = "until_decided")]
    pub(crate) max_blocks: Option<u64>,
    /// Begin no block once so many seconds have been spent
    #[arg(long, value_name = "SECONDS", requires = "until_decided")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_time: Option<f64>,
    /// Exchange the addresses of the arms half-way: somebody is asked to swap the builds
    #[arg(long, conflicts_with = "until_decided")]
    pub(crate) swap_addresses: bool,
}

/// The schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) aa_blocks: u64,
    pub(super) planned_blocks: Vec<u64>,
    pub(super) max_time_ms: Option<u64>,
    pub(super) swap_after_blocks: Option<u64>,
}

impl ScheduleArgs {
    /// The same as words of a command line.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        words.extend(self.until_decided.then(|| "--until-decided".to_owned()));
        words.extend(self.max_blocks.map(|blocks| format!("--max-blocks={blocks}")));
        words.extend(self.max_time.map(|seconds| format!("--max-time={seconds}")));
        words.extend(self.swap_addresses.then(|| "--swap-addresses".to_owned()));
        words
    }
}

impl Schedule {
    /// What file and command say together; the command's options go before the file's.
    pub(super) fn of(
        source: &Source,
        file: &PlanFile,
        args: &ScheduleArgs,
    ) -> anyhow::Result<Self> {
        let aa_blocks = aa_blocks(source, file)?;
        let (planned_blocks, max_time_ms) = if args.until_decided {
            by_arguments(args)?
        } else {
            match (&file.blocks, &file.until_decided) {
                (Some(blocks), None) => {
                    let count = *blocks.get_ref();
                    if !(FEWEST..=MOST).contains(&count) {
                        return Err(source.fault(
                            blocks.span(),
                            &format!(
                                "blocks = {count}: a verdict takes {FEWEST} blocks, and nobody \
                                 takes more than {MOST}"
                            ),
                        ));
                    }
                    (vec![count], None)
                }
                (None, Some(until)) => by_file(source, until)?,
                (Some(blocks), Some(_)) => {
                    return Err(source.fault(
                        blocks.span(),
                        "blocks and [until_decided] contradict each other; keep one",
                    ));
                }
                (None, None) => {
                    return Err(source.fault_of_all(
                        "it says neither `blocks = …` nor `[until_decided]`, and --until-decided \
                         was not given",
                    ));
                }
            }
        };
        let swap_after_blocks = match (args.swap_addresses, &planned_blocks[..]) {
            (false, _) => None,
            (true, [blocks]) if blocks.is_multiple_of(2) => Some(blocks / 2),
            (true, [blocks]) => {
                bail!("--swap-addresses: {blocks} blocks have no half; take an even number")
            }
            (true, _) => {
                bail!("--swap-addresses needs a fixed number of blocks: looks have no half")
            }
        };
        Ok(Self { aa_blocks, planned_blocks, max_time_ms, swap_after_blocks })
    }
}

fn aa_blocks(source: &Source, file: &PlanFile) -> anyhow::Result<u64> {
    let Some(aa) = &file.aa else { return Ok(0) };
    match *aa.get_ref() {
        0 => Ok(0),
        count if (FEWEST..=MOST).contains(&count) => Ok(count),
        count => Err(source.fault(
            aa.span(),
            &format!(
                "aa = {count}: the noise of the baseline is known from {FEWEST} blocks on; fewer \
                 take time and say nothing"
            ),
        )),
    }
}

fn by_arguments(args: &ScheduleArgs) -> anyhow::Result<(Vec<u64>, Option<u64>)> {
    let most = args.max_blocks.unwrap_or(MOST_UNTIL_DECIDED);
    let Some(looks) = looks(most) else { bail!("--max-blocks {most}: {}", wanted()) };
    let max_time_ms =
        args.max_time.map(|seconds| crate::planning::millis("--max-time", seconds)).transpose()?;
    Ok((looks, max_time_ms))
}

fn by_file(source: &Source, until: &UntilDecided) -> anyhow::Result<(Vec<u64>, Option<u64>)> {
    let most = until.max_blocks.as_ref().map_or(MOST_UNTIL_DECIDED, |most| *most.get_ref());
    let Some(looks) = looks(most) else {
        let place = until.max_blocks.as_ref().map_or(0..0, |most| most.span());
        return Err(source.fault(place, &format!("max_blocks = {most}: {}", wanted())));
    };
    let max_time_ms = until
        .max_time_s
        .as_ref()
        .map(|seconds| millis(source, "max_time_s", seconds))
        .transpose()?;
    Ok((looks, max_time_ms))
}

fn wanted() -> String {
    format!(
        "looks are taken after {FIRST_LOOK}, 6, 8 … blocks, up to an even number of at most {MOST}"
    )
}

/// The looks up to so many blocks; `None` where none is planned for that number.
fn looks(most: u64) -> Option<Vec<u64>> {
    let planned =
        (FIRST_LOOK..=MOST).contains(&most) && (most - FIRST_LOOK).is_multiple_of(BETWEEN_LOOKS);
    planned.then(|| (FIRST_LOOK..=most).step_by(BETWEEN_LOOKS as usize).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_planned_before_the_first_block() {
        assert_eq!(looks(12), Some(vec![4, 6, 8, 10, 12]));
        assert_eq!(looks(4), Some(vec![4]));
        for most in [0, 2, 3, 5, 1_001] {
            assert_eq!(looks(most), None, "{most}");
        }
    }
}
