//! The name that a cell has when nobody gives it one.

use std::fmt::Display;

use streamgauge_schema::{Arrivals, Digest, Identifier, LoadShape};

/// Longest name that is spelled out.
const MAX_CHARS: usize = 64;
/// Digits of the digest in the place of a longer one.
const DIGEST_DIGITS: usize = 12;

/// Names a cell after its load shape.
///
/// | shape | name |
/// | --- | --- |
/// | closed loop of 8 clients | `c8` |
/// | closed loop that goes from 1 client to 64, and stays there | `c1-64_64` |
/// | open loop of 12.5 requests a second, evenly | `r12.5` |
/// | the same as a Poisson process, or with burstiness 0.5 | `r12.5-poisson`, `r12.5-gamma0.5` |
/// | a rate that goes from 10 to 50, with at most 64 requests under way | `r10-50-max64` |
/// | the times of a dataset | `trace` |
///
/// Lengths and seeds stand apart, as conditions that have to match: two runs of different lengths
/// then meet in one cell and are told what differs, instead of missing each other by name. In the
/// place of a very long name stands a digest of it.
///
/// ```
/// let shape = streamgauge_schema::LoadShape::ClosedLoop { concurrency: 8 };
/// assert_eq!(streamgauge_workload::cell_name(&shape).as_str(), "c8");
/// ```
#[must_use]
pub fn cell_name(shape: &LoadShape) -> Identifier {
    let name = match shape {
        LoadShape::ClosedLoop { concurrency } => format!("c{concurrency}"),
        LoadShape::ClosedStages { stages } => {
            let ramps = stages.iter().map(|stage| (stage.from_clients, stage.to_clients));
            format!("c{}", spelled(ramps))
        }
        LoadShape::OpenLoop { arrivals, max_concurrency, stages } => {
            let ramps = stages.iter().map(|stage| (stage.from_per_s, stage.to_per_s));
            let spread = match arrivals {
                Arrivals::Constant {} => String::new(),
                Arrivals::Gamma { burstiness, .. } => format!("-gamma{burstiness}"),
                Arrivals::Poisson { .. } => "-poisson".to_owned(),
            };
            format!("r{}{spread}{}", spelled(ramps), limit(*max_concurrency))
        }
        LoadShape::Trace { max_concurrency, .. } => format!("trace{}", limit(*max_concurrency)),
    };
    let name = if name.len() <= MAX_CHARS {
        name
    } else {
        let digest = Digest::of(name.as_bytes()).prefix(DIGEST_DIGITS);
        format!("{}-{digest}", shape.name().replace('_', "-"))
    };
    Identifier::new(name).expect("letters, digits, points, lines and dashes after a letter")
}

fn spelled<T: Display + PartialEq>(ramps: impl Iterator<Item = (T, T)>) -> String {
    let stage = |(from, to)| {
        if from == to { format!("{from}") } else { format!("{from}-{to}") }
    };
    ramps.map(stage).collect::<Vec<_>>().join("_")
}

fn limit(max_concurrency: Option<u64>) -> String {
    max_concurrency.map_or_else(String::new, |limit| format!("-max{limit}"))
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::{ClientStage, RateStage};

    use super::*;

    fn clients(ramps: &[(u64, u64)]) -> LoadShape {
        let stage = |&(from_clients, to_clients)| ClientStage {
            from_clients,
            to_clients,
            duration_ms: 1000,
        };
        LoadShape::ClosedStages { stages: ramps.iter().map(stage).collect() }
    }

    fn rates(ramps: &[(f64, f64)], arrivals: Arrivals, max_concurrency: Option<u64>) -> LoadShape {
        let stage = |&(from_per_s, to_per_s)| RateStage {
            from_per_s,
            to_per_s,
            duration_ms: Some(1000),
            requests: 1,
        };
        LoadShape::OpenLoop { arrivals, max_concurrency, stages: ramps.iter().map(stage).collect() }
    }

    #[test]
    fn every_shape_has_a_name() {
        let even = Arrivals::Constant {};
        let poisson = Arrivals::Poisson { seed: 3 };
        let gamma = Arrivals::Gamma { burstiness: 0.5, seed: 3 };
        let long: Vec<_> = (1..40).map(|clients| (clients, clients)).collect();
        let other = [long.as_slice(), &[(1, 2)]].concat();
        let cases = [
            (LoadShape::ClosedLoop { concurrency: 8 }, "c8"),
            (clients(&[(1, 64)]), "c1-64"),
            (clients(&[(1, 64), (64, 64), (64, 0)]), "c1-64_64_64-0"),
            (clients(&long), "closed-stages-56a9dd51a629"),
            (clients(&other), "closed-stages-6b35ffd6b8ac"),
            (rates(&[(12.5, 12.5)], even, None), "r12.5"),
            (rates(&[(12.5, 12.5)], poisson, None), "r12.5-poisson"),
            (rates(&[(12.5, 12.5)], gamma, Some(64)), "r12.5-gamma0.5-max64"),
            (rates(&[(10.0, 50.0)], even, None), "r10-50"),
            (rates(&[(10.0, 10.0), (20.0, 20.0)], even, None), "r10_20"),
            (rates(&[(1e300, 1e300)], even, None), "open-loop-8ee9afad13c2"),
            (LoadShape::Trace { max_concurrency: None, span_ms: 9 }, "trace"),
            (LoadShape::Trace { max_concurrency: Some(2), span_ms: 9 }, "trace-max2"),
        ];
        for (shape, expected) in &cases {
            assert_eq!(cell_name(shape).as_str(), *expected);
        }
        let names: std::collections::HashSet<_> =
            cases.iter().map(|(shape, _)| cell_name(shape)).collect();
        assert_eq!(names.len(), cases.len());
    }
}
