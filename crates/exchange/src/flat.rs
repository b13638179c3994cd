//! Flat result files, as vLLM's and SGLang's clients write them: a member for each statistic of each
//! latency, such as `p99_ttft_ms`, and one for each total.

use crate::error::ImportError;
use crate::found::{Outcomes, Quantity, QuantitySpec, Samples, Total, TotalSpec};
use crate::scalars::Scalars;
use crate::stat::Stat;
use crate::times::no_less_than_0;

/// Where a value stands, in errors.
const PLACE: &str = "the file";

/// The latencies of a file: single values where there are some, and what is stated of them.
///
/// The tool writes 0 where it has no value: of no request that succeeded it has none, and a latency
/// whose every statistic is 0 was not measured.
pub(crate) fn quantities(
    specs: &'static [QuantitySpec],
    members: &Scalars,
    outcomes: Outcomes,
    samples: impl Fn(&str) -> Option<Samples>,
) -> Result<Vec<Quantity>, ImportError> {
    let mut quantities = Vec::new();
    for spec in specs {
        let mut stated = Vec::new();
        for (key, value) in members {
            let Some(stat) = stat_of(key, spec.key) else { continue };
            let Some(value) = value.0 else { continue };
            stated.push((stat, no_less_than_0(value, PLACE, || key.clone())?));
        }
        if outcomes.succeeded == 0 || stated.iter().all(|(_, value)| *value == 0.0) {
            stated.clear();
        }
        stated.sort_by_key(|(stat, _)| order(stat));
        let samples = samples(spec.key);
        if samples.is_some() || !stated.is_empty() {
            quantities.push(Quantity { spec, samples, stated, stated_count: None });
        }
    }
    Ok(quantities)
}

/// Percentiles by rank, then the others.
fn order(stat: &Stat) -> (u64, String) {
    match stat {
        Stat::Percentile(rank) => ((rank.parse().unwrap_or(0.0_f64) * 1e3) as u64, String::new()),
        other => (u64::MAX, other.word()),
    }
}

/// The totals that the file states.
pub(crate) fn totals(
    specs: &'static [TotalSpec],
    members: &Scalars,
    outcomes: Outcomes,
) -> Result<Vec<Total>, ImportError> {
    let total = |spec: &'static TotalSpec| {
        let value = members.get(spec.key).and_then(|member| member.0);
        let value = value.map(|value| no_less_than_0(value, PLACE, || spec.key.to_owned()));
        let value = value.transpose()?;
        // A tokenizer that was not there, or nothing that succeeded, leaves zeros.
        let value = value.filter(|value| *value > 0.0 || outcomes.succeeded > 0);
        Ok(value.map(|value| Total { spec, value: Some(value) }))
    };
    specs.iter().filter_map(|spec| total(spec).transpose()).collect()
}

/// The statistic that a key states of a quantity: `p99_ttft_ms` of `ttft`.
pub(crate) fn stat_of(key: &str, quantity: &str) -> Option<Stat> {
    let word = key.strip_suffix("_ms")?.strip_suffix(quantity)?.strip_suffix('_')?;
    Stat::of_key(word, Stat::PopulationStddev)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_statistic_and_quantity() {
        let cases = [
            ("p99_ttft_ms", "ttft", Some("p99")),
            ("median_e2el_ms", "e2el", Some("p50")),
            ("mean_e2el_including_client_queue_ms", "e2el_including_client_queue", Some("mean")),
            ("mean_e2el_including_client_queue_ms", "client_queue", None),
            ("std_itl_ms", "itl", Some("pstddev")),
            ("probe_p99_e2el_ms", "e2el", None),
            ("ttft_ms", "ttft", None),
            ("max_itl", "itl", None),
        ];
        for (key, quantity, expected) in cases {
            let found = stat_of(key, quantity).map(|stat| stat.word());
            assert_eq!(found.as_deref(), expected, "{key}");
        }
    }
}
