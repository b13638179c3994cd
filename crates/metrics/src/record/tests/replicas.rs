//! Runs that went to several addresses.

use streamgauge_schema::{Replica, ReplicaReport};

use super::*;
use crate::compare::{CompareError, InsecureRuns, MatchingCondition, compare_point};

/// Four requests to each of two addresses; the second's lines as they are given.
fn run_of(weights: &[u64], line: impl Fn(u64) -> RequestLine) -> Run {
    let mut plan = plan(8, 1);
    plan.max_failure_ratio = 1.0;
    let replica = |(weight, port): (&u64, u16)| Replica {
        base_url: format!("http://10.0.0.1:{port}"),
        weight: *weight,
    };
    plan.target.replicas = weights.iter().zip(8000..).map(replica).collect();
    Run { plan, lines: (0..8).map(line).collect(), ended: true }
}

fn of_two(line: impl Fn(u64) -> RequestLine) -> Run {
    run_of(&[1, 1], line)
}

/// One answers in 200 ms, and the other in 400 with twice as many tokens.
fn answered(index: u64) -> RequestLine {
    match index % 2 {
        0 => succeeded(index, 500 * index, &[100, 200], 10),
        _ => succeeded(index, 500 * index, &[200 + index, 400], 20),
    }
}

#[test]
fn each_address_has_its_requests_and_their_times() {
    let record = of_two(answered).record();
    assert_sound(&record);
    let [first, second] = &record.replicas[..] else { panic!("two") };
    let whole = |ms| Some(Spread { median: ms, p99: ms, max: ms });
    assert_eq!((first.name.as_str(), second.name.as_str()), ("replica-1", "replica-2"));
    assert_eq!((first.offered, first.succeeded, first.weight), (4, 4, 1));
    assert_eq!((first.ttft_ms, first.e2e_ms), (whole(100.0), whole(200.0)));
    // 201, 203, 205 and 207 ms.
    assert_eq!(second.ttft_ms.map(|it| (it.median, it.max)), Some((204.0, 207.0)));
    // 40 and 80 tokens in the 3.9 s of the batch.
    let rates = [first, second].map(|it| it.completion_tok_per_s);
    assert_eq!(rates, [Some(40.0 / 3.9), Some(80.0 / 3.9)]);
    assert_eq!(condition(&record, "Addresses"), Some("2, of equal weight"));
    assert!(!says(&record, "No request succeeded at"));
}

#[test]
fn weights_decide_whose_turn_it_is() {
    let record = run_of(&[3, 1], answered).record();
    assert_sound(&record);
    let offered: Vec<u64> = record.replicas.iter().map(|it| it.offered).collect();
    assert_eq!(offered, [6, 2]);
    assert_eq!(condition(&record, "Addresses"), Some("2, of weights 3, 1"));
    let many: Vec<u64> = (0..100).map(|n| 1 + n % 2).collect();
    let said = run_of(&many, answered).record();
    let said = condition(&said, "Addresses").unwrap();
    assert!(said.starts_with("100, of weights SHA-256 "), "{said}");
}

#[test]
fn one_that_failed_all_of_its_requests_is_said() {
    let dead = |index| match index % 2 {
        0 => answered(index),
        _ => refused(index, 500 * index, 3),
    };
    let record = of_two(dead).record();
    assert_sound(&record);
    let ReplicaReport { failed, completion_tok_per_s, ttft_ms, .. } = record.replicas[1];
    assert_eq!((failed, completion_tok_per_s, ttft_ms), (4, Some(0.0), None));
    assert!(says(&record, "No request succeeded at replica-2 (sent there: 4), while others did"));
    let all = of_two(|index| refused(index, 500 * index, 3)).record();
    assert_sound(&all);
    assert!(!says(&all, "No request succeeded at"));
}

#[test]
fn what_was_not_sent_had_an_address_too() {
    let mut run = of_two(answered);
    run.lines.truncate(3);
    for ended in [true, false] {
        run.ended = ended;
        let record = run.record();
        assert_sound(&record);
        let counts: Vec<_> = record.replicas.iter().map(|it| (it.succeeded, it.not_sent)).collect();
        assert_eq!(counts, [(2, 2), (1, 3)]);
    }
    // Nothing was sent to the second.
    run.lines.truncate(1);
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.replicas[1].completion_tok_per_s, None);
}

#[test]
fn a_load_that_time_ends_offered_what_was_sent() {
    let mut run = of_two(answered);
    run.plan.load.duration_ms = Some(10_000);
    run.lines.remove(5);
    let record = run.record();
    assert_sound(&record);
    let offered: Vec<_> = record.replicas.iter().map(|it| (it.offered, it.not_sent)).collect();
    assert_eq!(offered, [(4, 0), (3, 0)]);
}

#[test]
fn tokens_that_one_does_not_tell_are_unknown_of_it_and_the_whole() {
    let mut run = of_two(answered);
    run.lines[1].observation.as_mut().unwrap().usage = None;
    let record = run.record();
    assert_sound(&record);
    let known: Vec<bool> =
        record.replicas.iter().map(|it| it.completion_tok_per_s.is_some()).collect();
    assert_eq!(known, [true, false]);
    assert_eq!(metric(&record, "completion_throughput_tps").value, None);
}

#[test]
fn other_addresses_or_weights_are_another_load() {
    let record = |weights: &[u64]| {
        let record = run_of(weights, answered).record();
        [RunRecord::V2(Box::new(record))]
    };
    let mut one = of_two(answered);
    one.plan.target.replicas.clear();
    let one = [RunRecord::V2(Box::new(one.record()))];
    let two = record(&[1, 1]);
    let compare =
        |old: &[RunRecord], new: &[RunRecord]| compare_point(old, new, &[], InsecureRuns::Refused);
    assert!(compare(&two, &two).is_ok());
    for other in [one, record(&[2, 1]), record(&[1, 1, 1])] {
        let refused = compare(&two, &other).unwrap_err();
        let CompareError::Differing { differences } = &refused else { panic!("{refused:?}") };
        let [only] = &differences[..] else { panic!("{differences:?}") };
        assert_eq!(only.condition, MatchingCondition::LoadShape);
        assert!(only.baseline.ends_with("; addresses: 2, of equal weight"), "{}", only.baseline);
    }
}

#[test]
fn no_address_stands_in_a_record() {
    let at_places = || {
        let mut run = of_two(answered);
        run.plan.target.base_url = "https://gpu1.lab.example".to_owned();
        run.plan.target.replicas[0].base_url = run.plan.target.base_url.clone();
        run.plan.target.replicas[1].base_url = "https://gpu2.lab.example:8000/v1".to_owned();
        run
    };
    let record = at_places().record();
    let text = String::from_utf8(bytes(&record)).unwrap();
    assert!(!text.contains("lab.example"), "{text}");
    assert_eq!(condition(&record, "TLS trust"), Some("Certificate authorities of the platform"));
    let mut named = at_places();
    named.plan.name = Identifier::new("gpu2.lab.example").unwrap();
    assert_eq!(named.build().unwrap_err(), RecordError::NamesServer { member: "name" });
    let mut said = at_places();
    for line in &mut said.lines {
        line.observation.as_mut().unwrap().returned_models = vec!["gpu2.lab.example".to_owned()];
    }
    let said = said.record();
    assert_eq!(condition(&said, "Models returned"), Some("Withheld: it names the server's host"));
}

#[test]
fn addresses_that_contradict_themselves_are_refused() {
    type Change = fn(&mut Plan);
    let cases: [(Change, &str); 5] = [
        (|plan| drop(plan.target.replicas.pop()), "holds at least two addresses"),
        (|plan| plan.target.base_url = "http://h:1".into(), "and base_url is the first"),
        (|plan| plan.target.replicas[1].weight = 0, "whole numbers from 1"),
        (
            |plan| plan.target.replicas[1].base_url = plan.target.base_url.clone(),
            "holds an address twice",
        ),
        (
            |plan| plan.instrument.server_metrics = Some("/metrics".into()),
            "are asked of one address",
        ),
    ];
    for (change, contradiction) in cases {
        let mut run = of_two(answered);
        change(&mut run.plan);
        let error = run.build().unwrap_err().to_string();
        assert!(error.contains(contradiction), "{error}");
    }
}
