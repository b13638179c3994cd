//! How a gate of any comparison stood when somebody looked at it: one form for both versions.

use serde::{Deserialize, Serialize};

use crate::gate::GateStatistic;
use crate::nullable::nullable;
use crate::record::Interval;
use crate::text::{Identifier, PublicText};
use crate::vocabulary::closed_vocabulary;

closed_vocabulary! {
    /// How a gate, or a whole comparison of any version, stands. Only `pass` passes.
    GateStanding {
        /// The candidate is worse than the limit.
        Fail = "fail",
        /// The limit lies within the noise.
        Inconclusive = "inconclusive",
        /// The figures of one side may pass no gate, so that none was judged.
        Ineligible = "ineligible",
        /// It could not be judged.
        NotEvaluated = "not_evaluated",
        /// The candidate is within the limit.
        Pass = "pass",
    }
}

/// One gate of one cell as it stood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StoodGate {
    /// The cell.
    pub cell: Identifier,
    /// The metric, as the comparison names it.
    pub metric: Identifier,
    /// The statistic that it is; `None` where the comparison does not say.
    #[serde(deserialize_with = "nullable")]
    pub statistic: Option<GateStatistic>,
    /// Most that it may get worse, in percent.
    pub limit_percent: f64,
    /// What the gate amounts to.
    pub verdict: GateStanding,
    /// Why.
    pub reason: PublicText,
    /// How much larger the candidate's figure is, in percent; `None` when there is no ratio.
    #[serde(deserialize_with = "nullable")]
    pub delta_percent: Option<f64>,
    /// The interval of the delta that a pass is judged by; `None` without one.
    #[serde(deserialize_with = "nullable")]
    pub pass_interval: Option<Interval>,
    /// The interval of the delta that a fail is judged by; `None` without one.
    #[serde(deserialize_with = "nullable")]
    pub fail_interval: Option<Interval>,
}
