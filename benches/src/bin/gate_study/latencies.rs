//! Latencies of one run: so many requests around a run's own level, and their median.
//!
//! What a run shows has two noises: the requests that it happened to draw, and how the machine was
//! that day. The second is chosen so that both together have the standard deviation that is asked
//! for.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use streamgauge_metrics::median;

/// Requests of a run.
const REQUESTS: usize = 101;
/// Runs by which the noise of drawing requests is found.
const PILOT_RUNS: usize = 20_000;

/// How the latencies of a run's requests are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Seven of ten requests around 100 ms, three around 160 ms, as where some find a cache.
    Bimodal,
    /// One long tail.
    Lognormal,
}

impl Shape {
    fn latency_ms(self, rng: &mut ChaCha8Rng) -> f64 {
        let (middle_ms, spread) = match self {
            Self::Bimodal if unit(rng) < 0.7 => (100.0, 0.1),
            Self::Bimodal => (160.0, 0.1),
            Self::Lognormal => (100.0, 0.2),
        };
        middle_ms * (spread * normal(rng)).exp()
    }

    fn median_ms(self, rng: &mut ChaCha8Rng, drawn: &mut Vec<f64>) -> f64 {
        drawn.clear();
        drawn.extend((0..REQUESTS).map(|_| self.latency_ms(rng)));
        median(drawn).expect("a run has requests")
    }
}

/// Runs of one shape and noise.
#[derive(Debug)]
pub(crate) struct Runs {
    shape: Shape,
    /// Standard deviation of the run's own level, on the logarithmic scale.
    between: f64,
    drawn: Vec<f64>,
}

impl Runs {
    /// Runs whose median has a logarithm with this standard deviation.
    pub(crate) fn new(shape: Shape, deviation: f64) -> Self {
        let within = within(shape);
        assert!(within < deviation, "drawing requests alone is noisier: {within}");
        let between = (deviation * deviation - within * within).sqrt();
        Self { shape, between, drawn: Vec::with_capacity(REQUESTS) }
    }

    /// The median of a run whose true level is `level` times the usual one.
    pub(crate) fn median_ms(&mut self, level: f64, rng: &mut ChaCha8Rng) -> f64 {
        let level = level * (self.between * normal(rng)).exp();
        level * self.shape.median_ms(rng, &mut self.drawn)
    }
}

/// The noise of drawing requests: standard deviation of the logarithm of a run's median.
fn within(shape: Shape) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut drawn = Vec::with_capacity(REQUESTS);
    let logarithms: Vec<f64> =
        (0..PILOT_RUNS).map(|_| shape.median_ms(&mut rng, &mut drawn).ln()).collect();
    let count = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / count;
    let squares: f64 = logarithms.iter().map(|it| (it - mean).powi(2)).sum();
    (squares / (count - 1.0)).sqrt()
}

/// Uniform, 0 to below 1.
pub(crate) fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Standard normal, by Box and Muller.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - unit(rng)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(rng)).cos()
}
