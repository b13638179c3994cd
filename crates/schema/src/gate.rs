//! Gates as data: which figures of a candidate are held to which limits, and what that amounts to.

use serde::{Deserialize, Serialize};

use crate::record::Direction;
use crate::text::Identifier;
use crate::vocabulary::closed_vocabulary;

/// The golden limit: no more than 5 percent worse.
const GOLDEN_LIMIT_PERCENT: f64 = 5.0;
/// The metrics that the golden comparison gates.
const GOLDEN_METRICS: [&str; 3] = ["ttft_p50_ms", "e2e_p50_ms", "decode_rate_p50_tok_per_s"];
/// Chance of a wrong verdict at a true change of exactly the limit, both sides together.
const ALPHA: f64 = 0.05;
/// Nobody is surer than that: what lies farther out in a tail is not what the values were drawn from.
const LEAST_ALPHA: f64 = 1e-6;
const MOST_ALPHA: f64 = 0.5;

closed_vocabulary! {
    /// What a gate, or a whole comparison, amounts to.
    GateVerdict {
        /// The candidate is worse than the limit, by more than noise explains.
        Fail = "fail",
        /// The limit lies within the noise.
        Inconclusive = "inconclusive",
        /// It could not be judged; that never passes.
        NotEvaluated = "not_evaluated",
        /// The candidate is within the limit, noise considered.
        Pass = "pass",
    }
}

closed_vocabulary! {
    /// What is taken of a run's values to make the one that a gate judges.
    GateStatistic {
        /// The mean.
        Mean = "mean",
        /// The median.
        P50 = "p50",
        /// The 90th percentile.
        P90 = "p90",
        /// The 95th percentile.
        P95 = "p95",
        /// The 99th percentile.
        P99 = "p99",
        /// Nothing: the run has one value, such as a throughput.
        RunValue = "run_value",
    }
}

/// One metric and the most that it may get worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Its id in run records.
    pub metric: Identifier,
    /// Most that it may get worse, in percent; the limit itself is still within it.
    pub limit_percent: f64,
    /// Which way it gets better. The metric's own direction holds; another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The statistic that it is. The metric's own holds; another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<GateStatistic>,
    /// Fewest samples that a run must have. It can only ask for more than the statistic needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_samples: Option<u64>,
}

/// The gates of a comparison, and how sure it must be.
///
/// The default is the golden set: the medians of time to first output, of full duration and of
/// decode rate, none of them more than 5 percent worse.
///
/// ```
/// use streamgauge_schema::Gates;
/// let gates: Gates = serde_json::from_str(
///     r#"{"max_failure_ratio": 0.01, "gate": [{"metric": "ttft_p95_ms", "limit_percent": 10}]}"#,
/// )?;
/// assert_eq!(gates.alpha(), 0.05);
/// assert_eq!(gates.gates()[0].limit_percent, 10.0);
/// assert_eq!(Gates::default().gates().len(), 3);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(try_from = "Unchecked")]
pub struct Gates {
    /// Chance of a wrong verdict at a true change of exactly the limit, both sides together.
    alpha: f64,
    /// Share of a run's requests that may fail before no verdict on speed is given.
    max_failure_ratio: f64,
    /// The metrics and their limits.
    gate: Vec<Gate>,
}

/// Gates that cannot be judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GatesFault {
    /// A chance of error that is none, or that leaves nothing to be sure of.
    #[error("alpha is {alpha:?}: it must lie in {LEAST_ALPHA:?} to {MOST_ALPHA:?}")]
    Alpha {
        /// The value.
        alpha: f64,
    },
    /// A limit that nothing can break.
    #[error(
        "limit_percent of {metric} is {limit_percent:?}: it must be 0 or more and less than 100"
    )]
    Limit {
        /// The metric.
        metric: Identifier,
        /// The value.
        limit_percent: f64,
    },
    /// A share outside 0 to 1.
    #[error("max_failure_ratio is {max_failure_ratio:?}: it must lie in 0 to 1")]
    MaxFailureRatio {
        /// The value.
        max_failure_ratio: f64,
    },
    /// Two gates on one metric.
    #[error("{metric} has two gates")]
    MetricRepeated {
        /// The metric.
        metric: Identifier,
    },
    /// Without a gate nothing is judged, and nothing passes.
    #[error("there is no gate")]
    NoGate,
}

/// The gates of a comparison, and how sure it must be.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemars", schemars(rename = "Gates"))]
#[serde(deny_unknown_fields)]
struct Unchecked {
    /// Chance of a wrong verdict at a true change of exactly the limit, both sides together; 0.000001
    /// to 0.5.
    #[serde(default = "default_alpha")]
    alpha: f64,
    /// Share of a run's requests that may fail before no verdict on speed is given, 0 to 1.
    #[serde(default)]
    max_failure_ratio: f64,
    /// The metrics and their limits: at least one, each metric once.
    gate: Vec<Gate>,
}

fn default_alpha() -> f64 {
    ALPHA
}

impl TryFrom<Unchecked> for Gates {
    type Error = GatesFault;

    fn try_from(
        Unchecked { alpha, max_failure_ratio, gate }: Unchecked,
    ) -> Result<Self, Self::Error> {
        Self::new(alpha, max_failure_ratio, gate)
    }
}

impl Gates {
    /// Checks gates.
    ///
    /// # Errors
    /// Names the first value that is out of its range, or the metric that is gated twice.
    pub fn new(alpha: f64, max_failure_ratio: f64, gate: Vec<Gate>) -> Result<Self, GatesFault> {
        if !(LEAST_ALPHA..=MOST_ALPHA).contains(&alpha) {
            return Err(GatesFault::Alpha { alpha });
        }
        if !(0.0..=1.0).contains(&max_failure_ratio) {
            return Err(GatesFault::MaxFailureRatio { max_failure_ratio });
        }
        if gate.is_empty() {
            return Err(GatesFault::NoGate);
        }
        for (place, Gate { metric, limit_percent, .. }) in gate.iter().enumerate() {
            let (metric, limit_percent) = (metric.clone(), *limit_percent);
            if !(0.0..100.0).contains(&limit_percent) {
                return Err(GatesFault::Limit { metric, limit_percent });
            }
            if gate[..place].iter().any(|other| other.metric == metric) {
                return Err(GatesFault::MetricRepeated { metric });
            }
        }
        Ok(Self { alpha, max_failure_ratio, gate })
    }

    /// Chance of a wrong verdict at a true change of exactly the limit, both sides together.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Share of a run's requests that may fail before no verdict on speed is given.
    #[must_use]
    pub fn max_failure_ratio(&self) -> f64 {
        self.max_failure_ratio
    }

    /// The metrics and their limits, in their order.
    #[must_use]
    pub fn gates(&self) -> &[Gate] {
        &self.gate
    }
}

impl Default for Gates {
    fn default() -> Self {
        let gate = GOLDEN_METRICS.map(|metric| Gate {
            metric: Identifier::new(metric).expect("the golden metrics are named by identifiers"),
            limit_percent: GOLDEN_LIMIT_PERCENT,
            direction: None,
            statistic: None,
            min_samples: None,
        });
        Self { alpha: ALPHA, max_failure_ratio: 0.0, gate: gate.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Gates, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_default_is_the_golden_set() {
        let text = r#"{"gate": [
            {"metric": "ttft_p50_ms", "limit_percent": 5.0},
            {"metric": "e2e_p50_ms", "limit_percent": 5.0},
            {"metric": "decode_rate_p50_tok_per_s", "limit_percent": 5.0}]}"#;
        assert_eq!(read(text).unwrap(), Gates::default());
        let written = serde_json::to_string(&Gates::default()).unwrap();
        assert_eq!(read(&written).unwrap(), Gates::default());
    }

    #[test]
    fn a_gate_may_state_what_the_metric_is() {
        let text = r#"{"alpha": 0.1, "max_failure_ratio": 0.02, "gate": [{"metric": "ttft_p95_ms",
            "limit_percent": 10, "direction": "lower_is_better", "statistic": "p95",
            "min_samples": 400}]}"#;
        let gates = read(text).unwrap();
        assert_eq!((gates.alpha(), gates.max_failure_ratio()), (0.1, 0.02));
        let gate = &gates.gates()[0];
        assert_eq!(gate.direction, Some(Direction::LowerIsBetter));
        assert_eq!((gate.statistic, gate.min_samples), (Some(GateStatistic::P95), Some(400)));
    }

    #[test]
    fn what_cannot_be_judged_is_named() {
        let gate = r#"{"metric": "a", "limit_percent": 5}"#;
        let cases = [
            (r#"{"gate": []}"#.to_owned(), "there is no gate"),
            (r#"{}"#.to_owned(), "missing field `gate`"),
            (format!(r#"{{"gate": [{gate}, {gate}]}}"#), "a has two gates"),
            (
                format!(r#"{{"alpha": 0, "gate": [{gate}]}}"#),
                "alpha is 0.0: it must lie in 1e-6 to 0.5",
            ),
            (format!(r#"{{"alpha": 0.6, "gate": [{gate}]}}"#), "alpha is 0.6"),
            (
                format!(r#"{{"max_failure_ratio": 1.5, "gate": [{gate}]}}"#),
                "max_failure_ratio is 1.5: it must lie in 0 to 1",
            ),
            (
                r#"{"gate": [{"metric": "a", "limit_percent": -1}]}"#.to_owned(),
                "limit_percent of a is -1.0: it must be 0 or more and less than 100",
            ),
            (r#"{"gate": [{"metric": "a", "limit_percent": 100}]}"#.to_owned(), "is 100.0"),
            (format!(r#"{{"gates": [{gate}]}}"#), "unknown field `gates`"),
            (r#"{"gate": [{"metric": "a", "limit": 5}]}"#.to_owned(), "unknown field `limit`"),
            (
                r#"{"gate": [{"metric": "a", "limit_percent": 5, "statistic": "max"}]}"#.to_owned(),
                "unknown variant `max`",
            ),
        ];
        for (text, expected) in cases {
            let error = read(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let not_a_number = Gates::new(f64::NAN, 0.0, Gates::default().gates().into());
        assert!(matches!(not_a_number, Err(GatesFault::Alpha { .. })));
    }
}
