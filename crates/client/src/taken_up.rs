//! A run directory whose run was cut off or stopped, taken up again: what its journal holds, and what is
//! missing.
//!
//! Invariant: it is held from the moment at which it is read, so that nobody else takes it up too.

use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use streamgauge_schema::{
    Condition, EndReason, JournalHeader, JournalTrailer, Plan, RequestLine, Stage,
};

use crate::error::JournalError;
use crate::journal::{JournalReader, JournalWriter, can_be_asked_again};
use crate::lines::Appender;
use crate::lock::lock_to_write;

/// A run that is taken up again.
#[derive(Debug)]
pub struct TakenUp {
    path: PathBuf,
    journal: File,
    header: JournalHeader,
    trailer: Option<JournalTrailer>,
    conditions: Vec<Condition>,
    torn_bytes: u64,
    so_far: SoFar,
}

/// What a run had come to when it was cut off: what [`RunSetup::so_far`](crate::RunSetup) goes on from.
#[derive(Clone, Debug, Default)]
pub struct SoFar {
    /// When the run began.
    pub(crate) header: Option<JournalHeader>,
    /// The measured requests that count, by their places.
    pub(crate) done: Arc<Places>,
    /// Request lines that are there.
    pub(crate) lines: u64,
    /// Of them, those that count no more.
    pub(crate) dropped: u64,
    /// End of the last of them.
    pub(crate) last_us: u64,
    /// Whether the journal says how the measured part began.
    pub(crate) begun: bool,
    /// How long measured requests were under way, without the time between segments.
    pub(crate) measured: Duration,
}

/// Places of requests, one bit for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    bits: Vec<u64>,
    count: u64,
}

impl Places {
    pub(crate) fn contains(&self, index: u64) -> bool {
        self.bits.get((index / 64) as usize).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Whether the place was free.
    fn insert(&mut self, index: u64) -> bool {
        let is_new = !self.contains(index);
        let word = (index / 64) as usize;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (index % 64);
        self.count += u64::from(is_new);
        is_new
    }
}

impl TakenUp {
    /// Reads and holds the journal of a run with this plan; nothing is changed yet.
    ///
    /// # Errors
    /// When a run is still going there, when the journal cannot be read or does not hold, or when it is
    /// shared with another directory.
    pub fn read(path: &Path, plan: &Plan) -> Result<Self, JournalError> {
        let io_error =
            |source| JournalError::Io { action: "cannot take up", path: path.to_owned(), source };
        let journal = OpenOptions::new().append(true).read(true).open(path).map_err(io_error)?;
        lock_to_write(&journal, path)?;
        let known = journal.metadata().map_err(io_error)?;
        if known.nlink() > 1 {
            return Err(JournalError::Shared { path: path.to_owned() });
        }
        let source = BufReader::new(journal.try_clone().map_err(io_error)?);
        let mut reader = JournalReader::new(source, path)?;
        let mut so_far = SoFar::default();
        let mut segment = Segment::default();
        while let Some(line) = reader.next_request()? {
            let taken_up = reader.resumptions().len();
            if segment.taken_up != taken_up {
                so_far.measured += segment.length();
                segment = Segment { taken_up, ..Segment::default() };
            }
            so_far.last_us = so_far.last_us.max(end_of(&line));
            if can_be_asked_again(&line) {
                so_far.dropped += 1;
            } else if line.stage == Stage::Measured {
                segment.add(&line);
                let shard = reader.header().shard;
                let is_own = shard.is_none_or(|shard| shard.has(&plan.load, line.index));
                if !is_own || line.index >= plan.load.requests || !so_far.add(line.index) {
                    return Err(JournalError::Order {
                        path: path.to_owned(),
                        line: 1,
                        problem: format!(
                            "request {} is none of this run's, or it has two lines",
                            line.index
                        ),
                    });
                }
            }
        }
        so_far.measured += segment.length();
        so_far.lines = reader.requests();
        so_far.begun = reader.begun().is_some();
        let header = reader.header().clone();
        let last = reader.resumptions().last();
        if let Some(last) = last {
            so_far.last_us = so_far.last_us.max(last.at_us);
        }
        let conditions = last.map_or(&header.conditions, |last| &last.conditions).clone();
        so_far.header = Some(header.clone());
        let trailer = reader.trailer().cloned();
        let torn_bytes = reader.torn_bytes() as u64;
        Ok(Self { path: path.into(), journal, header, trailer, conditions, torn_bytes, so_far })
    }

    /// How the journal begins.
    #[must_use]
    pub fn header(&self) -> &JournalHeader {
        &self.header
    }

    /// With what and where it was measured last, and what the server said of itself then.
    #[must_use]
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Whether the run had come to its end, so that nothing is missing.
    #[must_use]
    pub fn has_finished(&self) -> bool {
        self.trailer.as_ref().is_some_and(|trailer| trailer.reason == EndReason::Finished)
    }

    /// Bytes of a last line that was cut off.
    #[must_use]
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// What the run goes on from.
    #[must_use]
    pub fn so_far(&self) -> &SoFar {
        &self.so_far
    }

    /// Opens the journal for what is missing: what was cut off of a line goes.
    ///
    /// # Errors
    /// When the file cannot be cut, or written.
    pub fn go_on(self) -> Result<JournalWriter, JournalError> {
        let Self { path, journal, torn_bytes, .. } = self;
        if torn_bytes > 0 {
            let length = journal.metadata().map(|known| known.len() - torn_bytes);
            let cut = length.and_then(|length| journal.set_len(length));
            cut.map_err(|source| JournalError::Io {
                action: "cannot cut",
                path: path.clone(),
                source,
            })?;
        }
        Ok(JournalWriter::add_to(Appender::add_to_open(journal, &path)?))
    }
}

impl SoFar {
    pub(crate) fn header(&self) -> Option<&JournalHeader> {
        self.header.as_ref()
    }

    /// Since the run's start, the end of what is known of it.
    pub(crate) fn last(&self) -> Duration {
        Duration::from_micros(self.last_us)
    }

    /// Whether the request had no line before.
    pub(crate) fn add(&mut self, index: u64) -> bool {
        Arc::make_mut(&mut self.done).insert(index)
    }

    /// Measured requests that are not asked again.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.count
    }

    /// Whether the journal says how the measured part began: nothing waits for a common start then.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether this measured request is not asked again.
    #[must_use]
    pub fn has(&self, index: u64) -> bool {
        self.done.contains(index)
    }
}

/// The measured requests between two interruptions.
#[derive(Debug, Default)]
struct Segment {
    taken_up: usize,
    span_us: Option<(u64, u64)>,
}

impl Segment {
    fn add(&mut self, line: &RequestLine) {
        let (from, to) = self.span_us.unwrap_or((line.started_us, 0));
        self.span_us = Some((from.min(line.started_us), to.max(end_of(line))));
    }

    fn length(&self) -> Duration {
        let (from, to) = self.span_us.unwrap_or_default();
        Duration::from_micros(to.saturating_sub(from))
    }
}

fn end_of(line: &RequestLine) -> u64 {
    line.started_us.saturating_add(line.elapsed_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_once() {
        let mut places = Places::default();
        for index in [0, 63, 64, 199] {
            assert!(places.insert(index) && !places.insert(index), "{index}");
        }
        let known: Vec<u64> = (0..300).filter(|index| places.contains(*index)).collect();
        assert_eq!((known, places.count), (vec![0, 63, 64, 199], 4));
    }
}
