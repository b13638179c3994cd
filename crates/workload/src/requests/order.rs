//! Which prompt a request asks, where each prompt is asked several times.
//!
//! Invariant: requests come in rounds, each of which asks every prompt once. Each round has an order of
//! its own, so that a prompt has other neighbours in a server's batch each time: an answer that depends
//! on them shows.

/// How often each prompt is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounds {
    /// Prompts of a round; no run has as many where each is asked once.
    prompts: u64,
}

impl Rounds {
    /// So many requests in so many rounds.
    pub(super) fn new(requests: u64, repetitions: u64) -> Self {
        let prompts = if repetitions < 2 { u64::MAX } else { (requests / repetitions).max(1) };
        Self { prompts }
    }

    /// Different prompts of so many requests.
    pub(super) fn prompts_of(self, requests: u64) -> u64 {
        requests.min(self.prompts)
    }

    /// The prompt that the request with this index asks.
    pub(super) fn prompt_of(self, index: u64) -> u64 {
        let (round, place) = (index / self.prompts, index % self.prompts);
        let prompt = u128::from(place) * u128::from(self.stride(round)) % u128::from(self.prompts);
        prompt as u64
    }

    /// How far apart a round's neighbours are in the order of the prompts: 1 in the first round. It has no
    /// divisor in common with their number, so that a round meets each of them once.
    fn stride(self, round: u64) -> u64 {
        let apart = |stride: &u64| common_divisor(*stride, self.prompts) == 1;
        // Each round begins its search where another golden section of the prompts ends.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let section = (u128::from(round.wrapping_mul(GOLDEN)) * u128::from(self.prompts)) >> 64;
        let first = 1 + section as u64;
        (first..)
            .find(apart)
            .expect("the next number after a multiple has no divisor in common with it")
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_round_asks_every_prompt_once_and_has_other_neighbours() {
        for prompts in [1, 2, 3, 8, 64, 97, 1000] {
            let rounds = Rounds::new(5 * prompts, 5);
            assert_eq!(rounds.prompts_of(5 * prompts), prompts);
            let round = |round: u64| -> Vec<u64> {
                (0..prompts).map(|place| rounds.prompt_of(round * prompts + place)).collect()
            };
            assert!(round(0).into_iter().eq(0..prompts), "the first is as it was written");
            for number in 1..5 {
                let asked: BTreeSet<u64> = round(number).into_iter().collect();
                assert_eq!(asked.len() as u64, prompts, "round {number} of {prompts}");
            }
            let orders: BTreeSet<Vec<u64>> = (0..5).map(round).collect();
            assert!(
                prompts < 64 || orders.len() == 5,
                "{prompts} prompts in {} orders",
                orders.len()
            );
        }
    }

    #[test]
    fn requests_that_are_asked_once_keep_their_order() {
        let rounds = Rounds::new(10, 1);
        assert!((0..10).map(|index| rounds.prompt_of(index)).eq(0..10));
        assert_eq!(Rounds::new(10, 1).prompts_of(10), 10);
        assert_eq!(Rounds::new(0, 1).prompt_of(7), 7, "an index beyond the run has a prompt too");
    }
}
