//! The one source of chance. Invariant: what is drawn depends on seed, set and place alone, so that a
//! set of any length begins like a longer one.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Draws for one line of one set.
#[derive(Debug)]
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    /// The draws of line `place`, from 0, of the set that has this number.
    pub(crate) fn new(seed: u64, set: u32, place: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(set) << 32 | u64::from(place));
        Self(rng)
    }

    /// A number below `end`, which is above 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // The bias is below 2⁻⁴⁰ for every `end` used here.
        (self.0.next_u64() % end as u64) as usize
    }

    /// A number from `first` to `last`, both included.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.0.next_u64() % (last - first + 1)
    }

    /// Whether something happens that happens once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of some texts.
    pub(crate) fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }

    /// So many different ones of some values, in no order.
    pub(crate) fn different<T: Copy>(&mut self, of: &[T], count: usize) -> Vec<T> {
        let mut left = of.to_vec();
        (0..count).map(|_| left.swap_remove(self.below(left.len()))).collect()
    }

    /// So many different places below `end`, in ascending order.
    pub(crate) fn places(&mut self, end: usize, count: usize) -> Vec<usize> {
        let all: Vec<usize> = (0..end).collect();
        let mut places = self.different(&all, count);
        places.sort_unstable();
        places
    }
}
