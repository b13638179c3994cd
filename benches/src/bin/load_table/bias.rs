//! Whether the client's error in times to first token depends on the number of streams.

use std::path::Path;

use crate::figures::short;
use crate::rows::{alone, closed_loop, paced};
use crate::server::Server;
use crate::tables::Report;
use crate::wanted::{Goal, Verdict, error_figure};

/// For people.
pub(crate) const WORK: &str = "1 to 1,000 streams, 50 ms to first token";

const ROUNDS: usize = 3;
/// Most by which the medians may differ between the numbers of streams.
const SPREAD_MS: f64 = 0.5;

/// So many streams, requests, and milliseconds between events. At 1,000 streams the distance is
/// double, as a server on one core writes no more.
const LEVELS: [(u64, u64, u64); 4] =
    [(1, 40, 10), (64, 1280, 10), (500, 5000, 10), (1000, 10_000, 20)];
const OUTPUT_EVENTS: u64 = 10;

/// Measures the row.
pub(crate) fn measure(scratch: &Path, report: &mut Report) -> anyhow::Result<()> {
    let mut medians_ms = Vec::new();
    for (streams, requests, interval_ms) in LEVELS {
        let server = Server::start(&paced(50, interval_ms))?;
        let runs = alone(&server, closed_loop(requests, streams, OUTPUT_EVENTS), ROUNDS, scratch)?;
        server.end()?;
        let work = format!("bias at {streams}: 50 ms, {interval_ms} ms, {OUTPUT_EVENTS} events");
        let goals = [Goal::TtftP50(2.0), Goal::TtftP99 { limit_ms: 10.0, times_bare: None }];
        report.add(&work, &runs, &goals);
        medians_ms.extend(error_figure(&runs.ours, |errors| errors.ttft.p50));
    }
    let medians_ms: Vec<f64> = medians_ms.iter().map(|figure| figure.median()).collect();
    report.judge(WORK, constant(&medians_ms));
    Ok(())
}

fn constant(medians_ms: &[f64]) -> Verdict {
    let lowest = medians_ms.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = medians_ms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shown: Vec<String> = medians_ms.iter().map(|&ms| short(ms)).collect();
    Verdict {
        wanted: format!("TTFT error p50 constant: within {SPREAD_MS} ms"),
        found: format!("{} ms", shown.join(", ")),
        met: (medians_ms.len() == LEVELS.len()).then_some(highest - lowest <= SPREAD_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bias_that_grows_with_the_streams_is_told() {
        for (medians_ms, expected) in [
            (&[0.02, 0.03, 0.04, 0.05][..], Some(true)),
            (&[0.02, 0.03, 0.9, 0.05], Some(false)),
            (&[0.02, 0.03], None),
            (&[], None),
        ] {
            assert_eq!(constant(medians_ms).met, expected, "{medians_ms:?}");
        }
    }
}
