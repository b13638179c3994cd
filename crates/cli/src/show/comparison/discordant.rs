//! The prompts that one side alone answered right, by the names that the dataset has for them: for whoever
//! has that dataset, and for nobody else.

use std::collections::BTreeMap;

use streamgauge_client::bounded;
use streamgauge_metrics::DiscordantPrompts;
use streamgauge_schema::Digest;

use crate::console::listed;

/// A line for each cell and side that has some.
pub(crate) fn discordant(
    found: &[DiscordantPrompts],
    ids: &BTreeMap<Digest, String>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for DiscordantPrompts { cell, baseline_only, candidate_only } in found {
        for (side, prompts) in [("baseline", baseline_only), ("candidate", candidate_only)] {
            if !prompts.is_empty() {
                let mut names: Vec<String> = prompts.iter().map(|it| name(it, ids)).collect();
                names.sort();
                let names = listed(names.into_iter());
                lines.push(format!("cell {cell}: right with the {side} alone: {names}"));
            }
        }
    }
    lines
}

fn name(prompt: &Digest, ids: &BTreeMap<Digest, String>) -> String {
    ids.get(prompt).map_or_else(|| format!("prompt {}…", prompt.prefix(12)), |id| bounded(id))
}
