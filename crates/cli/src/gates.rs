//! Gates as people write them: read from a file, and held against the metrics that records have.

use std::path::Path;

use anyhow::{Context, bail};
use streamgauge_metrics::{Presence, catalogue};
use streamgauge_schema::{Gates, Identifier};

use crate::input::read_text;
use crate::spelling::meant;

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
    if let Some(statistics) = statistics_beside(id.as_str()) {
        return Some(format!(
            "no record has a metric {id}; of this quantity records have {}",
            statistics.join(", ")
        ));
    }
    let like = match id.as_str() {
        // What the point rule calls it.
        "decode_tok_s_p50" => Some("decode_rate_p50_tok_per_s"),
        id => meant(id, known.iter().map(|metric| metric.id.as_str())),
    };
    Some(match like {
        Some(like) => format!("no record has a metric {id}; did you mean {like}?"),
        None => format!("no record has a metric {id}; METRICS.md lists them all"),
    })
}

/// The metrics of a known quantity, where the name has another statistic: `ttft_p5_ms`.
fn statistics_beside(id: &str) -> Option<Vec<&'static str>> {
    let words: Vec<&str> = id.split('_').collect();
    (0..words.len()).find_map(|place| {
        let (before, after) = (words[..place].join("_"), words[place + 1..].join("_"));
        let of_quantity = |word: &str| format!("{before}_{word}_{after}");
        let known = catalogue().iter().map(|metric| metric.id.as_str());
        let is_known = |id: &String| catalogue().iter().any(|metric| metric.id.as_str() == id);
        Some(of_quantity("p50")).filter(is_known)?;
        Some(known.filter(|id| is_other_word(id, &before, &after)).collect())
    })
}

/// Whether a name is these words with one between them.
fn is_other_word(id: &str, before: &str, after: &str) -> bool {
    let rest = id.strip_prefix(before).and_then(|rest| rest.strip_prefix('_'));
    let word = rest.and_then(|rest| rest.strip_suffix(after)?.strip_suffix('_'));
    word.is_some_and(|word| !word.is_empty() && !word.contains('_'))
}

/// Whether a metric stands in the records of graded runs alone.
pub(crate) fn needs_grader(id: &Identifier) -> bool {
    catalogue().iter().any(|metric| metric.id == *id && metric.presence == Presence::Graded)
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
            (
                "ttft_p5_ms",
                Some(
                    "; of this quantity records have ttft_p50_ms, ttft_p90_ms, ttft_p95_ms, \
                     ttft_p99_ms, ttft_mean_ms, ttft_stddev_ms, ttft_min_ms, ttft_max_ms",
                ),
            ),
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
