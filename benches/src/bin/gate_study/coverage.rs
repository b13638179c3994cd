//! How often the order-statistic interval of a quantile holds the true one, beside the chance that
//! the code states.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use streamgauge_metrics::{quantile_interval, quantile_interval_coverage};

use super::latencies::unit;
use super::wanted::Tables;

const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];
/// Samples of a run, and how often a run is drawn.
const RUNS: [(usize, u64); 4] = [(60, 40_000), (200, 40_000), (1_000, 40_000), (20_000, 20_000)];
/// How far the share may be from the chance, and the least that either may be, in percent.
const TOLERATED: f64 = 0.5;
const LEAST: f64 = 95.0;

/// The table of coverages.
pub(crate) fn run() -> Tables {
    let mut tables = Tables::default();
    tables.line("### Coverage of the intervals beside quantiles\n");
    tables.line("| samples | quantile | stated | found | bounds | |");
    tables.line("| --- | --- | --- | --- | --- | --- |");
    for (samples, repetitions) in RUNS {
        for (q, found) in QUANTILES.iter().zip(found(samples, repetitions)) {
            let stated = quantile_interval_coverage(samples, *q).expect("there are samples");
            let (stated, covered) = (100.0 * stated, 100.0 * found.covered);
            let met = (stated - covered).abs() <= TOLERATED && stated.min(covered) >= LEAST;
            let cells = [
                samples.to_string(),
                format!("p{:.0}", q * 100.0),
                format!("{stated:.2} %"),
                format!("{covered:.2} %"),
                found.bounds.to_owned(),
            ];
            tables.row(&cells, Some(met));
        }
    }
    tables
}

struct Found {
    covered: f64,
    bounds: &'static str,
}

/// Exponential latencies: of these the true quantile is known.
fn found(samples: usize, repetitions: u64) -> [Found; 4] {
    let mut covered = [0_u64; 4];
    let mut bounds = ["", "", "", ""];
    let mut drawn = Vec::with_capacity(samples);
    for seed in 0..repetitions {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        drawn.clear();
        drawn.extend((0..samples).map(|_| -(1.0 - unit(&mut rng)).ln()));
        drawn.sort_unstable_by(f64::total_cmp);
        for (place, q) in QUANTILES.iter().enumerate() {
            let interval = quantile_interval(&drawn, *q).expect("there are samples");
            let truth = -(1.0 - q).ln();
            let above = interval.lower.is_none_or(|lower| lower <= truth);
            let below = interval.upper.is_none_or(|upper| truth <= upper);
            covered[place] += u64::from(above && below);
            bounds[place] = match (interval.lower, interval.upper) {
                (Some(_), Some(_)) => "both",
                (Some(_), None) => "lower",
                (None, Some(_)) => "upper",
                (None, None) => "none",
            };
        }
    }
    std::array::from_fn(|place| Found {
        covered: covered[place] as f64 / repetitions as f64,
        bounds: bounds[place],
    })
}
