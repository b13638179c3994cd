//! The lines of a journal, taken one by one: of each only what the record needs is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use streamgauge_schema::{
    Case, CaseOutcome, Completion, Digest, Evidence, Grades, JournalHeader, JournalResumed,
    JournalTrailer, Plan, RequestLine, RunRecordV2, ScrapeLine, Stage, Tally, TimeBasis,
};

use super::instrument::InstrumentSums;
use super::pauses::Pauses;
use super::receipts::{Joined, Receipts};
use super::responses::Responses;
use super::{cases, journal, line, turnover};
use crate::error::RecordError;
use crate::graded::Graded;
use crate::inflight::Span;
use crate::kernel_basis::to_kernel_basis;
use crate::measured::{Gathered, Measured};
use crate::sent::Sent;
use crate::server::{Scrapes, Times};
use crate::turnover::TurnoverTally;

/// Makes a record from a journal that is read line by line: a run of a million requests needs some
/// hundred megabytes, where its lines would need more than a gigabyte.
///
/// The lines may come in any order. [`build_record`](crate::build_record) does the same for lines
/// that are all there.
///
/// ```
/// use streamgauge_metrics::RunCollector;
/// use streamgauge_schema::{JournalLine, Plan, read_typed};
///
/// let plan: Plan = read_typed(&std::fs::read("../schema/tests/run/plan.json")?)?;
/// let journal = std::fs::read_to_string("../schema/tests/run/observations.jsonl")?;
/// let mut lines = journal.lines().map(serde_json::from_str::<JournalLine>);
/// let Some(Ok(JournalLine::Header(header))) = lines.next() else { panic!("a header") };
///
/// let mut run = RunCollector::new(&plan, &header)?;
/// let mut end = None;
/// for line in lines {
///     match line? {
///         JournalLine::Request(line) => run.add(&line)?,
///         JournalLine::Begun(_) => panic!("a whole run without a common start"),
///         JournalLine::Resumed(resumed) => run.resumed(&resumed),
///         JournalLine::Trailer(trailer) => end = Some(trailer),
///         JournalLine::Header(_) => panic!("one header"),
///     }
/// }
/// let run = run.close(end.as_ref())?;
/// let declared = run.cases().count() as u64;
/// let record = run.into_record(Vec::new())?;
/// assert_eq!(record.counts.declared, declared);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunCollector<'a> {
    plan: &'a Plan,
    header: &'a JournalHeader,
    places: Places,
    lines: u64,
    last_us: u64,
    gathered: Gathered,
    responses: Responses,
    receipts: Receipts<'a>,
    turnover: Option<TurnoverTally>,
    instrument: InstrumentSums,
    scrapes: Scrapes,
    warmup: Warmup,
    pauses: Pauses,
}

/// A run whose journal was read to its end, and holds together.
#[derive(Debug)]
pub struct CollectedRun<'a> {
    pub(super) plan: &'a Plan,
    pub(super) header: &'a JournalHeader,
    pub(super) trailer: Option<JournalTrailer>,
    /// The last end of any request, warm-up included.
    pub(super) last_us: u64,
    pub(super) measured: Measured,
    pub(super) responses: Responses,
    /// How it was graded; `None` where no grader was set.
    pub(super) joined: Option<Joined<'a>>,
    /// What became of the requests of a turnover run; `None` of another one.
    pub(super) turnover: Option<TurnoverTally>,
    pub(super) instrument: InstrumentSums,
    pub(super) warmup: Warmup,
    pub(super) pauses: Pauses,
}

/// What was sent before the measurement.
#[derive(Debug, Default)]
pub(super) struct Warmup {
    pub(super) sent: u64,
    pub(super) succeeded: u64,
    /// The last end of any.
    last_us: u64,
    /// The first of its places that has a second line.
    again: Option<u64>,
    /// Its prompts, and those of the measured requests; without warm-up none are kept.
    prompts: BTreeSet<u64>,
    measured_prompts: Vec<u64>,
}

impl<'a> RunCollector<'a> {
    /// Begins with a plan and the header of its journal.
    ///
    /// # Errors
    /// When the plan contradicts itself or holds too many requests, or when the journal was written
    /// for another plan.
    pub fn new(plan: &'a Plan, header: &'a JournalHeader) -> Result<Self, RecordError> {
        journal::check_plan(plan)?;
        let digest = Digest::of_value(plan)?;
        if digest != header.plan_sha256 {
            return Err(RecordError::PlanDiffers { plan: digest, journal: header.plan_sha256 });
        }
        Ok(Self {
            plan,
            header,
            places: Places::default(),
            lines: 0,
            last_us: 0,
            gathered: Gathered::default(),
            responses: Responses::default(),
            receipts: Receipts::of_plan(plan.grading.as_ref()),
            turnover: turnover::policy(plan).map(|_| TurnoverTally::default()),
            instrument: InstrumentSums::default(),
            scrapes: Scrapes::default(),
            warmup: Warmup::default(),
            pauses: Pauses::default(),
        })
    }

    /// Takes the receipts of the run's graders, which is done before its first line. What graded the
    /// run is then what they say, whether it was planned or not.
    ///
    /// # Errors
    /// When a receipt contradicts itself, has another's prompt, or is of a grader that is not named.
    pub fn graded(self, grades: &'a Grades) -> Result<Self, RecordError> {
        Ok(Self { receipts: Receipts::of(grades)?, ..self })
    }

    /// The run was taken up again here. Of what stands before it only those lines are to be given that
    /// still count, as `JournalReader` does.
    pub fn resumed(&mut self, resumed: &JournalResumed) {
        self.pauses.add(resumed, &self.header.conditions);
    }

    /// Takes a line.
    ///
    /// # Errors
    /// When the plan does not hold its request, when the request had a line before, or when the line
    /// contradicts itself or its receipt. Where a grader is set, also when another measured request
    /// has the same prompt: receipts are joined by it.
    pub fn add(&mut self, line: &RequestLine) -> Result<(), RecordError> {
        let (stage, index) = (line.stage, line.index);
        let declared = journal::declared(self.plan, stage);
        if index >= declared {
            return Err(RecordError::UndeclaredRequest { stage, index, declared });
        }
        if !self.places.insert(stage, index) {
            match stage {
                Stage::Measured => return Err(RecordError::RepeatedRequest { stage, index }),
                // It is done again when the run is taken up.
                Stage::Warmup => _ = self.warmup.again.get_or_insert(index),
            }
        }
        line::check(self.plan, line).map_err(|contradiction| RecordError::Contradiction {
            stage,
            index,
            contradiction,
        })?;
        self.lines += 1;
        self.last_us = self.last_us.max(line.started_us.saturating_add(line.elapsed_us));
        let has_warmup = self.plan.load.warmup > 0;
        match stage {
            Stage::Measured => {
                if has_warmup {
                    self.warmup.measured_prompts.push(short(&line.prompt_sha256));
                }
                self.add_measured(line)?;
            }
            Stage::Warmup => self.warmup.add(line),
        }
        Ok(())
    }

    /// Takes what the server said of itself when it was asked once, in the order in which it was asked. It
    /// enters the record where the plan says that the server is asked.
    ///
    /// # Errors
    /// When it was asked before the line before it was answered.
    pub fn add_scrape(&mut self, line: &ScrapeLine) -> Result<(), RecordError> {
        self.scrapes.add(line)
    }

    fn add_measured(&mut self, line: &RequestLine) -> Result<(), RecordError> {
        let expect_model = &self.plan.target.expect_model;
        let joined = self.receipts.join(line, self.plan)?;
        if let Some(turnover) = &mut self.turnover {
            turnover.add(expect_model, line, joined.map(|(grade, _)| grade));
        }
        let policy = turnover::policy(self.plan);
        let graded = joined.map(|(grade, graded)| match policy {
            Some(policy) => graded.under(policy, grade),
            None => graded,
        });
        self.responses.add(self.plan, line);
        self.instrument.add(line);
        match self.plan.instrument.time_basis {
            TimeBasis::Kernel => match to_kernel_basis(line) {
                Some(line) => self.gathered.push_timed(&line),
                None => self.gathered.push_untimed(line),
            },
            TimeBasis::Read => self.gathered.push_timed(line),
        }
        if let Some(sent) = self.gathered.sent.last_mut() {
            sent.graded = graded;
        }
        Ok(())
    }

    /// Ends with the journal's trailer; `None` when it has none, as the run was cut off.
    ///
    /// # Errors
    /// When lines are missing, when requests are not due in their order, or when a receipt has the
    /// prompt of no request that succeeded.
    pub fn close(self, trailer: Option<&JournalTrailer>) -> Result<CollectedRun<'a>, RecordError> {
        let plan = self.plan;
        let is_resumed = self.pauses.count() > 0;
        if let Some(index) = self.warmup.again.filter(|_| !is_resumed) {
            return Err(RecordError::RepeatedRequest { stage: Stage::Warmup, index });
        }
        if let Some(trailer) = trailer {
            let measured = is_resumed.then_some(self.gathered.sent.len() as u64);
            journal::check_end(plan, self.lines, self.pauses.dropped, measured, trailer)?;
        }
        let mut gathered = self.gathered;
        gathered.sent.sort_unstable_by_key(|sent| sent.index);
        for segment in 0..=self.pauses.count() {
            let within = |sent: &&Sent| self.pauses.segment_of(sent) == segment;
            journal::check_due_times(gathered.sent.iter().filter(within))?;
        }
        self.pauses.take_out(&mut gathered.sent);
        let sent = &gathered.sent;
        let offered = match trailer {
            _ if !journal::ends_by_time(&plan.load) => plan.load.requests,
            // What was sent is what was due.
            Some(_) => sent.len() as u64,
            // Whatever came before the last line was due, but some of it was lost.
            None => sent.iter().map(|sent| sent.index + 1).max().unwrap_or(0),
        };
        // A run that was cut off has lost the spans of what was under way.
        let may_be_lost = offered > sent.len() as u64 || journal::ends_by_time(&plan.load);
        let mut measured = gathered.close(plan, offered);
        if is_resumed {
            // Where it broke off the load was not at its target.
            measured.steady = None;
        }
        if lists_expected_alone(plan, self.header, &self.pauses, trailer) {
            measured
                .sent
                .iter_mut()
                .filter_map(|sent| sent.graded.as_mut())
                .for_each(Graded::as_listed);
        }
        let joined = self.receipts.close()?;
        measured.is_graded = joined.is_some();
        measured.lacks_spans = is_resumed || trailer.is_none() && may_be_lost;
        if plan.instrument.server_metrics.is_some() {
            let span = measured.spans().reduce(Span::with);
            let (warm_us, is_whole) = (self.warmup.last_us, trailer.is_some());
            let times = Times { warm_us, measured: span, is_whole };
            // Of a run that broke off the server's counts say nothing.
            let scrapes = if is_resumed { Scrapes::default() } else { self.scrapes };
            measured.server = Some(scrapes.figures(times));
        }
        Ok(CollectedRun {
            plan,
            header: self.header,
            trailer: trailer.cloned(),
            last_us: self.last_us,
            measured,
            responses: self.responses,
            joined,
            turnover: self.turnover,
            instrument: self.instrument,
            warmup: self.warmup,
            pauses: self.pauses,
        })
    }
}

impl CollectedRun<'_> {
    /// Whether a server whose responses name no model listed the expected one alone.
    pub(super) fn lists_expected_alone(&self) -> bool {
        lists_expected_alone(self.plan, self.header, &self.pauses, self.trailer.as_ref())
    }

    /// One case for each declared request, in their order. Where there are more than
    /// [a record holds](crate::MAX_CASES_IN_RECORD) they stand in `cases.jsonl`, and requests that were
    /// never sent have none: `load.not_sent` counts them.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        cases::of(self.plan, &self.measured)
    }

    /// How often each measured prompt was sent, and how often its answer passed; `None` where no grader
    /// was set. A prompt is known by its digest; where each run puts a nonce of its own before it, by
    /// the digest of the name that the dataset has for it.
    #[must_use]
    pub fn outcomes(&self) -> Option<BTreeMap<Digest, Tally>> {
        let sent = &self.measured.sent;
        let mut outcomes: BTreeMap<Digest, Tally> = BTreeMap::new();
        for asked in self.joined.as_ref()?.asked.values() {
            let place = sent.binary_search_by_key(&asked.index, |sent| sent.index);
            let passed = place.is_ok_and(|it| cases::outcome(&sent[it]) == CaseOutcome::Pass);
            let tally = outcomes.entry(asked.known_as).or_insert(Tally { count: 0, of: 0 });
            (tally.count, tally.of) = (tally.count + u64::from(passed), tally.of + 1);
        }
        Some(outcomes)
    }

    /// How many requests were declared.
    #[must_use]
    pub fn declared(&self) -> u64 {
        self.measured.offered
    }

    /// The version 2 record of the run. Figures are taken over the measured
    /// requests; warm-up is counted only. Above [`MAX_CASES_IN_RECORD`](crate::MAX_CASES_IN_RECORD)
    /// requests it holds no cases.
    ///
    /// `evidence` are the files that all this was read from.
    ///
    /// # Errors
    /// When a text of the plan may not be published.
    pub fn into_record(self, evidence: Vec<Evidence>) -> Result<RunRecordV2, RecordError> {
        super::record_of(self, evidence)
    }
}

impl Warmup {
    fn add(&mut self, line: &RequestLine) {
        self.sent += 1;
        self.last_us = self.last_us.max(line.started_us.saturating_add(line.elapsed_us));
        self.succeeded += u64::from(line.completion == Completion::Succeeded);
        self.prompts.insert(short(&line.prompt_sha256));
    }

    /// Measured requests whose prompt was sent in the warm-up too.
    pub(super) fn shared_prompts(&self) -> u64 {
        self.measured_prompts.iter().filter(|prompt| self.prompts.contains(prompt)).count() as u64
    }
}

/// Whether a server whose responses name no model listed the expected one, and no other, before and
/// after the run.
fn lists_expected_alone(
    plan: &Plan,
    header: &JournalHeader,
    pauses: &Pauses,
    trailer: Option<&JournalTrailer>,
) -> bool {
    let after = trailer.and_then(|trailer| trailer.listed_models.as_ref());
    let is_alone = |models: &Vec<String>| models.as_slice() == [plan.target.expect_model.as_str()];
    let between = pauses.listed_models.iter().map(Option::as_ref);
    let mut lists = [header.listed_models.as_ref(), after].into_iter().chain(between);
    !plan.target.dialect.names_model() && lists.all(|list| list.is_some_and(is_alone))
}

/// A digest in eight bytes; two different ones of a run agree with a chance of one in a million.
fn short(digest: &Digest) -> u64 {
    let mut hasher = DefaultHasher::new();
    digest.hash(&mut hasher);
    hasher.finish()
}

/// The places that have a line, one bit for each.
#[derive(Debug, Default)]
struct Places([Vec<u64>; 2]);

impl Places {
    /// Whether the place had no line before.
    fn insert(&mut self, stage: Stage, index: u64) -> bool {
        let bits = &mut self.0[usize::from(stage == Stage::Warmup)];
        let (word, bit) = ((index / 64) as usize, 1_u64 << (index % 64));
        if bits.len() <= word {
            bits.resize(word + 1, 0);
        }
        let is_new = bits[word] & bit == 0;
        bits[word] |= bit;
        is_new
    }
}
