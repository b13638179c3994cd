//! A throughput that was not the one that the server showed: the server's own counter is held against the
//! usage of the responses, within 1 percent.

use streamgauge_schema::{
    EndReason, JournalTrailer, RequestLine, ScrapeLine, ServerFamily, ServerSample, Timestamp,
};

use crate::record::RunCollector;
use crate::sample_run::{header, plan, refused, succeeded};

/// Output tokens that the server had counted before.
const BEFORE: f64 = 1000.0;

/// What the record says of the server's counts, which rose by so much, or by several steps.
fn said(lines: &[RequestLine], rises: &[f64]) -> Vec<String> {
    let mut plan = plan(lines.len() as u64, 2);
    plan.instrument.server_metrics = Some("/metrics".to_owned());
    let header = header(&plan);
    let mut run = RunCollector::new(&plan, &header).unwrap();
    lines.iter().for_each(|line| run.add(line).unwrap());
    let last_us = lines.iter().map(|line| line.started_us + line.elapsed_us).max().unwrap();
    let mut value = BEFORE;
    run.add_scrape(&told(0, value)).unwrap();
    for rise in rises {
        value += rise;
        run.add_scrape(&told(last_us, value)).unwrap();
    }
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_900_000_000),
        lines: lines.len() as u64,
        listed_models: None,
    };
    let record = run.close(Some(&trailer)).unwrap().into_record(Vec::new()).unwrap();
    let texts = record.limitations.iter().map(ToString::to_string);
    texts
        .filter(|text| text.contains("the server's own") || text.contains("The server's own"))
        .collect()
}

fn told(at_us: u64, value: f64) -> ScrapeLine {
    let family = ServerFamily::VllmGenerationTokens;
    let samples = vec![ServerSample { family, series: "0".to_owned(), value }];
    ScrapeLine { asked_us: at_us, answered_us: at_us, failure: None, samples }
}

/// Two requests of 100 tokens each.
fn answered() -> Vec<RequestLine> {
    vec![succeeded(0, 10, &[100, 900], 100), succeeded(1, 10, &[100, 900], 100)]
}

#[test]
fn counts_within_one_percent_agree() {
    for rise in [198.0, 199.0, 200.0, 202.0] {
        assert_eq!(said(&answered(), &[rise]), [""; 0], "{rise}");
    }
}

#[test]
fn counts_beyond_one_percent_are_told_with_both_figures() {
    for (rise, shown) in [(0.0, "0"), (197.0, "197"), (203.0, "203"), (4e15, "4000000000000000.0")]
    {
        let expected = format!(
            "Output tokens by the server's own counter: {shown}; by the usage of the measured requests: 200, \
             more than 1 percent off. Others used the server meanwhile, or one of them counts wrong."
        );
        assert_eq!(said(&answered(), &[rise]), [expected]);
    }
}

#[test]
fn requests_of_which_the_server_may_have_counted_more_leave_it_open() {
    let mut failed = answered();
    failed.push(refused(2, 10, 5));
    let mut uncounted = answered();
    let seen = succeeded(2, 10, &[100, 900], 100);
    uncounted.push(RequestLine {
        observation: seen.observation.clone().map(|mut seen| {
            seen.usage = None;
            seen
        }),
        ..seen
    });
    let mut twice = answered();
    twice[0].attempts = 2;
    for (lines, rise) in [(&failed, 200.0), (&failed, 260.0), (&uncounted, 300.0), (&twice, 300.0)]
    {
        let [only] = &said(lines, &[rise])[..] else { panic!("one sentence") };
        let expected = format!(
            "The server's own count of output tokens ({rise}) cannot be held against usage (200). Requests that \
             failed, have no usage or were sent again, on which the server may have worked: 1."
        );
        assert_eq!(only, &expected);
    }
    // Fewer than the responses have is wrong in any case.
    for lines in [&failed, &uncounted, &twice] {
        let [only] = &said(lines, &[190.0])[..] else { panic!("one sentence") };
        assert!(only.contains("more than 1 percent off"), "{only}");
    }
}

#[test]
fn a_counter_that_fell_is_no_count() {
    let [only] = &said(&answered(), &[-900.0, 1100.0])[..] else { panic!("one sentence") };
    assert!(only.starts_with("The server's own counters fell while the run lasted"), "{only}");
}
