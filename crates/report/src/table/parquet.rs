//! The requests of runs as Apache Parquet: the columns of the CSV with types, and lists beside them.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::parser::parse_message_type;
use streamgauge_schema::RunRecordV2;

use super::Value;
use super::requests::{COLUMNS, RequestRow, Row};

/// Requests of a row group: those are held until they are written.
const MOST_ROWS: usize = 10_000;
/// Values of the lists of a row group, so that few long streams are not held either.
const MOST_VALUES: usize = 4_000_000;

/// A column that holds a list for each request: microseconds or tokens.
type ListColumn = (&'static str, for<'a> fn(&Row<'a>) -> Option<Vec<u64>>);

const LISTS: [ListColumn; 3] = [
    ("arrivals_us", |row| row.arrivals_us()),
    ("event_tokens", |row| row.seen().and_then(|seen| seen.token_counts.clone())),
    ("observer_lag_us", |row| row.observer_lag_us()),
];

/// What a column holds, which its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Text,
    Uint,
}

impl Kind {
    fn of(name: &str) -> Self {
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        if ends(&["_ms", "_per_s"]) {
            Self::Float
        } else if ends(&["_us", "_count", "_tokens", "_bytes"])
            || ["http_status", "index"].contains(&name)
        {
            Self::Uint
        } else {
            Self::Text
        }
    }

    fn type_of(self) -> &'static str {
        match self {
            Self::Float => "double",
            Self::Text => "binary",
            Self::Uint => "int64",
        }
    }

    fn annotation(self) -> &'static str {
        match self {
            Self::Float => "",
            Self::Text => " (STRING)",
            Self::Uint => " (INTEGER(64, false))",
        }
    }
}

/// The layout as the format writes it.
fn layout() -> String {
    let mut text = "message requests {\n".to_owned();
    for column in &COLUMNS {
        let (name, kind) = (column.name, Kind::of(column.name));
        text += &format!("  optional {} {name}{};\n", kind.type_of(), kind.annotation());
    }
    for (name, _) in &LISTS {
        text += &format!(
            "  optional group {name} (LIST) {{\n    repeated group list {{\n      required int64 \
             element (INTEGER(64, false));\n    }}\n  }}\n"
        );
    }
    text + "}\n"
}

/// The requests of runs as Parquet, in row groups. Columns are those of [`RequestTable`](super::RequestTable),
/// and lists: `arrivals_us` (the first output's offset, then the intervals), `event_tokens` (where the
/// server counted the tokens of every event) and `observer_lag_us`.
///
/// ```
/// use streamgauge_report::{RequestParquet, RequestRow};
/// use streamgauge_schema::{Document, JournalLine, RunRecord};
///
/// let record = std::fs::read("../schema/tests/run/record.json")?;
/// let Document::Run(RunRecord::V2(record)) = Document::read(&record)? else { panic!("a record") };
/// let mut table = RequestParquet::new(Vec::new())?;
/// for line in std::fs::read_to_string("../schema/tests/run/observations.jsonl")?.lines() {
///     if let JournalLine::Request(line) = serde_json::from_str(line)? {
///         table.add(&record, RequestRow::Measured(&line))?;
///     }
/// }
/// let bytes = table.finish()?;
/// assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RequestParquet<W: Write + Send> {
    file: SerializedFileWriter<W>,
    scalars: Vec<Vec<Value>>,
    lists: Vec<Vec<Option<Vec<u64>>>>,
    rows: usize,
    values: usize,
}

impl<W: Write + Send> std::fmt::Debug for RequestParquet<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestParquet").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<W: Write + Send> RequestParquet<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(writer: W) -> io::Result<Self> {
        let layout = parse_message_type(&layout()).map_err(as_io)?;
        let properties = WriterProperties::builder()
            .set_created_by(format!("streamgauge {}", env!("CARGO_PKG_VERSION")))
            .build();
        let file = SerializedFileWriter::new(writer, Arc::new(layout), Arc::new(properties));
        Ok(Self {
            file: file.map_err(as_io)?,
            scalars: vec![Vec::new(); COLUMNS.len()],
            lists: vec![Vec::new(); LISTS.len()],
            rows: 0,
            values: 0,
        })
    }

    /// Adds a request of a run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, run: &RunRecordV2, request: RequestRow<'_>) -> io::Result<()> {
        let row = Row::new(run, request);
        for (column, values) in COLUMNS.iter().zip(&mut self.scalars) {
            values.push((column.value)(&row));
        }
        for ((_, of), lists) in LISTS.iter().zip(&mut self.lists) {
            let list = of(&row);
            self.values += list.as_ref().map_or(0, Vec::len);
            lists.push(list);
        }
        self.rows += 1;
        if self.rows == MOST_ROWS || self.values >= MOST_VALUES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what is left, and the end of the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.file.into_inner().map_err(as_io)
    }

    /// Writes the requests that are held as a row group.
    fn flush(&mut self) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(as_io)?;
        for (column, values) in COLUMNS.iter().zip(&mut self.scalars) {
            let values = std::mem::take(values);
            write_column(&mut group, |writer| {
                write_scalars(writer, Kind::of(column.name), values)
            })?;
        }
        for lists in &mut self.lists {
            let lists = std::mem::take(lists);
            write_column(&mut group, |writer| write_lists(writer, &lists))?;
        }
        group.close().map_err(as_io)?;
        (self.rows, self.values) = (0, 0);
        Ok(())
    }
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    write: impl FnOnce(&mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>,
) -> io::Result<()> {
    let column = group.next_column().map_err(as_io)?;
    let mut column = column.expect("the layout has every column that is written");
    write(&mut column).map_err(as_io)?;
    column.close().map_err(as_io)
}

/// A value that is there has level 1.
fn write_scalars(
    writer: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    values: Vec<Value>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(*value != Value::Missing)).collect();
    match kind {
        Kind::Float => {
            let floats = values.iter().filter_map(|value| match value {
                Value::Float(value) => Some(*value),
                _ => None,
            });
            write::<DoubleType>(writer, &floats.collect::<Vec<_>>(), &levels, None)
        }
        Kind::Text => {
            let texts = values.into_iter().filter_map(|value| match value {
                Value::Text(text) => Some(ByteArray::from(text.into_bytes())),
                _ => None,
            });
            write::<ByteArrayType>(writer, &texts.collect::<Vec<_>>(), &levels, None)
        }
        Kind::Uint => {
            let counts = values.iter().filter_map(|value| match value {
                Value::Uint(count) => Some(count.cast_signed()),
                _ => None,
            });
            write::<Int64Type>(writer, &counts.collect::<Vec<_>>(), &levels, None)
        }
    }
}

/// No list has level 0, an empty one 1, an element 2; all but the first of a list repeat.
fn write_lists(
    writer: &mut SerializedColumnWriter<'_>,
    lists: &[Option<Vec<u64>>],
) -> Result<(), ParquetError> {
    let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
    for list in lists {
        match list.as_deref() {
            None => (levels.push(0), repeats.push(0)),
            Some([]) => (levels.push(1), repeats.push(0)),
            Some(elements) => {
                for (place, element) in elements.iter().enumerate() {
                    values.push(element.cast_signed());
                    levels.push(2);
                    repeats.push(i16::from(place > 0));
                }
                ((), ())
            }
        };
    }
    write::<Int64Type>(writer, &values, &levels, Some(&repeats))
}

fn write<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    levels: &[i16],
    repeats: Option<&[i16]>,
) -> Result<(), ParquetError> {
    writer.typed::<T>().write_batch(values, Some(levels), repeats).map(|_| ())
}

fn as_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => io::Error::other(source),
        },
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_column_holds() {
        for (name, expected) in [
            ("run_id", Kind::Text),
            ("index", Kind::Uint),
            ("elapsed_us", Kind::Uint),
            ("prompt_tokens", Kind::Uint),
            ("ttft_ms", Kind::Float),
            ("decode_rate_tok_per_s", Kind::Float),
            ("finish_reasons", Kind::Text),
        ] {
            assert_eq!(Kind::of(name), expected, "{name}");
        }
        assert!(parse_message_type(&layout()).is_ok());
    }
}
