//! Lengths from a tokenizer's own file.
//!
//! Invariant: nothing is asked of a network, and the same file gives the same line.

#[cfg(test)]
mod tests;

use streamgauge_schema::{Digest, LengthBasis, LengthProbe, Stage};
use tokenizers::Tokenizer;

use super::{LengthError, Lengths, Line};
use crate::synthetic::SyntheticPrompts;

/// Prompts that are counted of each length.
const PROMPTS_PER_LENGTH: u64 = 8;

impl Lengths {
    /// A line through what a tokenizer counts for prompts like `prompts`, in two lengths and
    /// with their prefixes and nonces. `json` is the content of its `tokenizer.json`.
    ///
    /// What a server puts around a prompt, such as the marks of a chat, is not counted.
    ///
    /// # Errors
    /// When the file is no tokenizer, or what it counts are no words.
    pub fn from_tokenizer(json: &[u8], prompts: &SyntheticPrompts) -> Result<Self, LengthError> {
        let failed =
            |error: tokenizers::Error| LengthError::Tokenizer { reason: error.to_string() };
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(failed)?;
        // A file may say that what it is given is to be cut or filled up.
        tokenizer.with_truncation(None).map_err(failed)?;
        tokenizer.with_padding(None);
        let mut probes = Vec::new();
        for prompts in prompts.in_two_lengths() {
            for index in 0..PROMPTS_PER_LENGTH {
                let text = prompts.prompt(Stage::Warmup, index);
                let encoding = tokenizer.encode_fast(text, false).map_err(failed)?;
                let prompt_tokens = encoding.len() as u64;
                probes.push(LengthProbe { words: prompts.words(), prompt_tokens });
            }
        }
        let line = Line::through(&probes)?;
        Ok(Self { basis: LengthBasis::Tokenizer { sha256: Digest::of(json) }, line })
    }
}
