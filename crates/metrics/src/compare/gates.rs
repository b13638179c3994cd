//! Gates as they are judged: what a gate leaves unsaid is taken from the metric, and what it says
//! must agree with it.

use streamgauge_schema::{
    Direction, Gate, GateInForce, GateStatistic, Gates, Identifier, Metric, RunRecordV2,
};

use super::CompareError;
use crate::catalogue::{PASS_RATIO, spec};
use crate::gate::LIMIT_PERCENT;
use crate::paired_share::alike_pairs_needed;
use crate::statistic::Statistic;

/// Samples that must lie beyond a quantile on average before it is judged.
const BEYOND: f64 = 10.0;

/// The gates with everything said, from a run that has their metrics.
pub(super) fn in_force(gates: &Gates, run: &RunRecordV2) -> Result<Vec<GateInForce>, CompareError> {
    let metric = |id: &Identifier| run.metrics.iter().find(|metric| metric.id == *id);
    gates.gates().iter().filter_map(|gate| Some(one(gate, metric(&gate.metric)?))).collect()
}

/// Takes the gate on right answers from the others: it is judged by pairs of prompts, and its limit is
/// in percentage points. Graded runs have one whether it was stated or not.
pub(super) fn take_correctness(gates: &mut Vec<GateInForce>, graded: bool) -> Option<GateInForce> {
    let place = gates.iter().position(|gate| gate.metric.as_str() == PASS_RATIO);
    let stated = place.map(|place| gates.remove(place));
    stated.or_else(|| {
        graded.then(|| GateInForce {
            metric: Identifier::new(PASS_RATIO).expect("letters and '_'"),
            limit_percent: LIMIT_PERCENT,
            direction: Direction::HigherIsBetter,
            statistic: GateStatistic::RunValue,
            min_samples: samples_needed(GateStatistic::RunValue),
        })
    })
}

/// Fewest different prompts by which a candidate can pass the gate on right answers where both sides
/// answer each of them alike, at this chance of error. The limit is that of a gate on `pass_ratio`, or
/// the one that graded runs have where none is stated. `None` where no number is enough.
///
/// ```
/// use streamgauge_metrics::prompts_needed;
/// use streamgauge_schema::Gates;
/// // Five percentage points, and one look at 95 %.
/// assert_eq!(prompts_needed(&Gates::default(), 0.05), Some(86));
/// ```
#[must_use]
pub fn prompts_needed(gates: &Gates, alpha: f64) -> Option<u64> {
    let stated = gates.gates().iter().find(|gate| gate.metric.as_str() == PASS_RATIO);
    let limit_percent = stated.map_or(LIMIT_PERCENT, |gate| gate.limit_percent);
    alike_pairs_needed(limit_percent / 100.0, 1.0 - alpha)
}

fn one(gate: &Gate, metric: &Metric) -> Result<GateInForce, CompareError> {
    let (id, own) = (metric.id.clone(), metric.direction);
    if let Some(stated) = gate.direction.filter(|stated| *stated != own) {
        return Err(CompareError::DirectionContradicted { metric: id, stated, own });
    }
    if own == Direction::Neutral {
        return Err(CompareError::NotGateable { metric: id });
    }
    let statistic = match (gate.statistic, known_statistic(&id)) {
        (Some(stated), Some(own)) if stated != own => {
            return Err(CompareError::StatisticContradicted { metric: id, stated, own });
        }
        (stated, own) => own.or(stated),
    };
    let Some(statistic) = statistic else {
        return Err(CompareError::StatisticUnknown { metric: id });
    };
    Ok(GateInForce {
        metric: id,
        limit_percent: gate.limit_percent,
        direction: own,
        statistic,
        min_samples: gate.min_samples.unwrap_or(0).max(samples_needed(statistic)),
    })
}

/// The statistic of a metric of the catalogue.
fn known_statistic(id: &Identifier) -> Option<GateStatistic> {
    let spec = spec(id.as_str())?;
    Some(match spec.statistic {
        // One value of the run, whatever it is taken of: no share of the samples lies beyond it.
        None | Some(Statistic::Max | Statistic::Min | Statistic::StandardDeviation) => {
            GateStatistic::RunValue
        }
        Some(Statistic::Mean) => GateStatistic::Mean,
        Some(Statistic::P50) => GateStatistic::P50,
        Some(Statistic::P90) => GateStatistic::P90,
        Some(Statistic::P95) => GateStatistic::P95,
        Some(Statistic::P99) => GateStatistic::P99,
    })
}

/// Samples that each run must have: ten beyond a quantile, which is 10 / (1 − q); one of anything
/// else.
pub(crate) fn samples_needed(statistic: GateStatistic) -> u64 {
    let q = match statistic {
        GateStatistic::Mean | GateStatistic::RunValue => return 1,
        GateStatistic::P50 => 0.5,
        GateStatistic::P90 => 0.9,
        GateStatistic::P95 => 0.95,
        GateStatistic::P99 => 0.99,
    };
    // The quotient is a whole number but for rounding.
    (BEYOND / (1.0 - q)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_by_statistic() {
        let needed: Vec<u64> = GateStatistic::ALL.iter().copied().map(samples_needed).collect();
        assert_eq!(needed, [1, 20, 100, 200, 1_000, 1]);
    }

    #[test]
    fn the_catalogue_says_what_a_metric_is() {
        let cases = [
            ("ttft_p50_ms", Some(GateStatistic::P50)),
            ("completion_p95_ms", Some(GateStatistic::P95)),
            ("chunk_interval_mean_ms", Some(GateStatistic::Mean)),
            ("ttft_p90_ms", Some(GateStatistic::P90)),
            ("ttft_max_ms", Some(GateStatistic::RunValue)),
            ("completion_throughput_tps", Some(GateStatistic::RunValue)),
            ("unheard_of", None),
        ];
        for (id, expected) in cases {
            assert_eq!(known_statistic(&Identifier::new(id).unwrap()), expected, "{id}");
        }
    }
}
