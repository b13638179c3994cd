//! The lines of a journal, taken one by one: of each only what the record needs is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use streamgauge_schema::{
    Case, CaseOutcome, Completion, Digest, Evidence, Grades, JournalBegun, JournalHeader,
    JournalResumed, JournalTrailer, Plan, RequestLine, RunRecordV2, ScrapeLine, Stage, Tally,
    TimeBasis,
};

use super::instrument::InstrumentSums;
use super::journals::{JournalEnd, Journals};
use super::receipts::{Joined, Receipts};
use super::responses::Responses;
use super::{cases, journal, line, turnover};
use crate::error::RecordError;
use crate::graded::Graded;
use crate::inflight::Span;
use crate::kernel_basis::to_kernel_basis;
use crate::measured::{Gathered, Measured};
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
///         JournalLine::Begun(begun) => run.begun(&begun),
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
    journals: Journals<'a>,
    places: Places,
    last_us: u64,
    gathered: Gathered,
    responses: Responses,
    receipts: Receipts<'a>,
    turnover: Option<TurnoverTally>,
    instrument: InstrumentSums,
    scrapes: Scrapes,
    warmup: Warmup,
}

/// A run whose journal was read to its end, and holds together.
#[derive(Debug)]
pub struct CollectedRun<'a> {
    pub(super) plan: &'a Plan,
    pub(super) journals: Journals<'a>,
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
}

/// What was sent before the measurement.
#[derive(Debug, Default)]
pub(super) struct Warmup {
    pub(super) sent: u64,
    pub(super) succeeded: u64,
    /// The last end of any.
    last_us: u64,
    /// Its prompts, and those of the measured requests; without warm-up none are kept.
    prompts: BTreeSet<u64>,
    measured_prompts: Vec<u64>,
}

impl<'a> RunCollector<'a> {
    /// Begins with a plan and the header of its journal: of a whole run, or of a shard by itself.
    ///
    /// # Errors
    /// When the plan contradicts itself or holds too many requests, or when the journal was written
    /// for another plan.
    pub fn new(plan: &'a Plan, header: &'a JournalHeader) -> Result<Self, RecordError> {
        check_headers(plan, std::slice::from_ref(header))?;
        Ok(Self::of(plan, Journals::one(plan, header)))
    }

    /// Begins with a plan and the headers of the journals of its shards, in any order; those that are
    /// not there are missing in the record. Lines go to [`Self::add_to`] and the ends of journals to
    /// [`Self::end`], and the figures are those of one run, on the time line of [`moved_us`](crate::moved_us).
    ///
    /// # Errors
    /// As [`Self::new`]; and when a journal is of no shard, two are of the same, or they are of different
    /// numbers of shards.
    pub fn merged(plan: &'a Plan, headers: &'a [JournalHeader]) -> Result<Self, RecordError> {
        check_headers(plan, headers)?;
        Ok(Self::of(plan, Journals::merged(plan, headers)?))
    }

    fn of(plan: &'a Plan, journals: Journals<'a>) -> Self {
        Self {
            plan,
            journals,
            places: Places::default(),
            last_us: 0,
            gathered: Gathered::default(),
            responses: Responses::default(),
            receipts: Receipts::of_plan(plan.grading.as_ref()),
            turnover: turnover::policy(plan).map(|_| TurnoverTally::default()),
            instrument: InstrumentSums::default(),
            scrapes: Scrapes::default(),
            warmup: Warmup::default(),
        }
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
        self.end(
            0,
            JournalEnd { resumptions: std::slice::from_ref(resumed), ..Default::default() },
        );
    }

    /// The measured part began here.
    pub fn begun(&mut self, begun: &JournalBegun) {
        self.end(0, JournalEnd { begun: Some(begun), ..Default::default() });
    }

    /// Takes what the journal at this place of the headers said besides its requests.
    ///
    /// # Panics
    /// When there is no such journal.
    pub fn end(&mut self, journal: usize, end: JournalEnd<'_>) {
        let journal = self.journals.given(journal);
        let header = journal.header;
        end.resumptions.iter().for_each(|it| journal.pauses.add(it, &header.conditions));
        journal.begun = end.begun.copied().or(journal.begun);
        journal.trailer = end.trailer.cloned().or(journal.trailer.take());
    }

    /// Takes a line.
    ///
    /// # Errors
    /// When the plan does not hold its request, or another shard has it, when the request had a line
    /// before, or when the line contradicts itself or its receipt. Where a grader is set, also when another
    /// measured request has the same prompt: receipts are joined by it.
    pub fn add(&mut self, line: &RequestLine) -> Result<(), RecordError> {
        self.add_to(0, line)
    }

    /// Takes a line of the journal at this place of the headers, with the stamps that it has there.
    ///
    /// # Errors
    /// As [`Self::add`].
    ///
    /// # Panics
    /// When there is no such journal.
    pub fn add_to(&mut self, journal: usize, line: &RequestLine) -> Result<(), RecordError> {
        let (stage, index) = (line.stage, line.index);
        let declared = journal::declared(self.plan, stage);
        if index >= declared {
            return Err(RecordError::UndeclaredRequest { stage, index, declared });
        }
        self.journals.note(journal, line)?;
        if !self.places.insert(stage, index) {
            match stage {
                Stage::Measured => return Err(RecordError::RepeatedRequest { stage, index }),
                // It is done again when the run is taken up.
                Stage::Warmup => {
                    _ = self.journals.given(journal).warmup_again.get_or_insert(index);
                }
            }
        }
        line::check(self.plan, line).map_err(|contradiction| RecordError::Contradiction {
            stage,
            index,
            contradiction,
        })?;
        let moved_us = self.journals.given(journal).moved_us;
        let end_us = line.started_us.saturating_add(line.elapsed_us).saturating_add(moved_us);
        self.last_us = self.last_us.max(end_us);
        let has_warmup = self.plan.load.warmup > 0;
        match stage {
            Stage::Measured => {
                if has_warmup {
                    self.warmup.measured_prompts.push(short(&line.prompt_sha256));
                }
                self.gathered.journal = self.journals.place(journal);
                self.add_measured(line, moved_us)?;
            }
            Stage::Warmup => self.warmup.add(line, end_us),
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

    fn add_measured(&mut self, line: &RequestLine, moved_us: u64) -> Result<(), RecordError> {
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
            sent.move_on(moved_us);
        }
        Ok(())
    }

    /// Ends with the journal's trailer; `None` when it has none, as the run was cut off.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn close(
        mut self,
        trailer: Option<&JournalTrailer>,
    ) -> Result<CollectedRun<'a>, RecordError> {
        self.end(0, JournalEnd { trailer, ..Default::default() });
        self.finish()
    }

    /// Ends where every journal's end was given.
    ///
    /// # Errors
    /// When lines are missing, when requests are not due in their order, or when a receipt has the
    /// prompt of no request that succeeded.
    pub fn finish(self) -> Result<CollectedRun<'a>, RecordError> {
        let (plan, journals) = (self.plan, self.journals);
        journals.check_ends()?;
        let mut gathered = self.gathered;
        gathered.sent.sort_unstable_by_key(|sent| sent.index());
        journal::check_due_times(&journals, &gathered.sent)?;
        let is_resumed = journals.taken_up() > 0;
        if let [only] = journals.all.as_slice()
            && !journals.is_merged()
        {
            only.pauses.take_out(&mut gathered.sent);
        }
        let offered = journals.offered();
        // A run that was cut off has lost the spans of what was under way.
        let may_be_lost = offered > gathered.sent.len() as u64 || journal::ends_by_time(&plan.load);
        let mut measured = gathered.close(plan, offered, journals.shard());
        if is_resumed || !journals.missing().is_empty() {
            // Where it broke off, and where a part was missing, the load was not at its target.
            measured.steady = None;
        }
        if journals.list_expected_alone() {
            measured
                .sent
                .iter_mut()
                .filter_map(|sent| sent.graded.as_mut())
                .for_each(Graded::as_listed);
        }
        let joined = self.receipts.close()?;
        measured.is_graded = joined.is_some();
        measured.lacks_spans = is_resumed || !journals.is_whole() && may_be_lost;
        if plan.instrument.server_metrics.is_some() {
            let span = measured.spans().reduce(Span::with);
            let (warm_us, is_whole) = (self.warmup.last_us, journals.is_whole());
            let times = Times { warm_us, measured: span, is_whole };
            // Of a run that broke off the server's counts say nothing, and of a shard they count what
            // others sent too.
            let is_left_out = is_resumed || journals.of() > 1;
            let scrapes = if is_left_out { Scrapes::default() } else { self.scrapes };
            measured.server = Some(scrapes.figures(times));
        }
        Ok(CollectedRun {
            plan,
            journals,
            last_us: self.last_us,
            measured,
            responses: self.responses,
            joined,
            turnover: self.turnover,
            instrument: self.instrument,
            warmup: self.warmup,
        })
    }
}

/// Holds a plan to itself, and the journals to it.
fn check_headers(plan: &Plan, headers: &[JournalHeader]) -> Result<(), RecordError> {
    journal::check_plan(plan)?;
    let digest = Digest::of_value(plan)?;
    match headers.iter().map(|header| header.plan_sha256).find(|journal| *journal != digest) {
        Some(journal) => Err(RecordError::PlanDiffers { plan: digest, journal }),
        None => Ok(()),
    }
}

impl CollectedRun<'_> {
    /// Whether a server whose responses name no model listed the expected one alone.
    pub(super) fn lists_expected_alone(&self) -> bool {
        self.journals.list_expected_alone()
    }

    /// One case for each declared request, in their order. Where there are more than
    /// [a record holds](crate::MAX_CASES_IN_RECORD) they stand in `cases.jsonl`, and requests that were
    /// never sent have none: `load.not_sent` counts them.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        cases::of(self)
    }

    /// How often each measured prompt was sent, and how often its answer passed; `None` where no grader
    /// was set. A prompt is known by its digest; where each run puts a nonce of its own before it, by
    /// the digest of the name that the dataset has for it.
    #[must_use]
    pub fn outcomes(&self) -> Option<BTreeMap<Digest, Tally>> {
        let sent = &self.measured.sent;
        let mut outcomes: BTreeMap<Digest, Tally> = BTreeMap::new();
        for asked in self.joined.as_ref()?.asked.values() {
            let place = sent.binary_search_by_key(&asked.index, |sent| sent.index());
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
    fn add(&mut self, line: &RequestLine, end_us: u64) {
        self.sent += 1;
        self.last_us = self.last_us.max(end_us);
        self.succeeded += u64::from(line.completion == Completion::Succeeded);
        self.prompts.insert(short(&line.prompt_sha256));
    }

    /// Measured requests whose prompt was sent in the warm-up too.
    pub(super) fn shared_prompts(&self) -> u64 {
        self.measured_prompts.iter().filter(|prompt| self.prompts.contains(prompt)).count() as u64
    }
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
