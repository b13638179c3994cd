//! The metric catalogue: every figure of a record, each defined in one place.
//!
//! A family is one quantity: how a request's values are found, over which requests, and the
//! statistics that are taken of them. Each has a file of its own, which also says what the figure
//! is called elsewhere; METRICS.md is written from here.

mod chunk_interval;
mod decode_rate;
mod e2e;
mod prompt_tokens;
mod throughput;
mod tpot;
mod ttfc;
mod ttft;

use std::sync::LazyLock;

use streamgauge_schema::{
    Direction, Identifier, Metric, PublicText, RequestLine, TokenSource, Unit, WindowName,
};

use crate::error::RecordError;
use crate::interval::quantile_interval;
use crate::measured::Measured;
use crate::statistic::Statistic;

/// All families, in the order in which records list them: the golden seven first.
pub(crate) const FAMILIES: [&Family; 14] = [
    &throughput::COMPLETION_THROUGHPUT,
    &ttft::FIRST_GENERATED,
    &ttfc::FIRST_FINAL_CONTENT,
    &e2e::COMPLETION,
    &chunk_interval::STREAM_CHUNK_INTERVAL,
    &throughput::BATCH_DURATION,
    &throughput::REQUEST_THROUGHPUT,
    &ttft::TTFT,
    &ttfc::TTFC,
    &e2e::E2E,
    &chunk_interval::CHUNK_INTERVAL,
    &tpot::TPOT,
    &decode_rate::DECODE_RATE,
    &prompt_tokens::PROMPT_TOKENS,
];

/// What a metric is, whatever the run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSpec {
    /// Its name in records.
    pub id: Identifier,
    /// Its name for people.
    pub label: PublicText,
    /// What it is and what is in its denominator.
    pub definition: PublicText,
    /// Its unit.
    pub unit: Unit,
    /// Which way it gets better.
    pub direction: Direction,
    /// The part of the run it is taken over.
    pub window: WindowName,
    /// The requests it is taken over.
    pub population: Population,
    /// Where its token counts come from; `None` when it needs none.
    pub token_source: Option<TokenSource>,
    /// What is taken of the values of the requests; `None` when the run has one value.
    pub statistic: Option<Statistic>,
    /// When a request, or the run, has no value.
    pub absent_when: &'static str,
    /// Whether it is one of the seven metrics of version 1.
    pub in_version_1: bool,
}

/// The requests that a metric is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Population {
    /// Every declared request that has the value, whatever became of it.
    EveryResponse,
    /// Every request that was sent.
    Sent,
    /// The requests that succeeded.
    Succeeded,
}

/// Every metric that a record may hold, in the order of a record.
///
/// ```
/// use streamgauge_metrics::catalogue;
/// let p95 = catalogue().iter().find(|metric| metric.id.as_str() == "ttft_p95_ms").unwrap();
/// assert_eq!(p95.label.as_str(), "Time to first output (TTFT), p95");
/// assert_eq!(catalogue().iter().filter(|metric| metric.in_version_1).count(), 7);
/// ```
#[must_use]
pub fn catalogue() -> &'static [MetricSpec] {
    static CATALOGUE: LazyLock<Vec<MetricSpec>> =
        LazyLock::new(|| FAMILIES.iter().flat_map(|family| family.specs()).collect());
    &CATALOGUE
}

/// The metrics of a run.
pub(crate) fn metrics_of(run: &Measured<'_>) -> Result<Vec<Metric>, RecordError> {
    let mut metrics = Vec::with_capacity(catalogue().len());
    for family in FAMILIES {
        family.measure(run, &mut metrics)?;
    }
    Ok(metrics)
}

/// One quantity and the metrics made of it.
#[derive(Debug)]
pub(crate) struct Family {
    /// Its name for people; the label of a metric is this and the statistic.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) direction: Direction,
    pub(crate) population: Population,
    pub(crate) token_source: Option<TokenSource>,
    /// The end of a definition that begins with the statistic: "the time from …".
    pub(crate) meaning: &'static str,
    /// How the value comes from what was stored.
    pub(crate) formula: &'static str,
    pub(crate) absent_when: &'static str,
    /// One example with numbers.
    pub(crate) example: &'static str,
    pub(crate) source: Source,
}

/// Where the values of a family come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Each request adds its values; a request that adds none is missing.
    Requests { values: fn(&RequestLine, &mut Vec<f64>), metrics: &'static [Entry] },
    /// The run has one value.
    Run { metric: Entry, figure: fn(&Measured<'_>) -> RunFigure },
}

/// One metric of a family.
#[derive(Debug)]
pub(crate) struct Entry {
    id: &'static str,
    /// `None` when the run has one value.
    statistic: Option<Statistic>,
    /// The words of version 1, where the metric is one of its seven.
    version_1: Option<&'static str>,
}

impl Entry {
    pub(crate) const fn new(id: &'static str, statistic: Statistic) -> Self {
        Self { id, statistic: Some(statistic), version_1: None }
    }

    pub(crate) const fn of_run(id: &'static str) -> Self {
        Self { id, statistic: None, version_1: None }
    }

    pub(crate) const fn in_version_1(self, definition: &'static str) -> Self {
        Self { version_1: Some(definition), ..self }
    }
}

/// One value for the whole run.
#[derive(Debug)]
pub(crate) struct RunFigure {
    pub(crate) value: Option<f64>,
    /// Requests that entered the value.
    pub(crate) samples: u64,
    /// Requests that lack what the value needs.
    pub(crate) missing: u64,
    /// What the definition must add for this run.
    pub(crate) remark: Option<String>,
}

impl Family {
    pub(crate) fn specs(&self) -> Vec<MetricSpec> {
        match &self.source {
            Source::Requests { metrics, .. } => metrics.iter().map(|m| self.spec(m)).collect(),
            Source::Run { metric, .. } => vec![self.spec(metric)],
        }
    }

    fn spec(&self, entry: &Entry) -> MetricSpec {
        let label = match entry.statistic {
            Some(statistic) => format!("{}, {}", self.name, statistic.label()),
            None => self.name.to_owned(),
        };
        let definition = match (entry.version_1, entry.statistic) {
            (Some(words), _) => words.to_owned(),
            (None, Some(statistic)) => format!("{} of {}", statistic.phrase(), self.meaning),
            (None, None) => self.meaning.to_owned(),
        };
        // The catalogue's own texts: a test reads every one.
        let text = |text| PublicText::new(text).expect("the catalogue keeps the rules of texts");
        MetricSpec {
            id: Identifier::new(entry.id).expect("the catalogue's ids are identifiers"),
            label: text(label),
            definition: text(definition),
            unit: self.unit,
            direction: self.direction,
            window: WindowName::Whole,
            population: self.population,
            token_source: self.token_source,
            statistic: entry.statistic,
            absent_when: self.absent_when,
            in_version_1: entry.version_1.is_some(),
        }
    }

    fn measure(&self, run: &Measured<'_>, out: &mut Vec<Metric>) -> Result<(), RecordError> {
        match &self.source {
            Source::Requests { values, metrics } => {
                let (sorted, missing) = self.population.collect(run, *values);
                out.extend(metrics.iter().map(|entry| {
                    let spec = self.spec(entry);
                    let value = entry.statistic.and_then(|statistic| statistic.of_sorted(&sorted));
                    let q = entry.statistic.and_then(Statistic::quantile);
                    let interval = q.and_then(|q| quantile_interval(&sorted, q));
                    let samples = sorted.len() as u64;
                    Metric { interval, ..spec.metric(value, samples, missing) }
                }));
            }
            Source::Run { metric, figure } => {
                let RunFigure { value, samples, missing, remark } = figure(run);
                let mut metric = self.spec(metric).metric(value, samples, missing);
                if let Some(remark) = remark {
                    let text = format!("{} {remark}", metric.definition);
                    metric.definition = PublicText::new(text.clone())
                        .map_err(|fault| RecordError::Unpublishable { text, fault })?;
                }
                out.push(metric);
            }
        }
        Ok(())
    }
}

impl MetricSpec {
    fn metric(self, value: Option<f64>, samples: u64, missing: u64) -> Metric {
        Metric {
            id: self.id,
            label: self.label,
            definition: self.definition,
            unit: self.unit,
            value,
            samples,
            direction: self.direction,
            window: self.window,
            population: PublicText::new(self.population.text()).expect("a plain text"),
            token_source: self.token_source,
            missing,
            interval: None,
        }
    }
}

impl Population {
    /// Its name in records.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::EveryResponse => "every declared request with that timing, failures included",
            Self::Sent => "every request that was sent",
            Self::Succeeded => "succeeded requests",
        }
    }

    /// The sorted values of its requests, and how many of them have none.
    fn collect(
        self,
        run: &Measured<'_>,
        values: fn(&RequestLine, &mut Vec<f64>),
    ) -> (Vec<f64>, u64) {
        let mut samples = Vec::new();
        let mut with_values = 0;
        let mut size = 0;
        let mut add = |line: &RequestLine| {
            let before = samples.len();
            values(line, &mut samples);
            with_values += u64::from(samples.len() > before);
            size += 1;
        };
        match self {
            Self::EveryResponse | Self::Sent => run.sent.iter().for_each(|line| add(line)),
            Self::Succeeded => run.succeeded().for_each(&mut add),
        }
        if self == Self::EveryResponse {
            size = run.offered;
        }
        samples.sort_unstable_by(f64::total_cmp);
        (samples, size - with_values)
    }
}

#[cfg(test)]
mod tests;
