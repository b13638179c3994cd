//! Counters of oddities, with the place of the first of each kind.

use streamgauge_schema::{Anomaly, AnomalyKind};

/// What was odd so far, in the order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Anomalies(Vec<Anomaly>);

impl Anomalies {
    /// Counts one oddity that was found at a byte offset of the body.
    pub(crate) fn note(&mut self, kind: AnomalyKind, offset: u64) {
        self.note_many(kind, 1, offset);
    }

    /// Counts several; none at all leave no trace.
    pub(crate) fn note_many(&mut self, kind: AnomalyKind, count: u64, offset: u64) {
        if count == 0 {
            return;
        }
        match self.0.iter_mut().find(|anomaly| anomaly.kind == kind) {
            Some(anomaly) => anomaly.count += count,
            None => self.0.push(Anomaly { kind, count, first_offset: offset }),
        }
    }

    /// Takes back what was noted of a kind.
    pub(crate) fn forget(&mut self, kind: AnomalyKind) {
        self.0.retain(|anomaly| anomaly.kind != kind);
    }

    /// All of them, by kind.
    pub(crate) fn into_sorted(mut self) -> Vec<Anomaly> {
        self.0.sort_by_key(|anomaly| anomaly.kind);
        self.0
    }
}
