//! One quantity, the metrics that are made of it, and how they are taken from a run.

use streamgauge_schema::{
    Completion, Direction, Identifier, Metric, PublicText, Tally, TokenSource, Unit, WindowName,
};

use super::{MetricSpec, Population, Presence};
use crate::error::RecordError;
use crate::gaps::GapRange;
use crate::interval::interval_of;
use crate::measured::Part;
use crate::quantile::quantile_of;
use crate::rate::share_interval;
use crate::sent::Sent;
use crate::sorted::{Sorted, SortedMicros};
use crate::statistic::Statistic;

/// One quantity and the metrics made of it.
#[derive(Debug)]
pub(crate) struct Family {
    /// Its name for people; the label of a metric is this and the statistic.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) direction: Direction,
    pub(crate) population: Population,
    pub(crate) presence: Presence,
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
    /// Each response adds its gaps; one that has none is missing.
    Gaps {
        of: fn(&Sent) -> GapRange,
        /// Their number and sum, which are known even where the single ones were not kept.
        sum_us: fn(&Sent) -> Option<(u64, u64)>,
        metrics: &'static [Entry],
    },
    /// Each request has a value, or is missing.
    Requests { value: fn(&Sent) -> Option<f64>, metrics: &'static [Entry] },
    /// The share of the requests that say anything for which it is true.
    Share { metric: Entry, of: fn(&Sent) -> Option<bool> },
    /// The run has one value.
    Run { metric: Entry, figure: fn(Part<'_>) -> RunFigure },
}

/// One metric of a family.
#[derive(Debug)]
pub(crate) struct Entry {
    id: &'static str,
    /// Its name where it is taken over the steady window too.
    steady_id: Option<&'static str>,
    /// `None` when the run has one value.
    statistic: Option<Statistic>,
    /// The words of version 1, where the metric is one of its seven.
    version_1: Option<&'static str>,
}

impl Entry {
    pub(crate) const fn new(id: &'static str, statistic: Statistic) -> Self {
        Self { id, steady_id: None, statistic: Some(statistic), version_1: None }
    }

    pub(crate) const fn of_run(id: &'static str) -> Self {
        Self { id, steady_id: None, statistic: None, version_1: None }
    }

    pub(crate) const fn in_version_1(self, definition: &'static str) -> Self {
        Self { version_1: Some(definition), ..self }
    }

    pub(crate) const fn and_steady(self, id: &'static str) -> Self {
        Self { steady_id: Some(id), ..self }
    }

    fn id(&self, window: WindowName) -> Option<&'static str> {
        match window {
            WindowName::Steady => self.steady_id,
            WindowName::Whole => Some(self.id),
        }
    }
}

/// One value for the whole of a part.
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
    /// What its metrics are, of those that are taken over this window.
    pub(crate) fn specs(&self, window: WindowName) -> Vec<MetricSpec> {
        self.entries().iter().filter_map(|entry| self.spec(entry, window)).collect()
    }

    /// Adds the metrics of a part of a run.
    pub(crate) fn measure(&self, part: Part<'_>, out: &mut Vec<Metric>) -> Result<(), RecordError> {
        let stands = |entry: &&Entry| entry.id(part.window).is_some();
        if !self.entries().iter().any(|entry| stands(&entry)) {
            return Ok(());
        }
        match &self.source {
            Source::Gaps { of, sum_us, metrics } => {
                let (sorted, missing) = self.gaps(part, *of);
                out.extend(metrics.iter().filter(stands).filter_map(|entry| {
                    match entry.statistic?.quantile() {
                        Some(q) => self.quantile(entry, part.window, (&sorted, q), missing),
                        None => self.mean_gap(entry, part, *sum_us),
                    }
                }));
            }
            Source::Requests { value, metrics } => {
                let (sorted, missing) = self.values(part, *value);
                let sorted = sorted.as_slice();
                out.extend(metrics.iter().filter(stands).filter_map(|entry| {
                    let statistic = entry.statistic?;
                    if let Some(q) = statistic.quantile() {
                        return self.quantile(entry, part.window, (sorted, q), missing);
                    }
                    let spec = self.spec(entry, part.window)?;
                    Some(spec.metric(statistic.of_sorted(sorted), sorted.len() as u64, missing))
                }));
            }
            Source::Share { metric, of } => {
                out.extend(self.spec(metric, part.window).map(|spec| self.share(spec, part, *of)));
            }
            Source::Run { metric, figure } => {
                if let Some(spec) = self.spec(metric, part.window) {
                    out.push(spec.of_run(figure(part))?);
                }
            }
        }
        Ok(())
    }

    fn quantile(
        &self,
        entry: &Entry,
        window: WindowName,
        (sorted, q): (&(impl Sorted + ?Sized), f64),
        missing: u64,
    ) -> Option<Metric> {
        let spec = self.spec(entry, window)?;
        let metric = spec.metric(quantile_of(sorted, q), sorted.count() as u64, missing);
        Some(Metric { interval: interval_of(sorted, q), ..metric })
    }

    /// The mean of all gaps, from whole microseconds.
    fn mean_gap(
        &self,
        entry: &Entry,
        part: Part<'_>,
        sum_us: fn(&Sent) -> Option<(u64, u64)>,
    ) -> Option<Metric> {
        let (mut gaps, mut us, mut missing) = (0_u64, 0_u128, 0);
        for sent in self.population.of(part) {
            match sum_us(sent) {
                Some((count, sum)) => {
                    (gaps, us) = (gaps.saturating_add(count), us + u128::from(sum))
                }
                None => missing += 1,
            }
        }
        let mean_ms = (gaps > 0).then(|| us as f64 / gaps as f64 / 1000.0);
        Some(self.spec(entry, part.window)?.metric(mean_ms, gaps, missing))
    }

    fn share(&self, spec: MetricSpec, part: Part<'_>, of: fn(&Sent) -> Option<bool>) -> Metric {
        let (mut tally, mut missing) = (Tally { count: 0, of: 0 }, 0);
        for sent in self.population.of(part) {
            match of(sent) {
                Some(counts) => {
                    (tally.count, tally.of) = (tally.count + u64::from(counts), tally.of + 1);
                }
                None => missing += 1,
            }
        }
        let value = (tally.of > 0).then(|| tally.count as f64 / tally.of as f64);
        let metric = spec.metric(value, tally.of, missing);
        Metric { interval: share_interval(tally), ..metric }
    }

    /// The sorted values of the population, and how many of its requests have none.
    fn values(&self, part: Part<'_>, value: fn(&Sent) -> Option<f64>) -> (Vec<f64>, u64) {
        let mut sorted: Vec<f64> = self.population.of(part).filter_map(value).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let missing = self.population.size(part) - sorted.len() as u64;
        (sorted, missing)
    }

    /// The pooled gaps of the population, and how many of its requests have none.
    fn gaps(&self, part: Part<'_>, of: fn(&Sent) -> GapRange) -> (SortedMicros, u64) {
        let ranges = || self.population.of(part).map(of).filter(|range| !range.is_empty());
        let missing = self.population.size(part) - ranges().count() as u64;
        (part.run.gaps.sorted(ranges()), missing)
    }

    fn entries(&self) -> &[Entry] {
        match &self.source {
            Source::Gaps { metrics, .. } | Source::Requests { metrics, .. } => metrics,
            Source::Run { metric, .. } | Source::Share { metric, .. } => {
                std::slice::from_ref(metric)
            }
        }
    }

    fn spec(&self, entry: &Entry, window: WindowName) -> Option<MetricSpec> {
        let id = entry.id(window)?;
        let mut label = self.name.to_owned();
        if window == WindowName::Steady {
            label.push_str(", steady window");
        }
        if let Some(statistic) = entry.statistic {
            label = format!("{label}, {}", statistic.label());
        }
        // The catalogue's own texts: a test reads every one.
        let text = |text| PublicText::new(text).expect("the catalogue keeps the rules of texts");
        Some(MetricSpec {
            id: Identifier::new(id).expect("the catalogue's ids are identifiers"),
            label: text(label),
            definition: text(self.definition(entry, window)),
            unit: self.unit,
            direction: self.direction,
            window,
            population: self.population,
            token_source: self.token_source,
            statistic: entry.statistic,
            absent_when: self.absent_when,
            in_version_1: entry.version_1.is_some() && window == WindowName::Whole,
            presence: self.presence,
        })
    }

    fn definition(&self, entry: &Entry, window: WindowName) -> String {
        if window == WindowName::Steady {
            let is_rate = matches!(self.unit, Unit::RequestsPerSecond | Unit::TokensPerSecond)
                && entry.statistic.is_none();
            let end = if is_rate { ", and over its length." } else { "." };
            return format!(
                "As {}, but of the requests that began, or by their schedule were due, in \
                 windows.steady (its end left out){end}",
                entry.id
            );
        }
        match (entry.version_1, entry.statistic) {
            (Some(words), _) => words.to_owned(),
            (None, Some(statistic)) => format!("{} of {}", statistic.phrase(), self.meaning),
            (None, None) => self.meaning.to_owned(),
        }
    }
}

impl MetricSpec {
    fn metric(self, value: Option<f64>, samples: u64, missing: u64) -> Metric {
        let mut population = self.population.text().to_owned();
        if self.window == WindowName::Steady {
            population.push_str("; of the steady window");
        }
        Metric {
            id: self.id,
            label: self.label,
            definition: self.definition,
            unit: self.unit,
            value,
            samples,
            direction: self.direction,
            window: self.window,
            population: PublicText::new(population).expect("a plain text"),
            token_source: self.token_source,
            missing,
            interval: None,
        }
    }

    fn of_run(self, figure: RunFigure) -> Result<Metric, RecordError> {
        let RunFigure { value, samples, missing, remark } = figure;
        let mut metric = self.metric(value, samples, missing);
        if let Some(remark) = remark {
            let text = format!("{} {remark}", metric.definition);
            metric.definition = PublicText::new(text.clone())
                .map_err(|fault| RecordError::Unpublishable { text, fault })?;
        }
        Ok(metric)
    }
}

impl Population {
    /// Its requests, as far as they were sent.
    pub(super) fn of(self, part: Part<'_>) -> impl Iterator<Item = &Sent> {
        part.sent().filter(move |sent| match self {
            Self::Ended => matches!(
                sent.completion,
                Completion::Failed | Completion::Succeeded | Completion::TimedOut
            ),
            Self::EveryResponse | Self::Sent => true,
            Self::Succeeded => sent.succeeded(),
        })
    }

    /// How many requests it has, sent or not.
    fn size(self, part: Part<'_>) -> u64 {
        match self {
            Self::EveryResponse => part.run.offered,
            _ => self.of(part).count() as u64,
        }
    }
}
