//! A counter of a server, read again and again: by how much it has risen, and whether it fell.

use std::collections::BTreeMap;

use streamgauge_schema::{ServerFamily, ServerSample};

use super::Untold;

/// One counter, with a series for each engine.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// What each series said last; `None` before the first answer.
    series: Option<BTreeMap<(ServerFamily, String), f64>>,
    so_far: Reading,
}

/// What is known of a counter at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// By how much all its series have risen since the first answer.
    risen: f64,
    /// How often one of them fell, or was gone.
    falls: u64,
    /// Whether the server tells of it.
    pub(super) is_told: bool,
}

impl Counter {
    /// Takes what an answer says. A series that was not there before counted from 0: servers make them
    /// when there is something to count.
    pub(super) fn read<'a>(&mut self, samples: impl Iterator<Item = &'a ServerSample>) -> Reading {
        let now: BTreeMap<_, _> =
            samples.map(|it| ((it.family, it.series.clone()), it.value)).collect();
        self.so_far.is_told = !now.is_empty();
        if let Some(before) = &self.series {
            for (series, value) in &now {
                let rise = value - before.get(series).unwrap_or(&0.0);
                self.so_far.risen += rise.max(0.0);
                self.so_far.falls += u64::from(rise < 0.0);
            }
            let gone = before.keys().filter(|series| !now.contains_key(*series));
            self.so_far.falls += gone.count() as u64;
        }
        self.series = Some(now);
        self.so_far
    }
}

impl Reading {
    /// By how much the counter has risen since an earlier reading.
    pub(super) fn since(self, earlier: Self) -> Result<f64, Untold> {
        if self.falls > earlier.falls {
            Err(Untold::Fell)
        } else if self.is_told {
            Ok(self.risen - earlier.risen)
        } else {
            Err(Untold::NotOffered)
        }
    }
}
