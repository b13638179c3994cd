//! Prompts that both sides of a cell were sent, and on which side they were answered right.

use std::collections::{BTreeMap, BTreeSet};

use streamgauge_schema::{Digest, Identifier, Phase, PromptPairs, RunRecord, RunRecordV2, Tally};

use super::pairing::{CellRuns, cells};
use super::{CompareError, Pairing, Side};

/// How often the prompts of graded runs were sent and answered right, by the ids of their records. A
/// record names no prompt: this comes from the journal and the receipts beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptOutcomes(BTreeMap<Identifier, BTreeMap<Digest, Tally>>);

impl PromptOutcomes {
    /// Those of no run: nothing was graded, or records alone are at hand.
    pub const NONE: Self = Self(BTreeMap::new());

    /// Adds a run, as [`CollectedRun::outcomes`](crate::CollectedRun::outcomes) gives it.
    pub fn add(&mut self, run_id: Identifier, outcomes: BTreeMap<Digest, Tally>) {
        self.0.insert(run_id, outcomes);
    }

    fn of(&self, run: &RunRecordV2) -> Option<&BTreeMap<Digest, Tally>> {
        self.0.get(&run.run_id)
    }
}

/// The prompts of a cell that one side alone answered right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscordantPrompts {
    /// The cell.
    pub cell: Identifier,
    /// Right with the baseline alone.
    pub baseline_only: Vec<Digest>,
    /// Right with the candidate alone.
    pub candidate_only: Vec<Digest>,
}

/// The prompts that one side alone answered right, cell by cell, as `compare_blocks` counts them. They
/// are nobody's but the operator's: a comparison holds their numbers.
///
/// # Errors
/// When the records are not paired as they should be.
pub fn discordant_prompts(
    baseline: &[RunRecord],
    candidate: &[RunRecord],
    pairing: Pairing,
    outcomes: &PromptOutcomes,
) -> Result<Vec<DiscordantPrompts>, CompareError> {
    let (baseline, candidate) = (of_speed(baseline), of_speed(candidate));
    if baseline.is_empty() {
        return Err(CompareError::NoRuns { side: Side::Baseline });
    }
    let cells = cells(&baseline, &candidate, pairing)?;
    Ok(cells.iter().filter_map(|runs| Pairs::of(runs, outcomes)).map(|it| it.discordant).collect())
}

/// The runs that were measured for their speed: what became of turnovers is counted apart.
fn of_speed(records: &[RunRecord]) -> Vec<&RunRecordV2> {
    let run = |record| match record {
        &RunRecord::V1(_) => None,
        RunRecord::V2(run) => Some(&**run),
    };
    records.iter().filter_map(run).filter(|run| run.phase != Phase::Turnover).collect()
}

/// How the prompts of a cell pair up.
pub(super) struct Pairs {
    pub(super) counts: PromptPairs,
    pub(super) discordant: DiscordantPrompts,
}

/// Right in more than half of its answers: a run may have sent it several times.
fn is_right(Tally { count, of }: Tally) -> bool {
    count > of / 2
}

fn is_unsteady(Tally { count, of }: Tally) -> bool {
    (1..of).contains(&count)
}

/// What became of each prompt in the runs of a side, one after the other.
type Outcomes<'a> = Vec<&'a BTreeMap<Digest, Tally>>;

impl Pairs {
    /// `None` where the outcomes of some run are not known.
    pub(super) fn of(runs: &CellRuns<'_>, outcomes: &PromptOutcomes) -> Option<Self> {
        // Of sides with different numbers of runs, the first ones of each count.
        let taken = runs.baseline.len().min(runs.candidate.len());
        let known = |runs: &[&RunRecordV2]| -> Option<Outcomes<'_>> {
            runs.iter().take(taken).map(|run| outcomes.of(run)).collect()
        };
        let (old, new) = (known(&runs.baseline)?, known(&runs.candidate)?);
        let mut pairs = Self {
            counts: PromptPairs { runs: taken as u64, ..PromptPairs::default() },
            discordant: DiscordantPrompts {
                cell: runs.cell.clone(),
                baseline_only: Vec::new(),
                candidate_only: Vec::new(),
            },
        };
        let prompts: BTreeSet<&Digest> =
            old.iter().chain(&new).flat_map(|outcomes| outcomes.keys()).collect();
        prompts.into_iter().for_each(|prompt| pairs.add(*prompt, &old, &new));
        Some(pairs)
    }

    fn add(&mut self, prompt: Digest, old: &Outcomes<'_>, new: &Outcomes<'_>) {
        let Self { counts, discordant } = self;
        let unsteady = [old, new].into_iter().any(|side| is_unsteady(in_all(&prompt, side)));
        counts.unsteady += u64::from(unsteady);
        let both =
            old.iter().zip(new).filter_map(|(old, new)| old.get(&prompt).zip(new.get(&prompt)));
        let both: Vec<(&Tally, &Tally)> = both.collect();
        let Some((old, new)) = both.get(place(&prompt, both.len())) else {
            counts.unpaired += 1;
            return;
        };
        match (is_right(**old), is_right(**new)) {
            (true, true) => counts.both += 1,
            (true, false) => {
                counts.baseline_only += 1;
                discordant.baseline_only.push(prompt);
            }
            (false, true) => {
                counts.candidate_only += 1;
                discordant.candidate_only.push(prompt);
            }
            (false, false) => counts.neither += 1,
        }
    }
}

/// Which of so many pairs of runs speaks for a prompt: drawn by its digest, so that it is the same for
/// whoever compares, and that what is wrong at times is found as often as it is wrong.
fn place(prompt: &Digest, pairs: usize) -> usize {
    /// Hexadecimal digits that fit into 64 bits.
    const DIGITS: usize = 16;
    let drawn = u64::from_str_radix(&prompt.prefix(DIGITS), 16).unwrap_or_default();
    drawn.checked_rem(pairs as u64).unwrap_or_default() as usize
}

/// All answers of a side to a prompt.
fn in_all(prompt: &Digest, side: &Outcomes<'_>) -> Tally {
    let known = side.iter().filter_map(|outcomes| outcomes.get(prompt));
    known.fold(Tally { count: 0, of: 0 }, |sum, one| Tally {
        count: sum.count.saturating_add(one.count),
        of: sum.of.saturating_add(one.of),
    })
}
