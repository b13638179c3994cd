//! Which words of a prompt began an earlier one too, as a server with a prefix cache knows them.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// Most beginnings that are remembered; beyond them none is added.
const MOST_BEGINNINGS: usize = 1 << 20;

/// The beginnings of all prompts so far, each by a hash of its words.
#[derive(Debug, Default)]
pub(crate) struct PromptCache(Mutex<HashSet<u64>>);

impl PromptCache {
    /// How many words at the beginning of a prompt were there before; from now on all of its words are.
    /// Never the last one: what follows a prompt has to be computed from something.
    pub(crate) fn take(&self, text: &str) -> u64 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut beginning = DefaultHasher::new();
        let (mut words, mut cached) = (0_u64, 0);
        for word in text.split_whitespace() {
            word.hash(&mut beginning);
            let hash = beginning.finish();
            if cached == words && known.contains(&hash) {
                cached += 1;
            } else if known.len() < MOST_BEGINNINGS {
                known.insert(hash);
            }
            words += 1;
        }
        cached.min(words.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_beginnings_are_cached_and_the_last_word_never_is() {
        let cache = PromptCache::default();
        let cases = [
            ("one two three", 0),
            ("one two three", 2),
            ("one two four five", 2),
            ("one  two\nfour five six", 4),
            ("zero one two three", 0),
            ("one", 0),
            ("", 0),
        ];
        for (text, cached) in cases {
            assert_eq!(cache.take(text), cached, "{text:?}");
        }
    }
}
