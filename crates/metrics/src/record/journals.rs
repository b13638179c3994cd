//! The journals that a run is read from: the one of all of it or of a shard, or one of each of its shards.
//!
//! Invariant: whose a request is follows from its place. Stamps of shards stand on one time line, whose
//! zero is the earliest start by the wall clocks.

use streamgauge_schema::{
    EndReason, JournalBegun, JournalHeader, JournalResumed, JournalTrailer, Load, Plan,
    RequestLine, Shard, Stage, Timestamp,
};

use super::journal::{check_end, declared, ends_by_time};
use super::pauses::Pauses;
use crate::error::RecordError;
use crate::sent::Sent;

/// What a journal said when it was read to its end, besides its requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct JournalEnd<'a> {
    /// How the measured part began; `None` where the journal does not say.
    pub begun: Option<&'a JournalBegun>,
    /// Where the run was taken up again.
    pub resumptions: &'a [JournalResumed],
    /// How it ended; `None` when it was cut off.
    pub trailer: Option<&'a JournalTrailer>,
}

/// All journals of a run.
#[derive(Debug)]
pub(super) struct Journals<'a> {
    load: &'a Load,
    plan: &'a Plan,
    pub(super) started_at: Timestamp,
    /// By the numbers of their shards.
    pub(super) all: Vec<Journal<'a>>,
    /// How many shards the run has; 1 of a whole one.
    of: u64,
    /// Where the journal of each shard stands, by number; `None` of one that is missing.
    places: Vec<Option<usize>>,
    /// Where the journals stand, in the order in which their headers were given.
    given: Vec<usize>,
    is_merged: bool,
}

/// One journal.
#[derive(Debug)]
pub(super) struct Journal<'a> {
    pub(super) header: &'a JournalHeader,
    /// How long after the zero of the common time line it began.
    pub(super) moved_us: u64,
    pub(super) begun: Option<JournalBegun>,
    pub(super) pauses: Pauses,
    pub(super) trailer: Option<JournalTrailer>,
    /// Its request lines, the measured ones, and what lies behind the last place of these.
    pub(super) lines: u64,
    pub(super) measured: u64,
    behind: u64,
    /// The earliest start of its measured requests, by its own time, and whose it is.
    first: Option<(u64, u64)>,
    /// The first warm-up place that has a second line.
    pub(super) warmup_again: Option<u64>,
}

impl<'a> Journals<'a> {
    /// The journal at this place of the headers that were given.
    pub(super) fn given(&mut self, given: usize) -> &mut Journal<'a> {
        let place = self.place(given);
        &mut self.all[place]
    }

    /// Where that journal stands among [`Self::all`].
    pub(super) fn place(&self, given: usize) -> usize {
        self.given[given]
    }

    /// The journal of a whole run, or of a shard by itself.
    pub(super) fn one(plan: &'a Plan, header: &'a JournalHeader) -> Self {
        let of = header.shard.map_or(1, Shard::of);
        let all = vec![Journal::new(header, 0)];
        let started_at = header.started_at;
        let (load, places, given) = (&plan.load, Vec::new(), vec![0]);
        Self { load, plan, started_at, all, of, places, given, is_merged: false }
    }

    /// The journals of a run's shards, in any order.
    pub(super) fn merged(
        plan: &'a Plan,
        headers: &'a [JournalHeader],
    ) -> Result<Self, RecordError> {
        let fault = |problem: String| RecordError::Shards { problem };
        let started_at = headers.iter().map(|header| header.started_at).min();
        let started_at = started_at.ok_or_else(|| fault("there are none".to_owned()))?;
        let mut of = None;
        let mut all = Vec::new();
        for (header, moved_us) in headers.iter().zip(moved_us(headers)) {
            let shard = header.shard.ok_or_else(|| fault("a journal is of a whole run".into()))?;
            let parts = *of.get_or_insert(shard.of());
            if parts != shard.of() {
                return Err(fault(format!("one is {shard}, and another is of {parts}")));
            }
            all.push(Journal::new(header, moved_us));
        }
        all.sort_by_key(|journal| journal.header.shard);
        let of = of.unwrap_or(1);
        let mut places = vec![None; of as usize];
        for (place, journal) in all.iter().enumerate() {
            let Some(shard) = journal.header.shard else { continue };
            if places[shard.number() as usize - 1].replace(place).is_some() {
                return Err(fault(format!("there are two of shard {shard}")));
            }
        }
        let number = |header: &JournalHeader| header.shard.map_or(1, Shard::number);
        let given = headers.iter().filter_map(|it| places[number(it) as usize - 1]).collect();
        Ok(Self { load: &plan.load, plan, started_at, all, of, places, given, is_merged: true })
    }

    /// The shard that this is by itself; `None` of a whole run and of a merged one.
    pub(super) fn shard(&self) -> Option<Shard> {
        self.all.first()?.header.shard.filter(|_| !self.is_merged)
    }

    /// Whether this is a run put together of shards.
    pub(super) fn is_merged(&self) -> bool {
        self.is_merged
    }

    /// How many shards there are to be; 1 of a whole run.
    pub(super) fn of(&self) -> u64 {
        self.of
    }

    /// The shards of a merged run that are not there, by number.
    pub(super) fn missing(&self) -> Vec<u64> {
        let all = (1..).zip(&self.places);
        all.filter(|(_, place)| place.is_none()).map(|(number, _)| number).collect()
    }

    /// Which journal has a request; `None` where its shard is missing.
    pub(super) fn place_of(&self, index: u64) -> Option<usize> {
        if !self.is_merged {
            return Some(0);
        }
        let number = Shard::of_request(self.load, self.of, index)?.number();
        self.places[number as usize - 1]
    }

    /// Requests of a stage that the run is to have: those of the plan, or a shard's part of them.
    pub(super) fn declared(&self, stage: Stage) -> u64 {
        let all = declared(self.plan, stage);
        self.shard().map_or(all, |shard| shard.count(self.load, all))
    }

    /// Those that the journals that are there are to have.
    pub(super) fn present(&self, stage: Stage) -> u64 {
        self.all.iter().map(|journal| journal.part(self.load, declared(self.plan, stage))).sum()
    }

    /// Whether the run has this request.
    pub(super) fn has(&self, index: u64) -> bool {
        self.shard().is_none_or(|shard| shard.has(self.load, index))
    }

    /// A shard's part of the clients, or of the places under way.
    pub(super) fn share(&self, whole: u64) -> u64 {
        self.shard().map_or(whole, |shard| shard.share(whole))
    }

    /// Takes note of a line.
    pub(super) fn note(&mut self, given: usize, line: &RequestLine) -> Result<(), RecordError> {
        let (load, stage, index) = (self.load, line.stage, line.index);
        let journal = self.given(given);
        if let Some(shard) = journal.header.shard.filter(|shard| !shard.has(load, index)) {
            return Err(RecordError::OtherShard { stage, index, shard });
        }
        journal.lines += 1;
        if stage == Stage::Measured {
            journal.measured += 1;
            journal.behind = journal.behind.max(index + 1);
            let start = (line.started_us, index);
            journal.first = Some(journal.first.map_or(start, |first| first.min(start)));
        }
        Ok(())
    }

    /// Holds each journal to its end.
    pub(super) fn check_ends(&self) -> Result<(), RecordError> {
        for journal in &self.all {
            let (pauses, load) = (&journal.pauses, self.load);
            journal.check_beginning()?;
            if let Some(index) = journal.warmup_again.filter(|_| pauses.count() == 0) {
                return Err(RecordError::RepeatedRequest { stage: Stage::Warmup, index });
            }
            let Some(trailer) = &journal.trailer else { continue };
            let part = |stage| journal.part(load, declared(self.plan, stage));
            let (all, found) = match pauses.count() {
                0 => (Stage::ALL.iter().map(|stage| part(*stage)).sum(), journal.lines),
                // The warm-up of a run that was taken up again has no number of its own.
                _ => (part(Stage::Measured), journal.measured),
            };
            let lines = journal.lines.saturating_add(pauses.dropped);
            check_end(load, lines, (all, found), trailer)?;
        }
        Ok(())
    }

    /// Requests that were due.
    pub(super) fn offered(&self) -> u64 {
        if !ends_by_time(self.load) {
            return self.declared(Stage::Measured);
        }
        self.all.iter().map(|journal| journal.offered(self.load)).sum()
    }

    /// Whether a server whose responses name no model listed the expected one, and no other, before and
    /// after every part of the run.
    pub(super) fn list_expected_alone(&self) -> bool {
        let target = &self.plan.target;
        let is_alone = |models: &Vec<String>| models.as_slice() == [target.expect_model.as_str()];
        let mut lists = self.all.iter().flat_map(|journal| {
            let after = journal.trailer.as_ref().and_then(|it| it.listed_models.as_ref());
            let between = journal.pauses.listed_models.iter().map(Option::as_ref);
            [journal.header.listed_models.as_ref(), after].into_iter().chain(between)
        });
        !target.dialect.names_model() && lists.all(|list| list.is_some_and(is_alone))
    }

    /// Between which pauses of its journal a request began; these are counted since the zero of the
    /// common time line.
    pub(super) fn segment_of(&self, at: usize, sent: &Sent) -> usize {
        let journal = &self.all[at];
        journal.pauses.segment_of(sent.started_us - journal.moved_us)
    }

    /// How often the run, or a part of it, broke off while it measured and was taken up again.
    pub(super) fn taken_up(&self) -> usize {
        self.all.iter().map(Journal::taken_up).sum()
    }

    /// Whether the warm-up was done again, as the run, or a part of it, was taken up again at some time.
    pub(super) fn warmed_up_again(&self) -> bool {
        self.all.iter().any(|journal| journal.pauses.count() > 0)
    }

    /// Whether each journal has an end, and none is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.missing().is_empty() && self.all.iter().all(|journal| journal.trailer.is_some())
    }

    /// Why the run ended: what stopped it, where something stopped a part of it. `None` when one was cut
    /// off, or is missing.
    pub(super) fn end(&self) -> Option<EndReason> {
        let reasons = self.all.iter().filter_map(|journal| Some(journal.trailer.as_ref()?.reason));
        let weight = |reason: &EndReason| match reason {
            EndReason::Finished => 0,
            EndReason::ErrorRate => 1,
            EndReason::Interrupted => 2,
        };
        reasons.max_by_key(weight).filter(|_| self.is_whole())
    }
}

impl<'a> Journal<'a> {
    fn new(header: &'a JournalHeader, moved_us: u64) -> Self {
        Self {
            header,
            moved_us,
            begun: None,
            pauses: Pauses::default(),
            trailer: None,
            lines: 0,
            measured: 0,
            behind: 0,
            first: None,
            warmup_again: None,
        }
    }

    /// How often it broke off while it measured and was taken up again. Before its measured part had begun
    /// nothing was lost that figures are taken over.
    pub(super) fn taken_up(&self) -> usize {
        self.pauses.count_after(self.begun.map(|begun| begun.at_us))
    }

    /// Its part of the first requests of a stage.
    fn part(&self, load: &Load, requests: u64) -> u64 {
        self.header.shard.map_or(requests, |shard| shard.count(load, requests))
    }

    /// No measured request is sent before the measured part begins.
    fn check_beginning(&self) -> Result<(), RecordError> {
        let Some((begun, (started_us, index))) = self.begun.zip(self.first) else { return Ok(()) };
        if started_us >= begun.at_us {
            return Ok(());
        }
        let begun_us = begun.at_us;
        let contradiction =
            format!("started_us is {started_us}, and the measured part began at {begun_us}");
        Err(RecordError::Contradiction { stage: Stage::Measured, index, contradiction })
    }

    /// Its requests that were due.
    pub(super) fn offered(&self, load: &Load) -> u64 {
        match self.trailer {
            _ if !ends_by_time(load) => self.part(load, load.requests),
            // What was sent is what was due.
            Some(_) => self.measured,
            // Whatever came before the last line was due, but some of it was lost.
            None => self.part(load, self.behind),
        }
    }
}

/// How far each journal's stamps are moved so that they stand on one time line: its zero is the earliest
/// start by the wall clocks of the machines that measured.
///
/// ```
/// use streamgauge_metrics::moved_us;
/// use streamgauge_schema::{Digest, JournalHeader, Timestamp};
/// let header = |started_us| JournalHeader {
///     journal_version: 1,
///     plan_sha256: Digest::of(b"plan"),
///     started_at: Timestamp::from_unix_micros(started_us),
///     started_monotonic_ns: None,
///     listed_models: None,
///     conditions: Vec::new(),
///     shard: None,
/// };
/// assert_eq!(moved_us(&[header(5_000), header(2_000)]), [3_000, 0]);
/// ```
#[must_use]
pub fn moved_us(headers: &[JournalHeader]) -> Vec<u64> {
    let micros = |header: &JournalHeader| header.started_at.unix_micros();
    let zero = headers.iter().map(micros).min().unwrap_or(0);
    headers.iter().map(|header| micros(header).abs_diff(zero)).collect()
}
