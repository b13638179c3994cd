//! The tables of the sample run, written where other programs read them back: `.ci/tables/check` does.

#![cfg(feature = "parquet")]
#![expect(clippy::unwrap_used, reason = "helpers of tests, for which a panic is the report")]

use std::path::Path;

use streamgauge_report::{RequestParquet, RequestRow, RequestTable};
use streamgauge_schema::{
    Document, ImportedRequest, JournalLine, RequestLine, RunRecord, RunRecordV2,
};

const RECORD: &[u8] = include_bytes!("../../schema/tests/run/record.json");
const JOURNAL: &str = include_str!("../../schema/tests/run/observations.jsonl");

fn record() -> RunRecordV2 {
    match Document::read(RECORD).unwrap() {
        Document::Run(RunRecord::V2(record)) => *record,
        other => panic!("{other:?}"),
    }
}

fn lines() -> Vec<RequestLine> {
    let lines = JOURNAL.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter_map(|line| match line {
            JournalLine::Request(line) => Some(*line),
            _ => None,
        })
        .collect()
}

fn parquet(record: &RunRecordV2, rows: &[RequestRow<'_>]) -> Vec<u8> {
    let mut table = RequestParquet::new(Vec::new()).unwrap();
    rows.iter().for_each(|row| table.add(record, *row).unwrap());
    table.finish().unwrap()
}

#[test]
fn the_sample_run_as_both_tables() {
    let (record, lines) = (record(), lines());
    let rows: Vec<RequestRow<'_>> = lines.iter().map(RequestRow::Measured).collect();
    let bytes = parquet(&record, &rows);
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let mut csv = RequestTable::new(Vec::new()).unwrap();
    rows.iter().for_each(|row| csv.add(&record, *row).unwrap());
    let csv = csv.finish().unwrap();
    if let Some(folder) = std::env::var_os("STREAMGAUGE_TABLES") {
        let folder = Path::new(&folder);
        std::fs::write(folder.join("requests.parquet"), bytes).unwrap();
        std::fs::write(folder.join("requests.csv"), csv).unwrap();
    }
}

#[test]
fn more_requests_than_a_row_group_holds() {
    let (record, lines) = (record(), lines());
    let of = |count: usize| {
        let rows: Vec<RequestRow<'_>> =
            lines.iter().cycle().take(count).map(RequestRow::Measured).collect();
        parquet(&record, &rows).len()
    };
    assert!(of(10_001) > of(10_000));
    // No request is a file too.
    assert!(of(0) > 8);
}

#[test]
fn imported_requests_have_the_lists_that_their_file_tells() {
    let told = |intervals_us: Option<Vec<u64>>| ImportedRequest {
        index: 0,
        completion: streamgauge_schema::Completion::Succeeded,
        message: None,
        started_us: None,
        elapsed_us: None,
        first_output_us: Some(1_000),
        intervals_us,
        prompt_tokens: None,
        completion_tokens: Some(3),
    };
    let (with, without) = (told(Some(vec![10, 20])), told(None));
    let rows = [RequestRow::Imported(&with), RequestRow::Imported(&without)];
    assert!(parquet(&record(), &rows).starts_with(b"PAR1"));
}
