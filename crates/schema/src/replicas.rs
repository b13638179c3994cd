//! Several addresses of one service, and which request goes to which.
//!
//! Invariant: where a request goes is a function of its place and the weights alone.

use serde::{Deserialize, Serialize};

use crate::text::Identifier;

/// One of several addresses that requests go to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Replica {
    /// Scheme, host, port and path prefix, without user or query.
    pub base_url: String,
    /// Its share of the requests, beside the weights of the others.
    pub weight: u64,
}

impl Replica {
    /// What the address at a place, from 0, is called wherever it may not be told: `replica-1`, ….
    ///
    /// # Panics
    /// Never: the name is letters, a dash and digits.
    #[must_use]
    pub fn name(place: usize) -> Identifier {
        Identifier::new(format!("replica-{}", place.saturating_add(1))).expect("letters and digits")
    }
}

/// Which of several addresses each request goes to: in turn, as evenly spread as the weights allow.
///
/// ```
/// use streamgauge_schema::ReplicaTurns;
/// let turns = ReplicaTurns::new(&[3, 1]).unwrap();
/// let places: Vec<usize> = (0..8).map(|index| turns.of(index)).collect();
/// assert_eq!(places, [0, 0, 1, 0, 0, 0, 1, 0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaTurns(Vec<usize>);

impl ReplicaTurns {
    /// Most that all weights come to: a round is as long.
    pub const MOST: u64 = 10_000;
    /// Most addresses.
    pub const MOST_ADDRESSES: usize = 1_000;

    /// The turns of so many addresses; `None` where a weight is 0, where there is no address or more than
    /// [`MOST_ADDRESSES`](Self::MOST_ADDRESSES), or where all weights together pass [`MOST`](Self::MOST).
    #[must_use]
    pub fn new(weights: &[u64]) -> Option<Self> {
        let sum = weights.iter().try_fold(0_u64, |sum, weight| sum.checked_add(*weight))?;
        let fits = sum <= Self::MOST && weights.len() <= Self::MOST_ADDRESSES;
        if sum == 0 || !fits || weights.contains(&0) {
            return None;
        }
        // Each turn goes to whom it has been owed to the longest: smooth weighted round robin.
        let weight = |place: usize| i128::from(weights[place]);
        let mut owed = vec![0_i128; weights.len()];
        let turns = (0..sum).map(|_| {
            (0..owed.len()).for_each(|place| owed[place] += weight(place));
            let next = (0..owed.len()).rev().max_by_key(|place| owed[*place]).unwrap_or_default();
            owed[next] -= i128::from(sum);
            next
        });
        Some(Self(turns.collect()))
    }

    /// The address of the request at this place of its stage, from 0.
    #[must_use]
    pub fn of(&self, index: u64) -> usize {
        self.0[(index % self.0.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_holds_each_address_as_often_as_it_weighs() {
        for weights in [&[1][..], &[1, 1], &[5, 1, 1], &[2, 3, 7, 11]] {
            let turns = ReplicaTurns::new(weights).unwrap();
            let sum = weights.iter().sum::<u64>();
            for (place, weight) in weights.iter().enumerate() {
                let count = (0..3 * sum).filter(|index| turns.of(*index) == place).count() as u64;
                assert_eq!(count, 3 * weight, "{weights:?}");
            }
        }
    }

    #[test]
    fn turns_are_spread_out() {
        let turns = ReplicaTurns::new(&[5, 1, 1]).unwrap();
        let round: Vec<usize> = (0..7).map(|index| turns.of(index)).collect();
        assert_eq!(round, [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn weights_that_make_no_round_are_refused() {
        for weights in
            [&[][..], &[0], &[1, 0], &[ReplicaTurns::MOST, 1], &[u64::MAX, 1], &[1; 1_001]]
        {
            assert_eq!(ReplicaTurns::new(weights), None, "{weights:?}");
        }
        assert!(ReplicaTurns::new(&[1; 1_000]).is_some());
    }
}
