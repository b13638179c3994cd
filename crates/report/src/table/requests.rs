//! One row a request, of any number of runs. It holds what a journal holds, which is private, but for
//! prompts, answers and messages.

use std::io::{self, Write};

use streamgauge_metrics::{
    decode_rate_tok_per_s, e2e_from_schedule_ms, e2e_ms, prefill_rate_tok_per_s, queue_delay_ms,
    to_kernel_basis, tpot_ms, ttfc_ms, ttft_from_schedule_ms, ttft_ms,
};
use streamgauge_schema::{
    Completion, ImportedRequest, Observation, RequestLine, RunRecordV2, TimeBasis, Usage,
};

use super::{Column, Value, csv_cell};

/// A request of a run.
#[derive(Clone, Copy, Debug)]
pub enum RequestRow<'a> {
    /// As another tool tells it. What is derived from stamps is left empty: its definitions are not
    /// ours.
    Imported(&'a ImportedRequest),
    /// As its journal holds it.
    Measured(&'a RequestLine),
}

/// A request with all that its cells are made of.
pub(crate) struct Row<'a> {
    run: &'a RunRecordV2,
    request: RequestRow<'a>,
    /// The request by the record's time basis; `None` where its times are not known by it.
    timed: Option<RequestLine>,
}

impl<'a> Row<'a> {
    pub(crate) fn new(run: &'a RunRecordV2, request: RequestRow<'a>) -> Self {
        let timed = match (request, run.instrument.time_basis) {
            (RequestRow::Measured(line), TimeBasis::Kernel) => to_kernel_basis(line),
            (RequestRow::Measured(line), TimeBasis::Read) => Some(line.clone()),
            (RequestRow::Imported(_), _) => None,
        };
        Self { run, request, timed }
    }

    /// The arrivals of output: the first, then the intervals.
    #[cfg(feature = "parquet")]
    pub(crate) fn arrivals_us(&self) -> Option<Vec<u64>> {
        if let Some(request) = self.imported() {
            let intervals = request.intervals_us.as_ref()?;
            return Some([&[request.first_output_us?], intervals.as_slice()].concat());
        }
        let seen = self.seen()?;
        // Where single arrivals were not to be kept there is output without any.
        let are_kept = seen.output_events == seen.arrivals_us.len() as u64;
        are_kept.then(|| seen.arrivals_us.clone())
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn observer_lag_us(&self) -> Option<Vec<u64>> {
        self.line()?.observer_lag_us.clone()
    }

    fn line(&self) -> Option<&'a RequestLine> {
        match self.request {
            RequestRow::Imported(_) => None,
            RequestRow::Measured(line) => Some(line),
        }
    }

    pub(crate) fn seen(&self) -> Option<&'a Observation> {
        self.line()?.observation.as_ref()
    }

    fn imported(&self) -> Option<&'a ImportedRequest> {
        match self.request {
            RequestRow::Imported(request) => Some(request),
            RequestRow::Measured(_) => None,
        }
    }

    fn completion(&self) -> Completion {
        match self.request {
            RequestRow::Imported(request) => request.completion,
            RequestRow::Measured(line) => line.completion,
        }
    }

    fn index(&self) -> u64 {
        match self.request {
            RequestRow::Imported(request) => request.index,
            RequestRow::Measured(line) => line.index,
        }
    }

    /// Counts of which it is known what was counted.
    fn usage(&self) -> Option<Usage> {
        self.seen().filter(|seen| !seen.usage_ambiguous)?.usage
    }

    /// A stamp of the response, or what the other tool calls by that name.
    fn stamp(
        &self,
        of: fn(&Observation) -> Option<u64>,
        told: fn(&ImportedRequest) -> Option<u64>,
    ) -> Value {
        self.seen().and_then(of).or_else(|| self.imported().and_then(told)).into()
    }

    fn derived(&self, of: fn(&RequestLine) -> Option<f64>) -> Value {
        self.timed.as_ref().and_then(of).into()
    }
}

/// How a row gives the value of a column.
type Of = for<'a> fn(&Row<'a>) -> Value;

/// Every column. Stamps are as they are stored, in microseconds since the request's start but for
/// `scheduled_us` and `started_us`, which count from the run's; what is derived from them has the
/// meaning of the metric of that name.
pub(crate) const COLUMNS: [Column<Of>; 42] = [
    Column { name: "run_id", value: |row| row.run.run_id.as_str().into() },
    Column { name: "cell", value: |row| row.run.load.cell.as_str().into() },
    Column { name: "instrument", value: |row| row.run.instrument.version.as_str().into() },
    Column { name: "stage", value: |row| row.line().map(|line| line.stage.as_str()).into() },
    Column { name: "index", value: |row| row.index().into() },
    Column {
        name: "dataset_id",
        value: |row| row.line().and_then(|line| line.dataset_id.as_deref()).into(),
    },
    Column { name: "completion", value: |row| row.completion().as_str().into() },
    Column {
        name: "failure_class",
        value: |row| {
            row.line().and_then(|it| it.failure.as_ref()).map(|it| it.class.as_str()).into()
        },
    },
    Column {
        name: "http_status",
        value: |row| row.seen().map(|seen| u64::from(seen.http_status)).into(),
    },
    Column {
        name: "ending",
        value: |row| row.seen().and_then(|seen| seen.ending).map(|ending| ending.as_str()).into(),
    },
    Column {
        name: "finish_reasons",
        value: |row| row.seen().and_then(|seen| joined(&seen.finish_reasons)).into(),
    },
    Column {
        name: "returned_models",
        value: |row| row.seen().and_then(|seen| joined(&seen.returned_models)).into(),
    },
    Column {
        name: "attempt_count",
        value: |row| row.line().map(|it| u64::from(it.attempts)).into(),
    },
    Column { name: "scheduled_us", value: |row| row.line().and_then(|it| it.scheduled_us).into() },
    Column { name: "queued_us", value: |row| row.line().and_then(|it| it.queued_us).into() },
    Column {
        name: "started_us",
        value: |row| {
            let told = || row.imported().and_then(|it| it.started_us);
            row.line().map(|line| line.started_us).or_else(told).into()
        },
    },
    Column {
        name: "elapsed_us",
        value: |row| {
            let told = || row.imported().and_then(|it| it.elapsed_us);
            row.line().map(|line| line.elapsed_us).or_else(told).into()
        },
    },
    Column { name: "connect_us", value: |row| row.line().and_then(|it| it.connect_us).into() },
    Column { name: "headers_us", value: |row| row.line().and_then(|it| it.headers_us).into() },
    Column { name: "first_event_us", value: |row| row.stamp(|it| it.first_event_us, |_| None) },
    Column {
        name: "first_output_us",
        value: |row| row.stamp(|it| it.first_output_us, |it| it.first_output_us),
    },
    Column { name: "last_output_us", value: |row| row.stamp(|it| it.last_output_us, last_output) },
    Column {
        name: "first_reasoning_us",
        value: |row| row.stamp(|it| it.first_reasoning_us, |_| None),
    },
    Column { name: "first_content_us", value: |row| row.stamp(|it| it.first_content_us, |_| None) },
    Column {
        name: "first_tool_call_us",
        value: |row| row.stamp(|it| it.first_tool_call_us, |_| None),
    },
    Column {
        name: "output_event_count",
        value: |row| {
            let told = || Some(row.imported()?.intervals_us.as_ref()?.len() as u64 + 1);
            row.seen().map(|seen| seen.output_events).or_else(told).into()
        },
    },
    Column { name: "event_count", value: |row| row.seen().map(|seen| seen.events).into() },
    Column { name: "body_bytes", value: |row| row.seen().map(|seen| seen.bytes).into() },
    Column {
        name: "prompt_tokens",
        value: |row| {
            let told = || row.imported().and_then(|it| it.prompt_tokens);
            row.usage().and_then(|usage| usage.prompt_tokens).or_else(told).into()
        },
    },
    Column {
        name: "completion_tokens",
        value: |row| {
            let told = || row.imported().and_then(|it| it.completion_tokens);
            row.usage().and_then(|usage| usage.completion_tokens).or_else(told).into()
        },
    },
    Column {
        name: "reasoning_tokens",
        value: |row| row.usage().and_then(|usage| usage.reasoning_tokens).into(),
    },
    Column {
        name: "cached_tokens",
        value: |row| row.usage().and_then(|usage| usage.cached_tokens).into(),
    },
    Column { name: "ttft_ms", value: |row| row.derived(ttft_ms) },
    Column { name: "ttfc_ms", value: |row| row.derived(ttfc_ms) },
    Column { name: "e2e_ms", value: |row| row.derived(|line| Some(e2e_ms(line))) },
    Column { name: "tpot_ms", value: |row| row.derived(|line| tpot_ms(line).ok()) },
    Column {
        name: "decode_rate_tok_per_s",
        value: |row| row.derived(|line| decode_rate_tok_per_s(line).ok()),
    },
    Column { name: "prefill_rate_tok_per_s", value: |row| row.derived(prefill_rate_tok_per_s) },
    Column { name: "queue_delay_ms", value: |row| row.derived(queue_delay_ms) },
    Column { name: "ttft_from_schedule_ms", value: |row| row.derived(ttft_from_schedule_ms) },
    Column { name: "e2e_from_schedule_ms", value: |row| row.derived(e2e_from_schedule_ms) },
    Column {
        name: "stale_connection_count",
        value: |row| row.line().map(|line| line.stale_connections).into(),
    },
];

/// The end of what another tool takes for output: the first and all intervals.
fn last_output(request: &ImportedRequest) -> Option<u64> {
    let intervals = request.intervals_us.as_ref()?;
    intervals.iter().try_fold(request.first_output_us?, |at, us| at.checked_add(*us))
}

fn joined(words: &[String]) -> Option<String> {
    (!words.is_empty()).then(|| words.join(" "))
}

/// The requests of runs as CSV, a row for each.
///
/// ```
/// use streamgauge_report::{RequestRow, RequestTable};
/// use streamgauge_schema::{Document, JournalLine, RunRecord};
///
/// let record = std::fs::read("../schema/tests/run/record.json")?;
/// let Document::Run(RunRecord::V2(record)) = Document::read(&record)? else { panic!("a record") };
/// let mut table = RequestTable::new(Vec::new())?;
/// for line in std::fs::read_to_string("../schema/tests/run/observations.jsonl")?.lines() {
///     if let JournalLine::Request(line) = serde_json::from_str(line)? {
///         table.add(&record, RequestRow::Measured(&line))?;
///     }
/// }
/// let text = String::from_utf8(table.finish()?)?;
/// assert!(text.starts_with("run_id,cell,instrument,stage,index,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RequestTable<W: Write> {
    csv: csv::Writer<W>,
}

impl<W: Write> RequestTable<W> {
    /// Begins with the names of the columns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(writer: W) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(COLUMNS.iter().map(|column| column.name))?;
        Ok(Self { csv })
    }

    /// Adds a request of a run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, run: &RunRecordV2, request: RequestRow<'_>) -> io::Result<()> {
        let row = Row::new(run, request);
        for column in &COLUMNS {
            self.csv.write_field(csv_cell(&(column.value)(&row)).as_ref())?;
        }
        self.csv.write_record(None::<&[u8]>)?;
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
