//! A code of its own for every request of a run.
//!
//! Invariant: [`code`] is a bijection of stage and index for each seed, so whatever spells out the
//! whole code is unique by construction, not by luck. Codes of neighbours differ from their first
//! digits on, so that no prompt cache finds a common beginning.

use streamgauge_schema::Stage;

/// Keeps the codes of families away from those of requests with the same seed.
const FAMILIES: u64 = 0x5b7e_151f_3a08_c9d2;

/// The code of one request; distinct for all indexes below 2⁶³ of both stages.
pub(crate) fn code(seed: u64, stage: Stage, index: u64) -> u64 {
    mix(mix(seed).wrapping_add(ordinal(stage, index)))
}

/// The code of what the requests of one family have in common.
pub(crate) fn family_code(seed: u64, family: u64) -> u64 {
    mix(mix(seed ^ FAMILIES).wrapping_add(family))
}

/// Numbers that [`short_code`] gives are below this: they have eight digits.
const SHORT_CODES: u64 = 100_000_000;
/// Bits of the numbers that are mixed for them: the fewest that hold them all.
const SHORT_BITS: u32 = 27;

/// A number of one request that a model can copy; distinct for all indexes below 50 million of both
/// stages.
pub(crate) fn short_code(seed: u64, stage: Stage, index: u64) -> u64 {
    let seed = mix(seed);
    let mut code = (ordinal(stage, index) % SHORT_CODES + seed % SHORT_CODES) % SHORT_CODES;
    // Mixing moves numbers within a cycle, and the next one on it that is small enough is nobody else's.
    loop {
        code = mix_short(code ^ seed >> (u64::BITS - SHORT_BITS));
        if code < SHORT_CODES {
            return code;
        }
    }
}

/// A number of its own for each request: measured ones are even, warm-up ones odd.
pub(crate) fn ordinal(stage: Stage, index: u64) -> u64 {
    match stage {
        Stage::Measured => index << 1,
        Stage::Warmup => index << 1 | 1,
    }
}

/// One step of SplitMix64: each operation can be undone, so different inputs stay different.
fn mix(input: u64) -> u64 {
    let mut mixed = input.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Mixes so many bits; each operation can be undone here too.
fn mix_short(input: u64) -> u64 {
    const MASK: u64 = (1 << SHORT_BITS) - 1;
    let mut mixed = input & MASK;
    for factor in [0x7feb_352d, 0x846c_a68b] {
        mixed ^= mixed >> (SHORT_BITS / 2 + 1);
        mixed = mixed.wrapping_mul(factor) & MASK;
    }
    mixed ^ mixed >> (SHORT_BITS / 2 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_gives_the_published_sequence() {
        // The first outputs of SplitMix64 with state 0.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn stages_and_neighbours_are_apart() {
        let codes = [
            code(0, Stage::Measured, 0),
            code(0, Stage::Measured, 1),
            code(0, Stage::Warmup, 0),
            code(1, Stage::Measured, 0),
            code(2, Stage::Measured, 0),
            code(0, Stage::Measured, u64::MAX >> 1),
            code(0, Stage::Warmup, u64::MAX >> 1),
        ];
        for (place, code) in codes.iter().enumerate() {
            for other in &codes[..place] {
                assert_ne!(code >> 48, other >> 48);
            }
        }
    }
}
