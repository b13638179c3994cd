//! How prompts were made, and by what their lengths were chosen.

use streamgauge_schema::{LengthBasis, Plan, PromptSource, SharedPrefix};

/// Most probes that are listed one by one, however large their numbers are.
const MOST_PROBES: usize = 3;

pub(super) fn preparation(plan: &Plan) -> String {
    match &plan.workload.source {
        PromptSource::Dataset { records, repeat, nonce, .. } => {
            let reuse = if *repeat { "; used again from the first" } else { "" };
            let nonce =
                if nonce.is_some() { "; a unique first line before each prompt" } else { "" };
            format!("Dataset of {records} requests{reuse}{nonce}")
        }
        PromptSource::Synthetic { words, seed, prefix: None, nonce } => {
            let nonce = if nonce.is_some() { "; a unique first line before each" } else { "" };
            format!("Unique synthetic prompts of {words} words, seed {seed}{nonce}")
        }
        PromptSource::Synthetic { words, seed, prefix: Some(prefix), nonce } => {
            let SharedPrefix { words: shared, count } = prefix;
            let nonce = if nonce.is_some() {
                "; a unique first line before each shared prefix"
            } else {
                ""
            };
            format!(
                "Synthetic prompts of {words} words, seed {seed}; the first {shared} words of each \
                 are one of {count} shared prefixes{nonce}"
            )
        }
        // The word is a part of the prompts, which are not published.
        PromptSource::Turnover { count, policy, seed, .. } => format!(
            "Turnover prompts: a marker of its own and {count} times a word each, seed {seed}; \
             policy {policy}"
        ),
    }
}

pub(super) fn length_basis(basis: &LengthBasis) -> String {
    match basis {
        LengthBasis::Assumed {} => "Assumed: four tokens for three words".to_owned(),
        LengthBasis::Calibrated { probes } if probes.len() <= MOST_PROBES => {
            let each = probes
                .iter()
                .map(|probe| format!("{} words are {} tokens", probe.words, probe.prompt_tokens));
            let each: Vec<String> = each.collect();
            format!("Calibrated by the server's own counts: {}", each.join(", "))
        }
        LengthBasis::Calibrated { probes } => {
            format!("Calibrated by the server's own counts of {} prompts", probes.len())
        }
        LengthBasis::Tokenizer { sha256 } => format!("A tokenizer's file, SHA-256 {sha256}"),
    }
}
