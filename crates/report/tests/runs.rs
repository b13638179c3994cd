//! Pages of runs: what stands on them, how large they become, and that no record is too odd for one.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod shared;

use proptest::prelude::*;
use streamgauge_report::{Requests, run_page};
use streamgauge_schema::{
    Document, JournalLine, Replica, ReplicaReport, RequestLine, RunRecord, RunRecordV2, Spread,
};

use shared::{damaged, hostile, prose, record_v1, record_v2, requests};

#[test]
fn the_page_of_a_run_says_what_its_record_does() {
    let record = record_v2();
    let page =
        run_page(&RunRecord::V2(Box::new(record.clone())), Some(&requests(&record))).unwrap();
    insta::assert_snapshot!("run", prose(&page));
}

#[test]
fn several_addresses_have_a_row_each_by_their_names() {
    let mut record = record_v2();
    let spread = |ms| Some(Spread { median: ms, p99: 2.0 * ms, max: 2.5 * ms });
    let replica = |place, succeeded, ttft_ms, e2e_ms| ReplicaReport {
        name: Replica::name(place),
        weight: 1,
        offered: 1_200,
        succeeded,
        failed: 1_200 - succeeded,
        timed_out: 0,
        cancelled: 0,
        not_sent: 0,
        completion_tok_per_s: Some(succeeded as f64),
        ttft_ms,
        e2e_ms,
    };
    assert!(!run_page(&RunRecord::V2(Box::new(record.clone())), None).unwrap().contains("At each"));
    record.replicas =
        vec![replica(0, 1_200, spread(10.5), spread(100.0)), replica(1, 0, None, None)];
    let page = prose(&run_page(&RunRecord::V2(Box::new(record)), None).unwrap());
    let from = page.find("At each address").unwrap();
    let section: String = page[from..].chars().take(900).collect();
    for row in [
        "replica-1 | 1 | 1,200 | 0 of 1,200 | 1,200 | 10.5 | 21.0 | 100 | 200",
        "replica-2 | 1 | 1,200 | 1,200 of 1,200 | 0 | — | — | — | —",
    ] {
        let words = section.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(row), "{row}: {words}");
    }
}

#[test]
fn the_page_of_an_old_record_says_what_it_leaves_out() {
    let page = run_page(&record_v1(), None).unwrap();
    let text = prose(&page);
    assert!(text.contains("The run's journal was not at hand."), "{text}");
    assert!(text.contains("A record of version 1 does not say"), "{text}");
    insta::assert_snapshot!("run_of_version_1", text);
}

#[test]
fn a_page_fetches_nothing_and_runs_nothing() {
    let record = record_v2();
    let page =
        run_page(&RunRecord::V2(Box::new(record.clone())), Some(&requests(&record))).unwrap();
    for barred in
        ["<script", "<link", "<img", "<iframe", "src=", "url(", "@import", " style=", "onload"]
    {
        assert!(!page.contains(barred), "{barred}");
    }
    assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"));
    let ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|it| it.split('"').next().unwrap()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len(), "each id once");
    let links = page.split(" href=\"#").skip(1).map(|it| it.split('"').next().unwrap());
    for link in links {
        assert!(ids.contains(&link), "#{link} leads nowhere");
    }
}

#[test]
fn text_from_elsewhere_is_text() {
    let record = hostile(&record_v2());
    let page = run_page(&RunRecord::V2(Box::new(record)), None).unwrap();
    assert!(!page.contains("<script"), "no element of theirs");
    assert!(page.contains("&#60;script&#62;"), "it is shown as it was written");
}

/// Ten thousand requests of 128 events at odd times, some of them failed.
fn many(record: &RunRecordV2, some: &[RequestLine]) -> Requests {
    let mut requests = Requests::of(record);
    let mut chance: u64 = 1;
    let mut next = || {
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        chance >> 44
    };
    for index in 0..10_000 {
        let mut line = some[index as usize % some.len()].clone();
        (line.index, line.started_us) = (index, index * 2_000 + next() % 900);
        if let Some(seen) = &mut line.observation
            && seen.succeeded()
        {
            let first_us = 20_000 + next();
            let gaps = (0..127).map(|_| next() / 30);
            seen.arrivals_us = std::iter::once(first_us).chain(gaps).collect();
            line.elapsed_us = seen.arrivals_us.iter().sum();
            let started = seen.arrivals_us[0];
            (seen.first_output_us, seen.first_content_us) = (Some(started), Some(started + next()));
        }
        requests.add(&line);
    }
    requests
}

#[test]
fn ten_thousand_requests_make_a_small_page() {
    let mut record = record_v2();
    record.load.offered = 10_000;
    let some: Vec<RequestLine> = shared::lines().collect();
    let page =
        run_page(&RunRecord::V2(Box::new(record.clone())), Some(&many(&record, &some))).unwrap();
    assert!(page.len() < 500_000, "{} bytes", page.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_record_that_reads_has_a_page(seed in any::<u64>()) {
        for document in [shared::RECORD_V1, shared::RECORD_V2] {
            if let Ok(Document::Run(record)) = Document::read(&damaged(document, seed)) {
                run_page(&record, None).unwrap();
            }
        }
    }

    #[test]
    fn every_line_that_reads_may_be_in_a_plot(seed in any::<u64>()) {
        let record = record_v2();
        let mut requests = Requests::of(&record);
        for (line, more) in shared::JOURNAL.lines().zip(0..) {
            if let Ok(JournalLine::Request(line)) =
                serde_json::from_slice(&damaged(line.as_bytes(), seed ^ more))
            {
                requests.add(&line);
            }
        }
        run_page(&RunRecord::V2(Box::new(record)), Some(&requests)).unwrap();
    }
}
