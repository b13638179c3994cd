//! Comparisons: a candidate held against a baseline. Version 1 is the golden layout; its members
//! are written in declaration order.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::nullable::nullable;
use crate::text::{Identifier, PublicText};
use crate::vocabulary::closed_vocabulary;

closed_vocabulary! {
    /// The layout of a comparison.
    ComparisonSchema {
        /// The golden layout.
        V1 = "runtime-profile-comparison/v1",
    }
}

/// A comparison of version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The layout.
    pub schema: ComparisonSchema,
    /// What the baseline served.
    pub baseline_image: PublicText,
    /// What the candidate served.
    pub candidate_image: PublicText,
    /// The cells in the order in which they were measured.
    pub cells: OrderedMap<CellComparison>,
    /// Both sides eligible in every cell and every metric within the limit.
    pub performance_gate_passed: bool,
    /// Every turnover run of the candidate passed strictly; false without one.
    pub strict_turnover_gate_passed: bool,
    /// What the comparison amounts to, in words.
    pub qualification: PublicText,
    /// What was decided; `undecided` until somebody decides.
    pub promotion: PublicText,
    /// The baseline's turnover run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_turnover: Option<Turnover>,
    /// The candidate's turnover run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_turnover: Option<Turnover>,
    /// The candidate's turnover run, repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_turnover_repeat: Option<Turnover>,
    /// What a person decided; `undecided` until then.
    pub human_decision: PublicText,
}

/// One cell on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CellComparison {
    /// Requests offered to the baseline.
    pub baseline_requests: u64,
    /// Requests offered to the candidate.
    pub candidate_requests: u64,
    /// Whether the baseline's figures may pass a gate.
    pub baseline_performance_eligible: bool,
    /// Whether the candidate's figures may pass a gate.
    pub candidate_performance_eligible: bool,
    /// Median of the prompt tokens that the servers reported.
    #[serde(deserialize_with = "nullable")]
    pub median_prompt_tokens: Option<f64>,
    /// The figures by name.
    pub metrics: OrderedMap<MetricComparison>,
}

/// One figure on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MetricComparison {
    /// The baseline's.
    #[serde(deserialize_with = "nullable")]
    pub baseline: Option<f64>,
    /// The candidate's.
    #[serde(deserialize_with = "nullable")]
    pub candidate: Option<f64>,
    /// `(candidate / baseline − 1) · 100`; `None` when it was not evaluated.
    #[serde(deserialize_with = "nullable")]
    pub delta_percent: Option<f64>,
    /// The metric got worse by at most 5 percent; false when it was not evaluated.
    pub no_more_than_5_percent_regression: bool,
}

/// One turnover run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Turnover {
    /// Requests declared.
    pub requests: u64,
    /// Requests whose output was exactly as controlled.
    pub exact_output_passed: u64,
    /// Requests that failed in any way.
    pub failed: u64,
    /// Requests that were answered.
    pub responses_received: u64,
    /// Whether the run's figures may pass a gate.
    pub performance_eligible: bool,
    /// The failed requests.
    pub failures: Vec<TurnoverFailure>,
}

/// One failed request of a turnover run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnoverFailure {
    /// Which request, from 0.
    pub request_index: u64,
    /// How it failed.
    pub failure_class: TurnoverFailureClass,
    /// Repetitions of the controlled word that were observed.
    #[serde(deserialize_with = "nullable")]
    pub words: Option<u64>,
    /// Finish reasons as sent.
    pub finish_reasons: Vec<PublicText>,
    /// Whether the request's own marker came, and no other's; `None` without an answer.
    #[serde(deserialize_with = "nullable")]
    pub canary_passed: Option<bool>,
}

closed_vocabulary! {
    /// How a request of a turnover run failed, in the words of version 1.
    TurnoverFailureClass {
        /// The output was not as controlled; the canary held.
        ControlledOutputFailed = "controlled_output_failed",
        /// The canary did not hold.
        RequestCanaryFailed = "request_canary_failed",
        /// Transport or status.
        RequestError = "request_error",
        /// The stream broke.
        StreamValidationFailed = "stream_validation_failed",
    }
}

/// Named values that keep their order.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedMap<T>(pub Vec<(Identifier, T)>);

impl<T> OrderedMap<T> {
    /// The names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Identifier, &T)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl<T: Serialize> Serialize for OrderedMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrderedMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = OrderedMap<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of named values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(Identifier, T)> = Vec::new();
                let mut known = HashSet::new();
                while let Some((name, value)) = map.next_entry::<Identifier, T>()? {
                    if !known.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("{name} stands here twice")));
                    }
                    members.push((name, value));
                }
                Ok(OrderedMap(members))
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

#[cfg(feature = "schemars")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for OrderedMap<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OrderedMap_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        std::collections::BTreeMap::<String, T>::json_schema(generator)
    }
}
