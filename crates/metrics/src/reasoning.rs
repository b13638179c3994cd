//! How much of the answers was reasoning, by the servers' own counts.

use streamgauge_schema::{RequestLine, TokenAccounting};

/// Tokens of the responses that report those of their reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReasoningShare {
    reasoning: u64,
    /// Of these at most as many as completion tokens, response by response.
    within: u64,
    completion: u64,
    /// Responses that report both counts.
    pub(crate) responses: u64,
}

impl ReasoningShare {
    pub(crate) fn add(&mut self, line: &RequestLine) {
        let seen = line.observation.as_ref().filter(|seen| !seen.usage_ambiguous);
        let usage = seen.and_then(|seen| seen.usage);
        let reported = usage.and_then(|usage| usage.reasoning_tokens.zip(usage.completion_tokens));
        let Some((reasoning, completion)) = reported else { return };
        self.reasoning = self.reasoning.saturating_add(reasoning);
        self.within = self.within.saturating_add(reasoning.min(completion));
        self.completion = self.completion.saturating_add(completion);
        self.responses += 1;
    }

    /// The share; `None` when no response reports both counts, or none of them has any tokens.
    /// Completion tokens hold those of reasoning unless the server is declared to leave them out.
    pub(crate) fn ratio(self, accounting: &TokenAccounting) -> Option<f64> {
        let (part, whole) = match accounting {
            TokenAccounting::CompletionExcludesReasoning => {
                (self.reasoning, self.completion.saturating_add(self.reasoning))
            }
            _ => (self.within, self.completion),
        };
        (whole > 0).then(|| part as f64 / whole as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::succeeded;

    #[test]
    fn shares() {
        use TokenAccounting::{CompletionExcludesReasoning as Excludes, Unknown};
        type Counts = &'static [(Option<u64>, u64)];
        let cases: [(Counts, Option<f64>, Option<f64>); 5] = [
            (&[(None, 40)], None, None),
            (&[(Some(0), 40), (None, 10)], Some(0.0), Some(0.0)),
            (&[(Some(30), 40), (Some(10), 120)], Some(0.25), Some(0.2)),
            (&[(Some(60), 40)], Some(1.0), Some(0.6)),
            (&[(Some(0), 0)], None, None),
        ];
        for (responses, included, excluded) in cases {
            let mut share = ReasoningShare::default();
            for (reasoning, completion) in responses {
                let mut line = succeeded(0, 0, &[10, 20], *completion);
                let usage = line.observation.as_mut().unwrap().usage.as_mut().unwrap();
                usage.reasoning_tokens = *reasoning;
                share.add(&line);
            }
            assert_eq!(share.ratio(&Unknown), included, "{responses:?}");
            assert_eq!(share.ratio(&Excludes), excluded, "{responses:?}");
        }
    }

    #[test]
    fn counts_that_choices_disagree_about_are_left_out() {
        let mut line = succeeded(0, 0, &[10, 20], 40);
        let seen = line.observation.as_mut().unwrap();
        seen.usage.as_mut().unwrap().reasoning_tokens = Some(10);
        seen.usage_ambiguous = true;
        let mut share = ReasoningShare::default();
        share.add(&line);
        assert_eq!(share, ReasoningShare::default());
    }
}
