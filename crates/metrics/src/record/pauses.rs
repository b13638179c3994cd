//! A run that was taken up again: the time between is taken out of what figures are taken over.

use streamgauge_schema::{Condition, JournalResumed, PublicText};

use crate::inflight::Span;
use crate::sent::Sent;

/// Where a run was taken up again, by what is needed of it.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    /// Since the run's start, rising.
    at_us: Vec<u64>,
    /// Request lines that count no more.
    pub(super) dropped: u64,
    /// What had changed of the conditions by then: their labels.
    pub(super) changed: Vec<PublicText>,
    /// The models that were listed each time.
    pub(super) listed_models: Vec<Option<Vec<String>>>,
}

impl Pauses {
    /// `before` are the conditions of the run's beginning.
    pub(super) fn add(&mut self, resumed: &JournalResumed, before: &[Condition]) {
        self.at_us.push(resumed.at_us);
        self.dropped = self.dropped.saturating_add(resumed.dropped);
        self.listed_models.push(resumed.listed_models.clone());
        let now = &resumed.conditions;
        for Condition { label, .. } in before.iter().chain(now) {
            if value_of(before, label) != value_of(now, label) && !self.changed.contains(label) {
                self.changed.push(label.clone());
            }
        }
    }

    /// How often the run was taken up again.
    pub(super) fn count(&self) -> usize {
        self.at_us.len()
    }

    /// How often it was taken up again after this moment; ever, where there is none.
    pub(super) fn count_after(&self, moment_us: Option<u64>) -> usize {
        let before = moment_us.map_or(0, |us| self.at_us.partition_point(|at_us| *at_us <= us));
        self.count() - before
    }

    /// Between which pauses a request began.
    pub(super) fn segment_of(&self, started_us: u64) -> usize {
        self.at_us.partition_point(|at_us| *at_us <= started_us)
    }

    /// Moves what began after a pause so far back that its first request begins as the last one before
    /// the pause ends. What was lost under way then is in no figure, and neither is the warm-up that
    /// was done again.
    pub(super) fn take_out(&self, sent: &mut [Sent]) {
        if self.count() == 0 {
            return;
        }
        let mut spans: Vec<Option<Span>> = vec![None; self.count() + 1];
        for one in sent.iter() {
            let span = one.span();
            let whole = &mut spans[self.segment_of(one.started_us)];
            *whole = Some(whole.map_or(span, |whole| Span {
                from_us: whole.from_us.min(span.from_us),
                to_us: whole.to_us.max(span.to_us),
            }));
        }
        let mut end_us = None;
        let back_us: Vec<u64> = spans
            .into_iter()
            .map(|span| {
                let Some(span) = span else { return 0 };
                let back_us = end_us.map_or(0, |end_us| span.from_us.saturating_sub(end_us));
                end_us = Some(span.to_us - back_us);
                back_us
            })
            .collect();
        for one in sent {
            one.move_back(back_us[self.segment_of(one.started_us)]);
        }
    }
}

fn value_of<'a>(conditions: &'a [Condition], label: &PublicText) -> Option<&'a PublicText> {
    conditions.iter().find(|known| known.label == *label).map(|known| &known.value)
}
