//! Runs that broke off and were taken up again.

use streamgauge_schema::JournalResumed;

use super::*;
use crate::record::RunCollector;

/// A run of one client, taken up again after nine seconds.
fn taken_up(
    lines: &[RequestLine],
    trailer_lines: u64,
    dropped: u64,
) -> Result<RunRecordV2, RecordError> {
    let plan = plan(4, 1);
    let header = header(&plan);
    let mut run = RunCollector::new(&plan, &header)?;
    lines.iter().try_for_each(|line| run.add(line))?;
    run.resumed(&JournalResumed {
        resumed_at: Timestamp::from_unix_micros(1_790_000_009_000_000),
        at_us: 9_000_000,
        dropped,
        listed_models: None,
        conditions: vec![Condition { label: text("Instrument system")?, value: text("Another")? }],
    });
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_020_000_000),
        lines: trailer_lines,
        listed_models: None,
    };
    run.close(Some(&trailer))?.into_record(Vec::new())
}

/// Two requests before the pause, two behind it, which take as long.
fn four() -> Vec<RequestLine> {
    [(0, 100), (1, 1_200), (2, 9_500), (3, 10_600)]
        .map(|(index, started_ms)| succeeded(index, started_ms, &[200, 1000], 10))
        .to_vec()
}

#[test]
fn the_time_between_is_in_no_rate() {
    let record = taken_up(&four(), 4, 0).unwrap();
    assert_eq!(record.status, RunStatus::Completed);
    assert!(record.load.performance_eligible);
    let whole = record.windows.whole.as_ref().unwrap();
    // From 100 to 2,200 ms, and on from there for another 2,100 ms.
    assert_eq!(
        (whole.from_ms.to_micros(), whole.to_ms.to_micros()),
        (Some(100_000), Some(4_300_000))
    );
    assert_eq!(record.windows.steady, None);
    assert_eq!(record.performance.observed_peak_inflight, None);
    let said: Vec<&str> = record.limitations.iter().map(PublicText::as_str).collect();
    let said = said.join(" ");
    for part in [
        "The run broke off and was taken up again: 1. What was under way was asked again;",
        "Instrument system",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(was_taken_up(&record));
    let document = Document::Run(RunRecord::V2(Box::new(record)));
    let found = verify(&document);
    let broken: Vec<_> = found.broken().map(|broken| broken.rule).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let mut lines = four();
    let record = taken_up(&lines, 4, 0).unwrap();
    lines.reverse();
    assert_eq!(taken_up(&lines, 4, 0).unwrap(), record);
}

#[test]
fn lines_that_count_no_more_are_counted() {
    assert!(taken_up(&four(), 6, 2).is_ok());
    for (lines, dropped) in [(6, 1), (4, 1)] {
        let error = taken_up(&four(), lines, dropped).unwrap_err();
        assert!(matches!(error, RecordError::LinesMissing { .. }), "{error}");
    }
    let error = taken_up(&four()[..3], 3, 0).unwrap_err();
    assert!(matches!(error, RecordError::NotFinished { declared: 4, found: 3 }), "{error}");
}
