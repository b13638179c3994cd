//! Servers of known capacity, servers that contradict themselves, and searches that cannot begin.

use proptest::prelude::*;

use super::*;

const RATES: SearchSpec = SearchSpec::Rates { start_per_s: 1.0, most_per_s: 1e6, step_ratio: 0.05 };

fn clients(start: u64, most: u64) -> SearchSpec {
    SearchSpec::Clients { start, most }
}

/// Searches a server that keeps its goals up to a load.
fn search(spec: SearchSpec, capacity: f64) -> Search {
    let mut search = Search::new(spec, 0.95).unwrap();
    while let Some(load) = search.next_load() {
        assert!(search.probes().len() < 100, "the search ends");
        search.record(load, if load <= capacity { 0.95 } else { 0.949 });
    }
    search
}

fn loads(search: &Search) -> Vec<f64> {
    search.probes().iter().map(|probe| probe.load).collect()
}

// The peak load at which goals hold is what vllm-project/guidellm#197 asks for.

/// What is searched, the capacity, the loads probed, and the highest held and the lowest failed.
type Case = (SearchSpec, f64, &'static [f64], [Option<f64>; 2]);

#[test]
fn these_loads_are_probed() {
    let cases: [Case; 8] = [
        (clients(1, 8), 100.0, &[1.0, 2.0, 4.0, 8.0], [Some(8.0), None]),
        (clients(1, 6), 5.0, &[1.0, 2.0, 4.0, 6.0, 5.0], [Some(5.0), Some(6.0)]),
        (clients(5, 5), 9.0, &[5.0], [Some(5.0), None]),
        (clients(9, 9), 2.0, &[9.0, 4.0, 2.0, 3.0], [Some(2.0), Some(3.0)]),
        (clients(9, 99), 0.0, &[9.0, 4.0, 2.0, 1.0], [None, Some(1.0)]),
        (clients(1, 99), 0.0, &[1.0], [None, Some(1.0)]),
        (
            SearchSpec::Rates { start_per_s: 10.0, most_per_s: 100.0, step_ratio: 0.1 },
            34.0,
            &[10.0, 20.0, 40.0, 28.28, 33.63, 36.68],
            [Some(33.63), Some(36.68)],
        ),
        (
            SearchSpec::Rates { start_per_s: 10.0, most_per_s: 15.0, step_ratio: 0.1 },
            34.0,
            &[10.0, 15.0],
            [Some(15.0), None],
        ),
    ];
    for (spec, capacity, probed, expected) in cases {
        let search = search(spec, capacity);
        assert_eq!(loads(&search), probed, "{spec:?}");
        let found = search.found();
        assert_eq!([found.highest_held, found.lowest_failed], expected, "{spec:?}");
        assert!(found.held_above_a_failure.is_empty(), "{spec:?}");
    }
}

#[test]
fn rates_that_never_hold_end_at_the_1024th_part() {
    let probed = loads(&search(RATES, 0.0));
    assert_eq!(probed.len(), 11);
    assert_eq!(probed.last(), Some(&(1.0 / 1024.0)));
}

#[test]
fn a_probe_that_holds_above_a_failure_is_said() {
    let mut search = Search::new(clients(8, 64), 0.9).unwrap();
    for (load, attained) in [(8.0, 1.0), (16.0, 0.5), (32.0, 0.95), (16.0, 0.99), (4.0, f64::NAN)] {
        search.record(load, attained);
    }
    let found = search.found();
    assert_eq!((found.highest_held, found.lowest_failed), (None, Some(4.0)));
    assert_eq!(found.held_above_a_failure, [8.0, 32.0, 16.0]);
    assert_eq!(search.next_load(), Some(2.0));
    assert_eq!(search.probes().len(), 5);
}

#[test]
fn a_search_that_cannot_begin_is_refused() {
    let rates = |start_per_s, most_per_s, step_ratio| SearchSpec::Rates {
        start_per_s,
        most_per_s,
        step_ratio,
    };
    let range = "does not go from a load above 0 to one at least as high";
    let cases = [
        (clients(0, 8), 0.9, format!("a search from 0 to 8 {range}")),
        (clients(9, 8), 0.9, format!("a search from 9 to 8 {range}")),
        (clients(1, 1 << 32), 0.9, format!("a search from 1 to 4294967296 {range}")),
        (rates(-1.0, 8.0, 0.1), 0.9, format!("a search from -1 to 8 {range}")),
        (rates(1.0, f64::NAN, 0.1), 0.9, format!("a search from 1 to NaN {range}")),
        (rates(1.0, f64::INFINITY, 0.1), 0.9, format!("a search from 1 to inf {range}")),
        (rates(1.0, 8.0, 0.0), 0.9, "a step of 0 is not within 0.001 to 1".to_owned()),
        (rates(1.0, 8.0, f64::NAN), 0.9, "a step of NaN is not within 0.001 to 1".to_owned()),
        (clients(1, 8), 0.0, "attainment 0 is not above 0 and at most 1".to_owned()),
        (clients(1, 8), 95.0, "attainment 95 is not above 0 and at most 1".to_owned()),
    ];
    for (spec, attainment, expected) in cases {
        assert_eq!(Search::new(spec, attainment).unwrap_err().to_string(), expected);
    }
}

proptest! {
    #[test]
    fn the_capacity_in_clients_is_found(start in 1_u64..1000, more in 0_u64..100_000, capacity in 0_u64..200_000) {
        let most = start + more;
        let found = search(clients(start, most), capacity as f64).found();
        let held = capacity.min(most);
        prop_assert_eq!(found.highest_held, (held > 0).then_some(held as f64));
        prop_assert_eq!(found.lowest_failed, (capacity < most).then_some(capacity as f64 + 1.0));
    }

    #[test]
    fn the_capacity_in_requests_per_second_is_found_within_the_step(
        start_per_s in 0.001_f64..1000.0,
        times in 1.0_f64..10_000.0,
        capacity in 1e-5_f64..1e7,
        step_ratio in 0.001_f64..1.0,
    ) {
        let most_per_s = start_per_s * times;
        let spec = SearchSpec::Rates { start_per_s, most_per_s, step_ratio };
        let search = search(spec, capacity);
        prop_assert!(search.probes().len() <= 40);
        let found = search.found();
        match (found.highest_held, found.lowest_failed) {
            (Some(held), Some(failed)) => {
                prop_assert!(held <= capacity && capacity < failed);
                prop_assert!(failed <= held * (1.0 + step_ratio));
            }
            (Some(held), None) => prop_assert!(held == most_per_s && most_per_s <= capacity),
            (None, failed) => prop_assert!(capacity < failed.unwrap() && failed.unwrap() <= start_per_s / 1024.0),
        }
    }

    #[test]
    fn a_server_that_answers_by_chance_ends_the_search_too(
        spec in prop_oneof![Just(clients(7, 1000)), Just(RATES)],
        answers in prop::collection::vec(any::<bool>(), 100),
    ) {
        let mut search = Search::new(spec, 1.0).unwrap();
        let mut answers = answers.into_iter();
        while let Some(load) = search.next_load() {
            prop_assert!(search.probes().iter().all(|probe| probe.load != load), "none is probed twice");
            search.record(load, if answers.next().unwrap() { 1.0 } else { 0.0 });
        }
        let found = search.found();
        prop_assert!(found.highest_held.is_none_or(|held| found.lowest_failed.is_none_or(|failed| held < failed)));
    }
}
