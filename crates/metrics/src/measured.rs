//! The measured part of a run: what the schedule held, and the requests that were sent.

use streamgauge_schema::{Completion, Observation, RequestLine, Stage};

use crate::inflight::Span;

/// The measured requests of a run. Warm-up is outside it.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    /// Requests that the schedule held.
    pub(crate) offered: u64,
    /// The lines of those that were sent, by index; at most one for each.
    pub(crate) sent: Vec<&'a RequestLine>,
}

impl<'a> Measured<'a> {
    /// The lines are those of a journal that was checked.
    pub(crate) fn of(offered: u64, requests: &'a [RequestLine]) -> Self {
        let measured = requests.iter().filter(|line| line.stage == Stage::Measured);
        let mut sent: Vec<_> = measured.collect();
        sent.sort_unstable_by_key(|line| line.index);
        Self { offered, sent }
    }

    pub(crate) fn succeeded(&self) -> impl Iterator<Item = &'a RequestLine> {
        self.sent.iter().copied().filter(|line| line.completion == Completion::Succeeded)
    }

    pub(crate) fn count(&self, completion: Completion) -> u64 {
        match completion {
            Completion::NotSent => self.offered - self.sent.len() as u64,
            other => self.sent.iter().filter(|line| line.completion == other).count() as u64,
        }
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.sent.iter().map(|line| span(line)).collect()
    }

    /// From the first start to the last end; `None` when nothing was sent, or when that took no
    /// time, of which there are no rates.
    pub(crate) fn batch(&self) -> Option<Span> {
        let whole = self.spans().into_iter().reduce(|whole, span| Span {
            from_us: whole.from_us.min(span.from_us),
            to_us: whole.to_us.max(span.to_us),
        });
        whole.filter(|whole| whole.length_us() > 0)
    }

    /// The length of [`Self::batch`] in seconds: what every rate of the run is divided by.
    pub(crate) fn batch_seconds(&self) -> Option<f64> {
        self.batch().map(|batch| batch.length_us() as f64 / 1e6)
    }
}

/// When a request was under way.
pub(crate) fn span(line: &RequestLine) -> Span {
    Span { from_us: line.started_us, to_us: line.started_us.saturating_add(line.elapsed_us) }
}

/// Whether there was any output, streamed or in one body.
pub(crate) fn has_output(seen: &Observation) -> bool {
    seen.output_events > 0 || seen.whole_body_output
}

/// What a request adds to the tokens of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputTokens {
    /// It produced no output: nothing.
    None,
    /// So many, by the server's own count.
    Counted(u64),
    /// It produced output that no unambiguous count belongs to.
    Unknown,
}

impl OutputTokens {
    pub(crate) fn of(line: &RequestLine) -> Self {
        let Some(seen) = line.observation.as_ref().filter(|seen| has_output(seen)) else {
            return Self::None;
        };
        let usage = seen.usage.filter(|_| !seen.usage_ambiguous);
        // Output has tokens: a count of 0 was never taken.
        let counted = usage.and_then(|usage| usage.completion_tokens).filter(|tokens| *tokens > 0);
        counted.map_or(Self::Unknown, Self::Counted)
    }
}
