//! The one source of chance: a generator that depends on a seed, a purpose and a key, and on
//! nothing else.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// What a generator is for, so that answers, their faults and timing never share a sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Answer,
    Fault,
    Timing,
}

/// The generator for `key` (a prompt, a request id) under `seed`.
pub(crate) fn generator(seed: u64, purpose: Purpose, key: &str) -> ChaCha8Rng {
    let domain = match purpose {
        Purpose::Answer => b'a',
        Purpose::Fault => b'f',
        Purpose::Timing => b't',
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(fnv1a(domain, key.as_bytes()));
    rng
}

/// Uniform in `0.0..1.0`.
pub(crate) fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Standard normal, by Box and Muller.
pub(crate) fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - unit(rng)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(rng)).cos()
}

/// The 64-bit FNV-1a hash: stable over releases of the standard library, whose own hasher is not.
fn fnv1a(domain: u8, bytes: &[u8]) -> u64 {
    std::iter::once(&domain).chain(bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_depends_on_seed_purpose_and_key() {
        let first = |seed, purpose, key| generator(seed, purpose, key).next_u64();
        let base = first(1, Purpose::Answer, "x");
        assert_eq!(base, first(1, Purpose::Answer, "x"));
        assert_ne!(base, first(2, Purpose::Answer, "x"));
        assert_ne!(base, first(1, Purpose::Timing, "x"));
        assert_ne!(base, first(1, Purpose::Answer, "y"));
    }

    #[test]
    fn fnv1a_gives_the_published_value() {
        assert_eq!(fnv1a(b'f', b"oobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn numbers_have_the_distribution_they_claim() {
        let mut rng = generator(7, Purpose::Timing, "");
        let uniform: Vec<f64> = (0..4000).map(|_| unit(&mut rng)).collect();
        assert!(uniform.iter().all(|value| (0.0..1.0).contains(value)));
        assert!((uniform.iter().sum::<f64>() / 4000.0 - 0.5).abs() < 0.02);
        let normal: Vec<f64> = (0..4000).map(|_| normal(&mut rng)).collect();
        assert!((normal.iter().sum::<f64>() / 4000.0).abs() < 0.06);
        assert!((normal.iter().map(|value| value * value).sum::<f64>() / 4000.0 - 1.0).abs() < 0.1);
    }
}
