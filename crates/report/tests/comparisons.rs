//! Pages of comparisons, sweeps and searches.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod shared;

use std::collections::BTreeMap;

use proptest::prelude::*;
use streamgauge_metrics::Compared;
use streamgauge_report::{comparison_page, search_page, sweep_page};
use streamgauge_schema::{
    Document, EvidenceMode, Goal, GoalQuantity, Identifier, ProbeFault, PublicText, RunRecordV2,
    SearchProbe, SearchReport, SearchSchema, SearchedLoad,
};

use shared::{damaged, prose, record_v2, requests};

const POINTS: &[u8] =
    include_bytes!("../../schema/tests/records/runtime-profile-comparison-v1.json");
const INTERVALS: &[u8] = include_bytes!("../../schema/tests/records/comparison-v2.json");

fn page_of(document: &Document) -> Option<String> {
    let compared = match document {
        Document::Comparison(comparison) => Compared::V1(comparison),
        Document::ComparisonV2(comparison) => Compared::V2(comparison),
        _ => return None,
    };
    Some(comparison_page(compared, &BTreeMap::new()).unwrap())
}

#[test]
fn the_page_of_a_comparison_says_what_it_does() {
    for (name, document) in [("points", POINTS), ("intervals", INTERVALS)] {
        let page = page_of(&Document::read(document).unwrap()).unwrap();
        insta::assert_snapshot!(name, prose(&page));
    }
}

#[test]
fn a_heading_names_no_image_that_nobody_declared() {
    let Document::Comparison(mut comparison) = Document::read(POINTS).unwrap() else {
        panic!("a comparison of version 1");
    };
    let unknown = PublicText::new("unknown").unwrap();
    comparison.baseline_image = unknown.clone();
    comparison.candidate_image = unknown;
    let text = prose(&comparison_page(Compared::V1(&comparison), &BTreeMap::new()).unwrap());
    assert!(text.contains("\nCandidate against baseline\n"), "{text}");
    assert!(!text.contains("interval of a pass; thin"), "no interval is drawn: {text}");
}

#[test]
fn curves_are_shown_of_the_runs_that_are_at_hand() {
    let Document::ComparisonV2(comparison) = Document::read(INTERVALS).unwrap() else {
        panic!("a comparison of version 2");
    };
    let cell = &comparison.cells.0[0].1;
    let sides = [&cell.baseline_runs[0], &cell.candidate_runs[0]];
    let found = sides.map(|run| (run.run_id.clone(), requests(&record_v2())));
    let page = comparison_page(Compared::V2(&comparison), &BTreeMap::from(found)).unwrap();
    let text = prose(&page);
    assert!(text.contains("All requests of each side together, from 2 of"), "{text}");
    assert!(
        text.contains("TTFT, baseline, n = 4") && text.contains("E2E, candidate, n = 4"),
        "{text}"
    );
}

/// The sample record at another load.
fn cell(name: &str, throughput: f64, e2e_ms: f64) -> RunRecordV2 {
    let mut record = record_v2();
    record.load.cell = Identifier::new(name).unwrap();
    if let Some(window) = &mut record.windows.whole {
        window.mean_inflight = throughput;
    }
    for metric in &mut record.metrics {
        match metric.id.as_str() {
            "completion_throughput_tps" => metric.value = Some(throughput),
            "e2e_p50_ms" => metric.value = Some(e2e_ms),
            _ => {}
        }
    }
    record
}

#[test]
fn the_knee_is_where_more_load_stops_to_pay() {
    let said = |cells: &[(&str, f64, f64)]| {
        let runs: Vec<_> = cells.iter().map(|(name, rate, ms)| cell(name, *rate, *ms)).collect();
        prose(&sweep_page(&runs).unwrap())
    };
    for (cells, expected) in [
        (&[("c1", 10.0, 100.0), ("c2", 20.0, 110.0), ("c4", 21.0, 300.0)][..], "Knee at c2."),
        // Whatever the order in which they are given.
        (&[("c4", 21.0, 300.0), ("c2", 20.0, 110.0), ("c1", 10.0, 100.0)], "Knee at c2."),
        (&[("c1", 10.0, 100.0), ("c2", 20.0, 110.0), ("c4", 40.0, 120.0)], "No knee up to c4."),
        (&[("c1", 10.0, 100.0), ("c2", 20.0, 110.0)], "No knee known."),
        (&[("c1", 10.0, 100.0), ("c1", 11.0, 100.0), ("c2", 20.0, 110.0)], "No knee known."),
        (&[], "No knee known."),
    ] {
        let text = said(cells);
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

fn search() -> SearchReport {
    let probe = |load, attained_ratio, held, reason| SearchProbe {
        load,
        attained_ratio,
        without_value: 1,
        other_model: 0,
        held,
        reason,
        run_id: Identifier::new("sample-119f8a2564a2").unwrap(),
    };
    SearchReport {
        schema: SearchSchema::V1,
        load: SearchedLoad::RequestsPerS,
        goals: vec![Goal { quantity: GoalQuantity::Ttft, limit_ms: 40.0 }],
        attainment: 0.95,
        complete: true,
        highest_held: Some(4.0),
        lowest_failed: Some(8.0),
        held_above_a_failure: vec![],
        probes: vec![
            probe(4.0, Some(0.98), true, None),
            probe(8.0, Some(0.5), false, None),
            probe(16.0, None, false, Some(ProbeFault::NothingSucceeded)),
        ],
    }
}

#[test]
fn the_page_of_a_search_says_up_to_where_its_goals_hold() {
    insta::assert_snapshot!("search", prose(&search_page(&search(), &[record_v2()]).unwrap()));
    for (mode, expected) in
        [(EvidenceMode::Simulated, true), (EvidenceMode::ActualInference, false)]
    {
        let probe = RunRecordV2 { evidence_mode: mode, ..record_v2() };
        let text = prose(&search_page(&search(), &[probe]).unwrap());
        assert_eq!(text.contains("simulated server"), expected, "{text}");
    }
    let nothing = SearchReport {
        highest_held: None,
        lowest_failed: None,
        complete: false,
        probes: Vec::new(),
        ..search()
    };
    let text = prose(&search_page(&nothing, &[]).unwrap());
    assert!(text.contains("Unknown. No load was tried to its end."), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_comparison_that_reads_has_a_page(seed in any::<u64>()) {
        for document in [POINTS, INTERVALS] {
            if let Ok(document) = Document::read(&damaged(document, seed)) {
                page_of(&document);
            }
        }
    }

    #[test]
    fn every_search_that_reads_has_a_page(seed in any::<u64>()) {
        let report = serde_json::to_vec(&search()).unwrap();
        if let Ok(report) = serde_json::from_slice(&damaged(&report, seed)) {
            search_page(&report, &[record_v2()]).unwrap();
        }
    }
}
