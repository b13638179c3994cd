//! What a server's own metrics said of the time in which the measured requests were under way.
//!
//! Invariant: a counter's difference is taken between an answer that was there before the first measured
//! request began, and after every earlier one had ended, and an answer that was asked for when the last one
//! had ended. It holds what these requests caused, and what others did meanwhile, and nothing else.

mod counter;

use std::collections::{BTreeMap, BTreeSet};

use streamgauge_schema::{FailureClass, ScrapeLine, ServerFamily, ServerQuantity, ServerSample};

use crate::error::RecordError;
use crate::inflight::Span;
use counter::{Counter, Reading};

/// What rises with what is done.
const COUNTERS: [ServerQuantity; 5] = [
    ServerQuantity::DraftAccepted,
    ServerQuantity::DraftTokens,
    ServerQuantity::OutputTokens,
    ServerQuantity::Preemptions,
    ServerQuantity::PromptTokens,
];
/// What is so at a moment.
const STATES: [ServerQuantity; 4] = [
    ServerQuantity::AcceptedLength,
    ServerQuantity::KvCacheUsage,
    ServerQuantity::RequestsRunning,
    ServerQuantity::RequestsWaiting,
];

/// Greatest value that is written: counts above it are not exact.
const MAX_VALUE: f64 = (1_u64 << 53) as f64;

/// Why a figure has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untold {
    /// A counter fell.
    Fell,
    /// There is no answer before the first request, or none after the last.
    NoEnds,
    /// No answer came while requests were under way.
    NotAnswered,
    /// The server answered, and has no such figure.
    NotOffered,
}

impl Untold {
    /// What the definition of a figure without a value adds.
    pub(crate) fn remark(self) -> &'static str {
        match self {
            Self::Fell => "None: the counter fell meanwhile.",
            Self::NoEnds => "None: no answer just before the first request, or after the last.",
            Self::NotAnswered => "None: no answer while requests were under way.",
            Self::NotOffered => "None: the server tells no such figure.",
        }
    }
}

/// The answers of a server, as they were written down.
#[derive(Debug, Default)]
pub(crate) struct Scrapes {
    kept: Vec<Scrape>,
    counters: [Counter; COUNTERS.len()],
    engines: Engines,
    failed: BTreeMap<FailureClass, u64>,
    lines: u64,
}

/// Under whose names a server tells its figures. Several may tell of the same, which is not to be added
/// up.
#[derive(Debug, Default)]
pub(crate) struct Engines {
    /// The one that is read; `None` before any figure.
    pub(crate) read: Option<&'static str>,
    /// Others, which are not.
    pub(crate) left_out: BTreeSet<&'static str>,
}

impl Engines {
    /// The samples of the one that is read: of the first answer with any, the one that tells most.
    fn own<'a>(&mut self, samples: &'a [ServerSample]) -> Vec<&'a ServerSample> {
        let mut families: BTreeMap<&str, BTreeSet<ServerFamily>> = BTreeMap::new();
        for sample in samples {
            families.entry(sample.family.engine()).or_default().insert(sample.family);
        }
        if self.read.is_none() {
            let of_most = families.iter().rev().max_by_key(|(_, families)| families.len());
            self.read = of_most.map(|(engine, _)| *engine);
        }
        let is_read = |engine: &str| Some(engine) == self.read;
        self.left_out.extend(families.keys().filter(|engine| !is_read(engine)));
        samples.iter().filter(|sample| is_read(sample.family.engine())).collect()
    }
}

#[derive(Debug)]
struct Scrape {
    asked_us: u64,
    answered_us: u64,
    /// `None` where no answer came.
    told: Option<Answer>,
}

/// What one answer told.
#[derive(Debug)]
struct Answer {
    readings: [Reading; COUNTERS.len()],
    states: [Option<f64>; STATES.len()],
}

/// When the requests of a run were under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The last end of a request of the warm-up, or 0.
    pub(crate) warm_us: u64,
    /// From the first start to the last end of the measured ones; `None` where nothing was sent.
    pub(crate) measured: Option<Span>,
    /// Whether the end of the last one is known; it is not where the run was cut off.
    pub(crate) is_whole: bool,
}

impl Scrapes {
    /// Takes the next line of the file.
    ///
    /// # Errors
    /// When it was asked before the line before it was answered, or holds what is never written.
    pub(crate) fn add(&mut self, line: &ScrapeLine) -> Result<(), RecordError> {
        self.lines += 1;
        let before_us = self.kept.last().map_or(0, |scrape| scrape.answered_us);
        if line.asked_us < before_us || line.answered_us < line.asked_us {
            return Err(RecordError::Scrapes { line: self.lines });
        }
        let is_told = |sample: &ServerSample| (0.0..=MAX_VALUE).contains(&sample.value);
        if !line.samples.iter().all(is_told) || line.failure.is_some() && !line.samples.is_empty() {
            return Err(RecordError::ScrapeValues { line: self.lines });
        }
        let told = match &line.failure {
            Some(failure) => {
                *self.failed.entry(failure.class).or_default() += 1;
                None
            }
            None => Some(self.answer(&line.samples)),
        };
        let (asked_us, answered_us) = (line.asked_us, line.answered_us);
        self.kept.push(Scrape { asked_us, answered_us, told });
        Ok(())
    }

    fn answer(&mut self, samples: &[ServerSample]) -> Answer {
        let samples = self.engines.own(samples);
        let of =
            |quantity| samples.iter().copied().filter(move |it| it.family.quantity() == quantity);
        let mut readings = [Reading::default(); COUNTERS.len()];
        for ((counter, quantity), reading) in
            self.counters.iter_mut().zip(COUNTERS).zip(&mut readings)
        {
            *reading = counter.read(of(quantity));
        }
        let states = STATES.map(|quantity| state(quantity, of(quantity).map(|it| it.value)));
        Answer { readings, states }
    }

    /// What they say of the time in which these requests were under way.
    pub(crate) fn figures(self, times: Times) -> ServerFigures {
        let ends = self.ends(times);
        let counted = std::array::from_fn(|place| {
            let (before, after) = ends.ok_or(Untold::NoEnds)?;
            after.readings[place].since(before.readings[place])
        });
        let within = |scrape: &&Scrape| {
            times.measured.is_some_and(|span| {
                span.from_us <= scrape.asked_us
                    && scrape.asked_us < span.to_us
                    && scrape.answered_us <= span.to_us
            })
        };
        let states = self.kept.iter().filter(within);
        let states: Vec<_> =
            states.map(|scrape| scrape.told.as_ref().map(|told| told.states)).collect();
        let told = || self.kept.iter().filter_map(|scrape| scrape.told.as_ref());
        ServerFigures {
            counted,
            is_known: told().any(Answer::tells),
            has_answer: told().next().is_some(),
            states,
            engines: self.engines,
            asked: self.lines,
            failed: self.failed,
        }
    }

    /// The last answer before the measured requests, and the last after them: one that was asked for as
    /// soon as the last had ended may be older than what the server counted of it.
    fn ends(&self, times: Times) -> Option<(&Answer, &Answer)> {
        let span = times.measured.filter(|_| times.is_whole)?;
        let last = |fits: &dyn Fn(&Scrape) -> bool| {
            let mut fitting = self.kept.iter().rev().filter(|scrape| fits(scrape));
            fitting.find_map(|scrape| scrape.told.as_ref())
        };
        let before = last(&|it| times.warm_us <= it.asked_us && it.answered_us <= span.from_us)?;
        let after = last(&|it| span.to_us <= it.asked_us)?;
        Some((before, after))
    }
}

impl Answer {
    fn tells(&self) -> bool {
        self.readings.iter().any(|reading| reading.is_told)
            || self.states.iter().any(Option::is_some)
    }
}

/// One figure of what several engines say.
fn state(quantity: ServerQuantity, values: impl Iterator<Item = f64>) -> Option<f64> {
    match quantity {
        // The fullest one; a share above 1 is none.
        ServerQuantity::KvCacheUsage => values.filter(|value| *value <= 1.0).reduce(f64::max),
        ServerQuantity::AcceptedLength => mean(values),
        _ => values.reduce(|sum, value| sum + value),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum) = (0_u64, 0.0);
    values.for_each(|value| (count, sum) = (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

/// What a server said of itself, as figures of the run.
#[derive(Debug)]
pub(crate) struct ServerFigures {
    counted: [Result<f64, Untold>; COUNTERS.len()],
    /// Of each question while requests were under way; `None` where no answer came.
    states: Vec<Option<[Option<f64>; STATES.len()]>>,
    /// Whether any answer held a figure that is known.
    is_known: bool,
    has_answer: bool,
    /// Under whose names it told its figures.
    pub(crate) engines: Engines,
    /// How often it was asked.
    pub(crate) asked: u64,
    /// How often without an answer, by class.
    pub(crate) failed: BTreeMap<FailureClass, u64>,
}

/// The values of a state while requests were under way.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) values: Vec<f64>,
    /// Questions that gave none.
    pub(crate) missing: u64,
    /// Why there is no value at all.
    pub(crate) untold: Option<Untold>,
}

impl ServerFigures {
    /// By how much a counter rose.
    pub(crate) fn counted(&self, quantity: ServerQuantity) -> Result<f64, Untold> {
        let place = COUNTERS.iter().position(|it| *it == quantity);
        place.map_or(Err(Untold::NotOffered), |place| self.counted[place])
    }

    /// What a state was, each time that the server was asked.
    pub(crate) fn states(&self, quantity: ServerQuantity) -> States {
        let place = STATES.iter().position(|it| *it == quantity);
        let of = |states: &Option<[Option<f64>; STATES.len()]>| (*states)?[place?];
        let values: Vec<f64> = self.states.iter().filter_map(of).collect();
        let untold = match values.is_empty() {
            false => None,
            true if self.states.iter().any(Option::is_some) => Some(Untold::NotOffered),
            true => Some(Untold::NotAnswered),
        };
        States { missing: (self.states.len() - values.len()) as u64, values, untold }
    }

    /// Whether the server answered, and told nothing that is known.
    pub(crate) fn is_unknown(&self) -> bool {
        self.has_answer && !self.is_known
    }
}

#[cfg(test)]
mod tests;
