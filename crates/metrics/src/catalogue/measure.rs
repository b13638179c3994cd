//! How the metrics of a family are taken from a part of a run.

use streamgauge_schema::{Completion, Metric, PublicText, Tally, Unit, WindowName};

use super::family::{Family, RunFigure, Source};
use super::{MetricSpec, Population};
use crate::error::RecordError;
use crate::gaps::{GapRange, Gaps};
use crate::interval::interval_of;
use crate::measured::Part;
use crate::rate::share_interval;
use crate::sent::Sent;
use crate::sorted::{Sorted, Weighted};
use crate::statistic::Statistic;
use crate::whole::Whole;

/// The samples of a family, and how many requests of its population have none.
type Samples = (Box<dyn Sorted>, u64);

impl Family {
    /// Adds the metrics of a part of a run.
    pub(crate) fn measure(&self, part: Part<'_>, out: &mut Vec<Metric>) -> Result<(), RecordError> {
        let mut specs = self.specs(part.window);
        if specs.is_empty() {
            return Ok(());
        }
        let (samples, missing): Samples = match &self.source {
            Source::Share { of, .. } => {
                out.extend(specs.pop().map(|spec| self.share(spec, part, *of)));
                return Ok(());
            }
            Source::Run { figure, .. } => {
                let metric = specs.pop().map(|spec| spec.of_run(figure(part)));
                out.extend(metric.transpose()?);
                return Ok(());
            }
            Source::Gaps { of, .. } => self.gaps(part, *of),
            Source::Lags { .. } => {
                let lags = &part.run.lags;
                let missing = part.run.sent.len() as u64 - lags.responses;
                (Box::new(lags.summary_ms()), missing)
            }
            Source::Requests { value, .. } => self.values(part, *value),
            Source::Tokens { .. } => self.tokens(part),
            Source::Whole { value, .. } => self.whole(part, *value),
        };
        out.extend(specs.into_iter().map(|spec| match (&self.source, spec.statistic) {
            (Source::Gaps { sum_us, .. }, Some(Statistic::Mean)) => {
                self.mean_gap(spec, part, *sum_us)
            }
            (_, statistic) => spec.of_samples(statistic, &*samples, missing),
        }));
        Ok(())
    }

    /// The mean of all gaps, from whole microseconds.
    fn mean_gap(
        &self,
        spec: MetricSpec,
        part: Part<'_>,
        sum_us: fn(&Sent) -> Option<(u64, u64)>,
    ) -> Metric {
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
        spec.metric(mean_ms, gaps, missing)
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
        // Requests that were never sent are nobody's answers, and count where they are declared.
        let sent = tally.of + missing;
        tally.of += self.population.size(part, sent).saturating_sub(sent);
        let value = (tally.of > 0).then(|| tally.count as f64 / tally.of as f64);
        let metric = spec.metric(value, tally.of, missing);
        Metric { interval: share_interval(tally), ..metric }
    }

    fn values(&self, part: Part<'_>, value: fn(&Sent) -> Option<f64>) -> Samples {
        let (mut sorted, sent): (Vec<f64>, _) = self.taken(part, value);
        sorted.sort_unstable_by(f64::total_cmp);
        let missing = self.population.size(part, sent) - sorted.len() as u64;
        (Box::new(sorted), missing)
    }

    fn whole(&self, part: Part<'_>, value: fn(&Sent) -> Option<u64>) -> Samples {
        let (numbers, sent): (Whole, _) = self.taken(part, value);
        let divisor = if self.unit == Unit::Milliseconds { 1000.0 } else { 1.0 };
        let summary = numbers.summary(divisor);
        let missing = self.population.size(part, sent) - summary.count() as u64;
        (Box::new(summary), missing)
    }

    /// The values of the requests that have one, and of how many. One pass: a request takes more bytes
    /// than its value, and there can be millions.
    fn taken<T, C: FromIterator<T>>(
        &self,
        part: Part<'_>,
        value: impl Fn(&Sent) -> Option<T>,
    ) -> (C, u64) {
        let mut sent = 0;
        let requests = self.population.of(part).inspect(|_| sent += 1);
        let values = requests.filter_map(value).collect();
        (values, sent)
    }

    /// The pooled gaps of the population.
    fn gaps(&self, part: Part<'_>, of: fn(&Gaps, &Sent) -> GapRange) -> Samples {
        let gaps = &part.run.gaps;
        let ranges = || self.population.of(part).map(|sent| of(gaps, sent));
        let (sent, with) = ranges()
            .fold((0, 0), |(sent, with), range| (sent + 1, with + u64::from(!range.is_empty())));
        let summary = gaps.summary(|visit| ranges().for_each(visit));
        (Box::new(summary), self.population.size(part, sent) - with)
    }

    /// Gaps over the tokens of the event that ends them, once for each of these tokens.
    fn tokens(&self, part: Part<'_>) -> Samples {
        let (gaps, mut values, mut missing) = (&part.run.gaps, Vec::new(), 0);
        for sent in self.population.of(part) {
            let tokens = gaps.tokens(sent.index()).filter(|tokens| tokens.len() > 1);
            let Some(tokens) = tokens else {
                missing += 1;
                continue;
            };
            let each = gaps.of(sent.output_gaps()).zip(tokens.iter().skip(1));
            values.extend(
                each.map(|(us, tokens)| {
                    (us as f64 / f64::from(*tokens) / 1000.0, u64::from(*tokens))
                }),
            );
        }
        (Box::new(Weighted::new(values)), missing)
    }
}

impl MetricSpec {
    fn of_samples(
        self,
        statistic: Option<Statistic>,
        samples: &dyn Sorted,
        missing: u64,
    ) -> Metric {
        let interval =
            statistic.and_then(Statistic::quantile).and_then(|q| interval_of(samples, q));
        let value = statistic.and_then(|statistic| statistic.of(samples));
        Metric { interval, ..self.metric(value, samples.count() as u64, missing) }
    }

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
            Self::Declared | Self::EveryResponse | Self::Sent => true,
            Self::ServerAnswers => false,
            Self::Succeeded => sent.succeeded(),
        })
    }

    /// How many requests it has, sent or not, of which so many were sent.
    fn size(self, part: Part<'_>, sent: u64) -> u64 {
        match self {
            Self::Declared | Self::EveryResponse => part.run.offered,
            Self::Ended | Self::Sent | Self::ServerAnswers | Self::Succeeded => sent,
        }
    }
}
