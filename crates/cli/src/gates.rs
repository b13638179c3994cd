//! Gates as people write them: read from a file, and held against the metrics that records have.

use std::path::Path;

use anyhow::{Context, bail};
use streamgauge_metrics::catalogue;
use streamgauge_schema::{Gates, Identifier};

use crate::input::read_text;

/// How alike two names must be for the one to be what the other was meant to be; 1 is the same.
const ALIKE: f64 = 0.85;

/// Reads gates from a file of their own. A metric that is not known here may stand in records of
/// another version, where its gate says what it is.
pub(crate) fn read_gates(path: &Path) -> anyhow::Result<Gates> {
    let shown = || path.display().to_string();
    let gates: Gates = toml::from_str(&read_text(path)?).with_context(shown)?;
    let mut unstated = gates.gates().iter().filter(|gate| gate.statistic.is_none());
    match unstated.find_map(|gate| unknown_metric(&gate.metric)) {
        Some(problem) => bail!("{}: {problem}", path.display()),
        None => Ok(gates),
    }
}

/// Says so where no record of this version has a metric, and which one was probably meant.
pub(crate) fn unknown_metric(id: &Identifier) -> Option<String> {
    let known = catalogue();
    if known.iter().any(|metric| metric.id == *id) {
        return None;
    }
    let meant = match id.as_str() {
        // What the point rule calls it.
        "decode_tok_s_p50" => Some("decode_rate_p50_tok_per_s"),
        id => known
            .iter()
            .map(|metric| (strsim::jaro_winkler(id, metric.id.as_str()), metric.id.as_str()))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, known)| known),
    };
    Some(match meant {
        Some(meant) => format!("no record has a metric {id}; did you mean {meant}?"),
        None => format!("no record has a metric {id}; METRICS.md lists them all"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_metric_is_told_from_a_known_one() {
        let cases = [
            ("ttft_p50_ms", None),
            ("ttft_p50", Some("; did you mean ttft_p50_ms?")),
            ("e2e_p95ms", Some("; did you mean e2e_p95_ms?")),
            ("decode_tok_s_p50", Some("; did you mean decode_rate_p50_tok_per_s?")),
            ("weather", Some("; METRICS.md lists them all")),
        ];
        for (id, expected) in cases {
            let said = unknown_metric(&Identifier::new(id).unwrap());
            match (&said, expected) {
                (None, None) => {}
                (Some(said), Some(end)) => assert!(said.ends_with(end), "{said}"),
                _ => panic!("{id}: {said:?}"),
            }
        }
    }
}
