//! What the figures of a page mean, in the words of the catalogue.

use streamgauge_metrics::MetricSpec;
use streamgauge_schema::{Metric, Unit};

use crate::figures::spec;
use crate::words::{better, unit_name};

/// A name in a table, with what it means and where that stands in full.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) anchor: String,
    pub(super) name: String,
    pub(super) definition: String,
}

/// What a quantity is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) anchor: String,
    pub(super) name: String,
    pub(super) definition: String,
    pub(super) unit: &'static str,
    pub(super) better: &'static str,
    pub(super) population: String,
    /// What only the catalogue says.
    pub(super) more: Option<More>,
}

/// How a quantity is found.
#[derive(Debug)]
pub(super) struct More {
    pub(super) formula: &'static str,
    pub(super) absent_when: &'static str,
    pub(super) example: &'static str,
}

/// The entries of a page, in the order in which they were first named.
#[derive(Debug, Default)]
pub(super) struct Glossary {
    pub(super) entries: Vec<Entry>,
}

impl Glossary {
    /// Names a quantity of the catalogue, and explains it once.
    pub(super) fn quantity(&mut self, of: &'static MetricSpec) -> Term {
        let definition = of.definition.as_str();
        let term = Term::new(of.quantity, definition);
        if !self.has(&term.anchor) {
            self.entries.push(Entry {
                anchor: term.anchor.clone(),
                name: of.quantity.to_owned(),
                definition: definition.to_owned(),
                unit: unit_name(of.unit),
                better: better(of.direction),
                population: of.population.text().to_owned(),
                more: Some(More {
                    formula: of.formula,
                    absent_when: of.absent_when,
                    example: of.example,
                }),
            });
        }
        term
    }

    /// Names a metric of a record, and explains it once: in the catalogue's words where it knows it,
    /// else in the record's own.
    pub(super) fn metric(&mut self, metric: &Metric) -> Term {
        match spec(metric.id.as_str()) {
            Some(spec) => {
                let named = self.quantity(spec);
                Term { definition: metric.definition.to_string(), ..named }
            }
            None => self.own(
                metric.label.as_str(),
                metric.definition.as_str(),
                (metric.unit, better(metric.direction), metric.population.as_str()),
            ),
        }
    }

    /// Names what no catalogue knows, and explains it once.
    pub(super) fn own(
        &mut self,
        name: &str,
        definition: &str,
        (unit, better, population): (Unit, &'static str, &str),
    ) -> Term {
        let term = Term::new(name, definition);
        if !self.has(&term.anchor) {
            self.entries.push(Entry {
                anchor: term.anchor.clone(),
                name: name.to_owned(),
                definition: definition.to_owned(),
                unit: unit_name(unit),
                better,
                population: population.to_owned(),
                more: None,
            });
        }
        term
    }

    fn has(&self, anchor: &str) -> bool {
        self.entries.iter().any(|entry| entry.anchor == anchor)
    }
}

impl Term {
    fn new(name: &str, definition: &str) -> Self {
        let word = |part: &str| part.to_ascii_lowercase();
        let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
        let anchor = words.map(word).collect::<Vec<_>>().join("-");
        Self {
            anchor: format!("term-{anchor}"),
            name: name.to_owned(),
            definition: definition.to_owned(),
        }
    }
}
