//! What a reader finds in a file of another tool, whichever tool it is.
//!
//! Invariant: values are as the file gives them, converted to the units of records and nothing else;
//! what the file does not tell is `None`, also where the tool writes 0 for it.

use streamgauge_schema::{Direction, ImportedRequest, Timestamp, Unit};

use crate::stat::Stat;

/// One run that a file tells of.
#[derive(Debug)]
pub(crate) struct Found {
    /// The tool's version.
    pub(crate) version: Option<String>,
    /// The model asked for.
    pub(crate) model: Option<String>,
    /// When it began, by the wall clock of whoever measured.
    pub(crate) began_at: Option<Timestamp>,
    /// When it ended, likewise.
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) load: FoundLoad,
    pub(crate) outcomes: Outcomes,
    /// The single requests; none where the file has only summaries.
    pub(crate) requests: Vec<ImportedRequest>,
    pub(crate) quantities: Vec<Quantity>,
    pub(crate) totals: Vec<Total>,
    /// What else the file says of the run: labels and values.
    pub(crate) conditions: Vec<(&'static str, String)>,
    /// What the file does not tell, or tells in a way that may mislead.
    pub(crate) limitations: Vec<String>,
}

/// How requests were sent.
#[derive(Debug, Default)]
pub(crate) struct FoundLoad {
    /// The file tells how requests were sent.
    pub(crate) is_told: bool,
    /// Most requests under way at once.
    pub(crate) concurrency: Option<u64>,
    /// Requests a second that were asked for; `None` without a rate.
    pub(crate) rate_per_s: Option<f64>,
    /// All that the file says of it.
    pub(crate) words: String,
}

/// What became of the requests, by the tool's own rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// Cut by the end of the run, or cancelled on purpose.
    pub(crate) cancelled: u64,
}

impl Outcomes {
    pub(crate) fn offered(self) -> u64 {
        self.succeeded.saturating_add(self.failed).saturating_add(self.cancelled)
    }
}

/// A quantity as a tool defines it.
#[derive(Debug)]
pub(crate) struct QuantitySpec {
    /// Its name in the tool's own files.
    pub(crate) key: &'static str,
    /// Its name in the ids of metrics, where that is another.
    pub(crate) id: &'static str,
    /// Its name for people.
    pub(crate) name: &'static str,
    /// The end of a definition that begins with the statistic.
    pub(crate) meaning: &'static str,
    pub(crate) unit: Unit,
    pub(crate) direction: Direction,
}

/// What a file says of a quantity that requests have.
#[derive(Debug)]
pub(crate) struct Quantity {
    pub(crate) spec: &'static QuantitySpec,
    /// The values of single requests, in the unit of the quantity; `None` where the file has none.
    pub(crate) samples: Option<Samples>,
    /// The statistics that the file states, in the unit of the quantity.
    pub(crate) stated: Vec<(Stat, f64)>,
    /// How many values the file says that entered them.
    pub(crate) stated_count: Option<u64>,
}

/// The values of single requests.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    pub(crate) values: Vec<f64>,
    /// Succeeded requests without a value.
    pub(crate) missing: u64,
}

impl Samples {
    /// One value a request, or none.
    pub(crate) fn of(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let mut samples = Self::default();
        for value in values {
            match value {
                Some(value) => samples.values.push(value),
                None => samples.missing += 1,
            }
        }
        samples
    }
}

/// What a total is, as a tool defines it.
#[derive(Debug)]
pub(crate) struct TotalSpec {
    /// Its name in the tool's own files.
    pub(crate) key: &'static str,
    /// The end of the metric's id.
    pub(crate) id: &'static str,
    /// Its name for people.
    pub(crate) name: &'static str,
    pub(crate) definition: &'static str,
    pub(crate) unit: Unit,
    pub(crate) direction: Direction,
}

/// A figure of the run as a whole.
#[derive(Debug)]
pub(crate) struct Total {
    pub(crate) spec: &'static TotalSpec,
    pub(crate) value: Option<f64>,
}
