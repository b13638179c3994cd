//! The metrics of a record, arranged as people read them: the statistics of one quantity side by side,
//! and what the run has one value of.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use streamgauge_metrics::{MetricSpec, Statistic, catalogue};
use streamgauge_schema::{Metric, WindowName};

/// What is shown of one window.
#[derive(Debug, Default)]
pub(crate) struct Figures<'a> {
    /// What each request has.
    pub(crate) quantities: Vec<Quantity<'a>>,
    /// What the run has one value of.
    pub(crate) singles: Vec<&'a Metric>,
}

/// A quantity that each request has.
#[derive(Debug)]
pub(crate) struct Quantity<'a> {
    pub(crate) spec: &'static MetricSpec,
    statistics: Vec<(Statistic, &'a Metric)>,
}

impl<'a> Quantity<'a> {
    /// One statistic of it, where the record has that.
    pub(crate) fn statistic(&self, wanted: Statistic) -> Option<&'a Metric> {
        self.statistics.iter().find(|(statistic, _)| *statistic == wanted).map(|(_, it)| *it)
    }

    /// Its value.
    pub(crate) fn value(&self, wanted: Statistic) -> Option<f64> {
        self.statistic(wanted)?.value
    }

    /// Whether the run has no value of it at all.
    pub(crate) fn is_absent(&self) -> bool {
        self.statistics.iter().all(|(_, metric)| metric.value.is_none())
    }
}

impl<'a> Figures<'a> {
    /// The metrics of a window. The medians of record 1 are left out: their quantities stand here
    /// under names of their own, with all their statistics.
    pub(crate) fn of(metrics: &'a [Metric], window: WindowName) -> Self {
        let mut figures = Self::default();
        for metric in metrics.iter().filter(|metric| metric.window == window) {
            match spec(metric.id.as_str()) {
                Some(spec) if spec.statistic.is_none() => figures.singles.push(metric),
                Some(spec) if spec.in_version_1 => {}
                Some(spec) => figures.add(spec, metric),
                None => figures.singles.push(metric),
            }
        }
        figures
    }

    fn add(&mut self, spec: &'static MetricSpec, metric: &'a Metric) {
        let Some(statistic) = spec.statistic else { return };
        match self.quantities.iter_mut().find(|known| known.spec.quantity == spec.quantity) {
            Some(known) => known.statistics.push((statistic, metric)),
            None => {
                self.quantities.push(Quantity { spec, statistics: vec![(statistic, metric)] });
            }
        }
    }
}

/// What the catalogue says of a metric; it may not know it.
pub(crate) fn spec(id: &str) -> Option<&'static MetricSpec> {
    static BY_ID: LazyLock<BTreeMap<&str, &MetricSpec>> =
        LazyLock::new(|| catalogue().iter().map(|spec| (spec.id.as_str(), spec)).collect());
    BY_ID.get(id).copied()
}
