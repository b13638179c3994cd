//! Figures from plain numbers, for whoever has latencies already and no wish for a client.
//!
//! A load tester, a proxy or a log has its own values; medians, quantiles, their intervals and the
//! requests in flight come out of slices, by the definitions that the records of Streamgauge use.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use streamgauge_metrics::{Span, median, peak_inflight, quantile, quantile_interval};

fn main() {
    // Milliseconds to first token of forty requests, in any order.
    let ttft_ms: Vec<f64> = (0..40).map(|n| 180.0 + f64::from(n * 17 % 40) / 4.0).collect();

    let p50 = median(&ttft_ms);
    let p95 = quantile(&ttft_ms, 0.95);
    println!("TTFT of {} requests", ttft_ms.len());
    println!("  p50 {}, p95 {}", shown(p50), shown(p95));
    assert_eq!(p50, Some(184.875));
    assert!(p95 > p50);

    // What is missing stays missing: no samples, no median.
    assert_eq!(median(&[]), None);

    // How far the true quantile may lie from the figure, by the number of samples alone.
    let mut sorted = ttft_ms;
    sorted.sort_unstable_by(f64::total_cmp);
    for (name, q) in [("p50", 0.5), ("p95", 0.95)] {
        let interval = quantile_interval(&sorted, q).expect("there are samples");
        println!(
            "  {name} with 95 % certainty: {} to {}",
            shown(interval.lower),
            shown(interval.upper)
        );
    }
    // Forty samples cannot bound a p95 from above; it takes 72.
    assert_eq!(quantile_interval(&sorted, 0.95).and_then(|interval| interval.upper), None);

    // Four clients, each sending its next request when the last has ended.
    let spans: Vec<Span> = (0..40)
        .map(|n| {
            let from_us = n / 4 * 500_000;
            Span { from_us, to_us: from_us + 500_000 }
        })
        .collect();
    let peak = peak_inflight(&spans);
    println!("  at most {} requests at once", peak.expect("there are spans"));
    assert_eq!(peak, Some(4));
}

fn shown(value_ms: Option<f64>) -> String {
    value_ms.map_or_else(|| "unknown".to_owned(), |ms| format!("{ms:.3} ms"))
}
