//! What a search for the highest load writes down: its probes, and what follows from them.

use serde::{Deserialize, Serialize};

use crate::nullable::nullable;
use crate::plan::Goal;
use crate::text::Identifier;
use crate::vocabulary::closed_vocabulary;

closed_vocabulary! {
    /// The layout of a search report.
    SearchSchema {
        /// Probes in their order, and the answer.
        V1 = "streamgauge-search/v1",
    }
}

closed_vocabulary! {
    /// What a search varies.
    SearchedLoad {
        /// Requests under way at once, in a closed loop.
        Clients = "clients",
        /// Requests per second, in an open loop.
        RequestsPerS = "requests_per_s",
    }
}

closed_vocabulary! {
    /// Why a probe did not hold, where not its goals alone decided.
    ProbeFault {
        /// Requests under way were cut off after the grace.
        Cut = "cut",
        /// No request has every value that a goal limits, as TPOT where the server counts no tokens.
        NoValues = "no_values",
        /// No request ended by itself, so that none counts.
        NoneEnded = "none_ended",
        /// Requests were never sent, so that the load was not offered.
        NotOffered = "not_offered",
        /// No request succeeded.
        NothingSucceeded = "nothing_succeeded",
    }
}

/// A search for the highest load at which goals hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SearchReport {
    /// The layout.
    pub schema: SearchSchema,
    /// What was varied, and the unit of every load here.
    pub load: SearchedLoad,
    /// What a good request keeps.
    pub goals: Vec<Goal>,
    /// Share of requests that had to be good, above 0 and at most 1.
    pub attainment: f64,
    /// Whether the search went on until nothing was left to find out.
    pub complete: bool,
    /// The highest load that held below every one that failed; `None` when there is none.
    #[serde(deserialize_with = "nullable")]
    pub highest_held: Option<f64>,
    /// The lowest load that failed; `None` when none did.
    #[serde(deserialize_with = "nullable")]
    pub lowest_failed: Option<f64>,
    /// Loads that held above one that failed: what lies between is within the noise of the probes.
    pub held_above_a_failure: Vec<f64>,
    /// The probes in their order.
    pub probes: Vec<SearchProbe>,
}

/// One probe, and the run that is its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SearchProbe {
    /// Its load.
    pub load: f64,
    /// Share of its ended requests that were good, 0 to 1; `None` where none ended.
    #[serde(deserialize_with = "nullable")]
    pub attained_ratio: Option<f64>,
    /// Succeeded requests that lack a value which a goal limits; each counts as a miss.
    pub without_value: u64,
    /// Responses that named another model than the expected one.
    pub other_model: u64,
    /// Whether the goals held.
    pub held: bool,
    /// Why not, where not the goals alone decided.
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<ProbeFault>,
    /// The probe's run record.
    pub run_id: Identifier,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GoalQuantity, digest_bytes, read_typed};

    fn report() -> SearchReport {
        let probe = SearchProbe {
            load: 4.0,
            attained_ratio: None,
            without_value: 8,
            other_model: 0,
            held: false,
            reason: Some(ProbeFault::NoValues),
            run_id: Identifier::new("sim-model-119f8a2564a2").unwrap(),
        };
        SearchReport {
            schema: SearchSchema::V1,
            load: SearchedLoad::Clients,
            goals: vec![Goal { quantity: GoalQuantity::Tpot, limit_ms: 40.0 }],
            attainment: 0.95,
            complete: false,
            highest_held: None,
            lowest_failed: Some(4.0),
            held_above_a_failure: vec![],
            probes: vec![probe],
        }
    }

    #[test]
    fn a_report_is_read_back_and_nothing_else_is() {
        let bytes = digest_bytes(&report()).unwrap();
        assert_eq!(read_typed::<SearchReport>(&bytes).unwrap(), report());
        let text = String::from_utf8(bytes).unwrap();
        for (there, instead, said) in [
            ("search/v1", "search/v2", "schema"),
            ("\"highest_held\": null,", "", "highest_held"),
            ("\"complete\"", "\"done\"", "done"),
            ("no_values", "bad_luck", "probes[0].reason"),
            ("\"without_value\": 8", "\"without_value\": -8", "probes[0].without_value"),
        ] {
            assert!(text.contains(there), "{there}");
            let broken = text.replace(there, instead);
            let error = read_typed::<SearchReport>(broken.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
