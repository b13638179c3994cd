//! Prompt tokens that a server took from a cache, and whether they spoil a cell that must not have
//! any.

use streamgauge_schema::{CacheState, RequestLine};

/// The most of a cold cell's prompt tokens that may come from a cache.
const TOLERATED_SHARE: f64 = 0.01;

/// Prompt tokens that came from a cache, over the responses that report both counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CachedShare {
    pub(crate) cached: u64,
    pub(crate) prompt: u64,
    /// Responses that report both.
    pub(crate) responses: u64,
}

impl CachedShare {
    /// Adds a response. One that reports more cached tokens than it has took its whole prompt from
    /// a cache.
    pub(crate) fn add(&mut self, line: &RequestLine) {
        let usage = line.observation.as_ref().and_then(|seen| seen.usage);
        let reported = usage.and_then(|usage| usage.cached_tokens.zip(usage.prompt_tokens));
        let Some((cached, prompt)) = reported else { return };
        self.cached = self.cached.saturating_add(cached.min(prompt));
        self.prompt = self.prompt.saturating_add(prompt);
        self.responses += 1;
    }

    /// The share; `None` when no response reports tokens of its prompt.
    pub(crate) fn ratio(self) -> Option<f64> {
        (self.prompt > 0).then(|| self.cached as f64 / self.prompt as f64)
    }
}

/// Whether a cache served what was to be computed: the cell is declared cold or of prompts that
/// share no beginning, and more than 1 percent of its prompt tokens came from a cache.
pub(crate) fn is_contaminated(state: &CacheState, cached_ratio: Option<f64>) -> bool {
    let is_cold = matches!(state, CacheState::ColdEngine | CacheState::WarmEngineUniquePrefixes);
    is_cold && cached_ratio.is_some_and(|ratio| ratio > TOLERATED_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::succeeded;

    fn reporting(prompt: Option<u64>, cached: Option<u64>) -> RequestLine {
        let mut line = succeeded(0, 0, &[10, 20], 5);
        let usage = line.observation.as_mut().unwrap().usage.as_mut().unwrap();
        (usage.prompt_tokens, usage.cached_tokens) = (prompt, cached);
        line
    }

    #[test]
    fn shares() {
        let cases = [
            (vec![(Some(500), None), (None, Some(3))], (0, 0, 0), None),
            (vec![(Some(500), Some(0))], (0, 500, 1), Some(0.0)),
            (vec![(Some(300), Some(100)), (Some(100), Some(0))], (100, 400, 2), Some(0.25)),
            (vec![(Some(100), Some(900))], (100, 100, 1), Some(1.0)),
            (vec![(Some(0), Some(0))], (0, 0, 1), None),
        ];
        for (responses, counts, ratio) in cases {
            let mut share = CachedShare::default();
            for (prompt, cached) in responses {
                share.add(&reporting(prompt, cached));
            }
            assert_eq!((share.cached, share.prompt, share.responses), counts);
            assert_eq!(share.ratio(), ratio);
        }
    }

    #[test]
    fn contamination() {
        use CacheState::{ColdEngine, Unknown, WarmEngineSharedPrefixes, WarmEngineUniquePrefixes};
        let cases = [
            (ColdEngine, Some(0.01_f64.next_up()), true),
            (ColdEngine, Some(0.01), false),
            (ColdEngine, None, false),
            (WarmEngineUniquePrefixes, Some(0.5), true),
            (WarmEngineSharedPrefixes, Some(0.5), false),
            (Unknown, Some(0.5), false),
        ];
        for (state, ratio, expected) in cases {
            assert_eq!(is_contaminated(&state, ratio), expected, "{state} {ratio:?}");
        }
    }
}
