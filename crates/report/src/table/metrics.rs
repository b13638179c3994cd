//! One row a metric, of any number of records.

use std::io::{self, Write};

use streamgauge_schema::{Interval, Metric, MetricV1, RunRecord};

use super::{Column, Value, csv_cell};

/// A metric, and the record that it stands in.
struct Row<'a> {
    record: &'a RunRecord,
    metric: &'a MetricV1,
    /// What version 1 does not have.
    more: Option<&'a Metric>,
}

type Of = for<'a> fn(&Row<'a>) -> Value;

const COLUMNS: [Column<Of>; 20] = [
    Column { name: "run_id", value: |row| row.record.run_id().as_str().into() },
    Column { name: "cell", value: |row| cell(row).into() },
    Column { name: "model", value: |row| row.record.deployment().model.as_str().into() },
    Column { name: "evidence_mode", value: |row| row.record.evidence_mode().as_str().into() },
    Column { name: "instrument", value: |row| instrument(row).into() },
    Column { name: "started_at", value: |row| row.record.started_at().to_string().into() },
    Column { name: "metric_id", value: |row| row.metric.id.as_str().into() },
    Column { name: "label", value: |row| row.metric.label.as_str().into() },
    Column { name: "value", value: |row| row.metric.value.into() },
    Column { name: "unit", value: |row| row.metric.unit.as_str().into() },
    Column { name: "sample_count", value: |row| row.metric.samples.into() },
    Column { name: "missing_count", value: |row| row.more.map(|metric| metric.missing).into() },
    Column { name: "interval_level_ratio", value: |row| interval(row).map(|it| it.level).into() },
    Column { name: "interval_lower", value: |row| interval(row).and_then(|it| it.lower).into() },
    Column { name: "interval_upper", value: |row| interval(row).and_then(|it| it.upper).into() },
    Column {
        name: "direction",
        value: |row| row.more.map(|metric| metric.direction.as_str()).into(),
    },
    Column { name: "window", value: |row| row.more.map(|metric| metric.window.as_str()).into() },
    Column { name: "population", value: |row| row.more.map(|it| it.population.as_str()).into() },
    Column { name: "token_source", value: |row| token_source(row).into() },
    Column { name: "definition", value: |row| row.metric.definition.as_str().into() },
];

fn cell(row: &Row<'_>) -> String {
    match row.record {
        RunRecord::V1(record) => record.deployment.profile.to_string(),
        RunRecord::V2(record) => record.load.cell.to_string(),
    }
}

fn instrument<'a>(row: &Row<'a>) -> Option<&'a str> {
    match row.record {
        RunRecord::V1(_) => None,
        RunRecord::V2(record) => Some(record.instrument.version.as_str()),
    }
}

fn interval<'a>(row: &Row<'a>) -> Option<&'a Interval> {
    row.more?.interval.as_ref()
}

fn token_source(row: &Row<'_>) -> Option<&'static str> {
    row.more?.token_source.map(|source| source.as_str())
}

/// The metrics of records as CSV, a row for each. A value stands in the unit that the row names.
///
/// ```
/// use streamgauge_report::MetricTable;
/// use streamgauge_schema::Document;
///
/// let record = include_bytes!("../../../schema/tests/records/serving-performance-v1.json");
/// let Document::Run(record) = Document::read(record)? else { panic!("a run record") };
/// let mut table = MetricTable::new(Vec::new())?;
/// table.add(&record)?;
/// let text = String::from_utf8(table.finish()?)?;
/// assert!(text.starts_with("run_id,cell,model,"));
/// assert_eq!(text.lines().count(), 1 + 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MetricTable<W: Write> {
    csv: csv::Writer<W>,
}

impl<W: Write> MetricTable<W> {
    /// Begins with the names of the columns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(writer: W) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(COLUMNS.iter().map(|column| column.name))?;
        Ok(Self { csv })
    }

    /// Adds the metrics of a record.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add(&mut self, record: &RunRecord) -> io::Result<()> {
        let metrics = record.metrics();
        for (place, metric) in metrics.iter().enumerate() {
            let more = match record {
                RunRecord::V1(_) => None,
                RunRecord::V2(record) => record.metrics.get(place),
            };
            let row = Row { record, metric, more };
            let values: Vec<Value> = COLUMNS.iter().map(|column| (column.value)(&row)).collect();
            self.csv.write_record(values.iter().map(|value| csv_cell(value).into_owned()))?;
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> io::Result<W> {
        self.csv.into_inner().map_err(|error| io::Error::other(error.to_string()))
    }
}
