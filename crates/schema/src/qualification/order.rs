//! The order of a qualification: which arm is measured when.
//!
//! Invariant: the order is a function of three numbers, fixed before the first run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{QualificationPhase, QualificationSide};

/// One arm's part of a block: it is brought up if need be, and all cells are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Visit {
    /// The part of the qualification.
    pub phase: QualificationPhase,
    /// The block within it, from 1.
    pub block: u64,
    /// The side of the block.
    pub side: QualificationSide,
}

/// Every visit in its order: blocks of the baseline against itself first, then those of both arms, and
/// last the turnover runs. Within each phase the order of the sides alternates from block to block, A B, B A, so that a
/// steady drift cancels out over each two of them.
///
/// ```
/// use streamgauge_schema::visits;
/// let order: Vec<String> = visits(0, 3, 0).iter().map(|visit| visit.side.to_string()).collect();
/// assert_eq!(
///     order,
///     ["baseline", "candidate", "candidate", "baseline", "baseline", "candidate"]
/// );
/// assert_eq!(visits(3, 4, 2).len(), 18);
/// ```
#[must_use]
pub fn visits(aa_blocks: u64, blocks: u64, turnovers: u64) -> Vec<Visit> {
    let phases = [
        (QualificationPhase::Aa, aa_blocks),
        (QualificationPhase::Blocks, blocks),
        (QualificationPhase::Turnover, turnovers),
    ];
    let blocks =
        phases.into_iter().flat_map(|(phase, count)| (1..=count).map(move |block| (phase, block)));
    blocks.flat_map(|(phase, block)| of_block(phase, block)).collect()
}

fn of_block(phase: QualificationPhase, block: u64) -> [Visit; 2] {
    use QualificationSide::{Baseline, Candidate};
    let sides = if block % 2 == 1 { [Baseline, Candidate] } else { [Candidate, Baseline] };
    sides.map(|side| Visit { phase, block, side })
}

impl Visit {
    /// The arm whose build is measured: in the A/A the baseline's on both sides.
    #[must_use]
    pub fn arm(self) -> QualificationSide {
        match self.phase {
            QualificationPhase::Aa => QualificationSide::Baseline,
            QualificationPhase::Blocks | QualificationPhase::Turnover => self.side,
        }
    }

    /// Whether the arm has to be brought up, when `before` was measured last: another side was up.
    /// The two sides of an A/A count as different ones although they are one arm, so that the noise
    /// that it shows is the noise of the blocks, with what a restart does in it.
    ///
    /// ```
    /// use streamgauge_schema::visits;
    /// let order = visits(0, 2, 0);
    /// assert!(order[1].switches_from(Some(order[0])));
    /// assert!(!order[2].switches_from(Some(order[1])));
    /// assert!(order[0].switches_from(None), "nobody knows what is up");
    /// ```
    #[must_use]
    pub fn switches_from(self, before: Option<Self>) -> bool {
        before.is_none_or(|before| before.side != self.side)
    }
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (block, side) = (self.block, self.side);
        match (self.phase, side) {
            (QualificationPhase::Blocks, _) => write!(f, "block {block}, {side}"),
            (QualificationPhase::Turnover, _) => write!(f, "turnover {block}, {side}"),
            (QualificationPhase::Aa, QualificationSide::Baseline) => {
                write!(f, "A/A block {block}, {side}")
            }
            (QualificationPhase::Aa, QualificationSide::Candidate) => {
                write!(f, "A/A block {block}, baseline again")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_order_as_a_person_reads_it() {
        let shown: Vec<String> = visits(2, 2, 1).iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "A/A block 1, baseline",
                "A/A block 1, baseline again",
                "A/A block 2, baseline again",
                "A/A block 2, baseline",
                "block 1, baseline",
                "block 1, candidate",
                "block 2, candidate",
                "block 2, baseline",
                "turnover 1, baseline",
                "turnover 1, candidate",
            ]
        );
        assert!(visits(0, 0, 0).is_empty());
    }

    #[test]
    fn a_side_that_goes_on_is_not_brought_up_again() {
        let order = visits(2, 3, 0);
        let before = std::iter::once(None).chain(order.iter().copied().map(Some));
        let switches: Vec<bool> =
            order.iter().zip(before).map(|(visit, before)| visit.switches_from(before)).collect();
        // A B | B A | A B | B A | A B
        assert_eq!(switches, [true, true, false, true, false, true, false, true, false, true]);
    }

    proptest! {
        #[test]
        fn each_block_has_both_sides_and_orders_alternate(
            aa in 0_u64..40,
            blocks in 0_u64..40,
            turnovers in 0_u64..5,
        ) {
            let order = visits(aa, blocks, turnovers);
            prop_assert_eq!(order.len() as u64, 2 * (aa + blocks + turnovers));
            for pair in order.chunks(2) {
                prop_assert_eq!((pair[0].phase, pair[0].block), (pair[1].phase, pair[1].block));
                prop_assert_ne!(pair[0].side, pair[1].side);
            }
            for two in order.chunks(2).collect::<Vec<_>>().windows(2) {
                if two[0][0].phase == two[1][0].phase {
                    prop_assert_eq!(two[0][1].side, two[1][0].side);
                }
            }
            let order = visits(aa, blocks, 0);
            let longer = visits(aa, blocks + 1, 0);
            prop_assert_eq!(&longer[..order.len()], &order[..], "more blocks change no earlier one");
        }
    }
}
