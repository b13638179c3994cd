//! What quantiles cost, from a thousand to ten million values, beside one selection on a fresh
//! copy: the least that any exact quantile of unsorted values can do.

use std::hint::black_box;
use std::time::Duration;

use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use streamgauge_metrics::{median, quantile, quantiles_of_u32, sorted_quantile};

const COUNTS: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
const FIVE: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];
/// What is reported of gaps: 1 is the maximum.
const REPORTED: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 1.0];

/// Latencies in milliseconds, long-tailed and stored to the microsecond, as records hold them.
fn latencies(count: usize) -> Vec<f64> {
    let mut state = 1_u64;
    (0..count)
        .map(|_| {
            // Knuth's MMIX generator; its upper bits are good enough to shuffle values.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let unit = ((state >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            (unit.ln() * -80_000.0).floor() / 1000.0
        })
        .collect()
}

fn five_quantiles(values: &[f64]) -> [Option<f64>; 5] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    FIVE.map(|q| sorted_quantile(&sorted, q))
}

fn one_selection(values: &[f64]) -> f64 {
    let mut copy = values.to_vec();
    let middle = copy.len() / 2;
    *copy.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn quantiles(criterion: &mut Criterion) {
    for count in COUNTS {
        let values = latencies(count);
        let mut group = criterion.benchmark_group("quantile");
        group
            .sampling_mode(if count < 1_000_000 { SamplingMode::Auto } else { SamplingMode::Flat })
            .throughput(Throughput::Bytes(size_of_val(values.as_slice()) as u64));
        group.bench_function(BenchmarkId::new("one_selection", count), |bencher| {
            bencher.iter(|| one_selection(black_box(&values)));
        });
        group.bench_function(BenchmarkId::new("median", count), |bencher| {
            bencher.iter(|| median(black_box(&values)));
        });
        group.bench_function(BenchmarkId::new("p99", count), |bencher| {
            bencher.iter(|| quantile(black_box(&values), 0.99));
        });
        group.bench_function(BenchmarkId::new("five_quantiles", count), |bencher| {
            bencher.iter(|| five_quantiles(black_box(&values)));
        });
        group.finish();
    }
}

/// Whole microseconds, as gaps are kept.
fn whole(criterion: &mut Criterion) {
    for count in [1_000_000, 10_000_000] {
        let values: Vec<u32> = latencies(count).iter().map(|ms| (ms * 1000.0) as u32).collect();
        let mut group = criterion.benchmark_group("quantile_u32");
        group
            .sampling_mode(SamplingMode::Flat)
            .throughput(Throughput::Bytes(size_of_val(values.as_slice()) as u64));
        group.bench_function(BenchmarkId::new("one_selection", count), |bencher| {
            bencher.iter(|| {
                let mut copy = black_box(&values).clone();
                let middle = copy.len() / 2;
                *copy.select_nth_unstable(middle).1
            });
        });
        group.bench_function(BenchmarkId::new("four_quantiles_and_maximum", count), |bencher| {
            bencher.iter(|| quantiles_of_u32(black_box(&values), &REPORTED));
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .without_plots();
    targets = quantiles, whole
}
criterion_main!(benches);
