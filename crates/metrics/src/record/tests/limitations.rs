//! What records say of what their figures do not say.

use super::*;
use crate::sample_run::ended;

type Change = fn(&mut Run);

#[test]
fn limitations_are_computed() {
    let plain = Run::of_three().record();
    let changes: [(&str, Change); 21] = [
        ("A simulated server answered", |run| run.plan.evidence_mode = EvidenceMode::Simulated),
        ("Saved streams were read again", |run| run.plan.evidence_mode = EvidenceMode::Replayed),
        ("share their prompt with another: 2 of 3", |run| run.plan.workload.repeated_prompts = 2),
        ("passed over: 2 (responses with any: 1)", |run| {
            anomaly(run, AnomalyKind::InvalidJson, 2);
        }),
        ("came as one body instead of a stream: 1;", |run| {
            let seen = observation(&[], 5);
            run.lines[0].observation = Some(Observation { whole_body_output: true, ..seen });
            run.lines[0] = ended(run.lines[0].clone(), 1_000_000);
        }),
        ("reasoning which was not streamed: 1;", |run| {
            anomaly(run, AnomalyKind::HiddenReasoning, 1)
        }),
        ("a think tag in their content: 1;", |run| {
            run.lines[0].observation.as_mut().unwrap().think_tag_in_content = true;
        }),
        ("without usable usage: 2 of 3;", |run| {
            run.lines[0].observation.as_mut().unwrap().usage = None;
            zero_tokens(&mut run.lines[1]);
        }),
        ("whose usage says 0 tokens: 2; they count as without usage.", |run| {
            run.lines[..2].iter_mut().for_each(zero_tokens);
        }),
        ("than the 128 that were asked for: 1;", |run| {
            let seen = run.lines[0].observation.as_mut().unwrap();
            seen.usage.as_mut().unwrap().completion_tokens = Some(1 << 53);
        }),
        ("an earlier final report: 3 (responses with any: 1);", |run| {
            anomaly(run, AnomalyKind::UsageDisagrees, 3);
        }),
        ("fell from one event to a later one: 4 (responses with any: 1);", |run| {
            anomaly(run, AnomalyKind::FallingCounter, 4);
        }),
        ("output came mostly in bundles: 1 (events in bundles: 12);", |run| {
            anomaly(run, AnomalyKind::CoalescedStream, 12);
        }),
        ("Warm-up requests that did not succeed: 4 of 4; the engine may have been colder", |run| {
            warm_up(run, 4, &[false; 4]);
        }),
        ("Warm-up requests that did not succeed: 1 of 4;", |run| {
            warm_up(run, 4, &[true, false, true, true]);
        }),
        ("Warm-up requests that did not succeed: 2 of 4;", |run| {
            run.ended = false;
            warm_up(run, 4, &[true, true]);
        }),
        (
            "The run was cut off: its journal has no end. Requests cut under way: 0; never sent or \
             lost under way: 0.",
            |run| run.ended = false,
        ),
        ("without usable usage: 1 of 3;", |run| {
            run.lines[0].observation.as_mut().unwrap().usage = None;
        }),
        ("exactly the expected model: 1;", |run| {
            run.lines[0].observation.as_mut().unwrap().returned_models.clear();
        }),
        ("target of 600 tokens by the server's count: 3; more than 2 percent: 3", |run| {
            run.plan.workload.target_input_tokens = Some(600);
        }),
        ("took from a cache: 100 of 512", |run| {
            let seen = run.lines[0].observation.as_mut().unwrap();
            seen.usage.as_mut().unwrap().cached_tokens = Some(100);
        }),
    ];
    for (sentence, change) in changes {
        assert!(!says(&plain, sentence), "{sentence}");
        let mut run = Run::of_three();
        change(&mut run);
        let record = run.record();
        assert!(says(&record, sentence), "{sentence}: {:#?}", record.limitations);
        assert_sound(&record);
    }
    assert!(says(&plain, "any quantile, the median included: 3 of the 20 needed"));
    assert!(says(&plain, "lag was not measured"));
    let mut warm = Run::of_three();
    warm_up(&mut warm, 2, &[true, true]);
    assert!(!says(&warm.record(), "Warm-up"));
}

/// Puts warm-up lines before the run, some of which did not succeed.
fn warm_up(run: &mut Run, declared: u64, succeed: &[bool]) {
    run.plan.load.warmup = declared;
    run.lines.extend((0..).zip(succeed).map(|(index, succeeds)| RequestLine {
        stage: Stage::Warmup,
        ..if *succeeds { succeeded(index, 0, &[10, 20], 3) } else { refused(index, 0, 3) }
    }));
}

fn zero_tokens(line: &mut RequestLine) {
    let usage = line.observation.as_mut().unwrap().usage.as_mut().unwrap();
    usage.completion_tokens = Some(0);
}

fn anomaly(run: &mut Run, kind: AnomalyKind, count: u64) {
    let seen = run.lines[0].observation.as_mut().unwrap();
    seen.anomalies.push(Anomaly { kind, count, first_offset: 17 });
}

#[test]
fn what_may_mislead_most_comes_first() {
    let mut run = Run::of_three();
    run.plan = plan(6, 2);
    run.plan.evidence_mode = EvidenceMode::Simulated;
    run.lines[0].observer_lag_us = Some(vec![9_000]);
    run.lines[1] = refused(1, 110, 4);
    run.lines[2].observation.as_mut().unwrap().usage = None;
    anomaly(&mut run, AnomalyKind::InvalidJson, 1);
    run.ended = false;
    warm_up(&mut run, 1, &[false]);
    let record = run.record();
    let expected = [
        "A simulated server answered: the figures describe no model and no deployment.",
        "The run was cut off: its journal has no end. Requests cut under way: 0; never sent or \
         lost under way: 3.",
        "Requests that did not succeed: 4 of 6 (none may fail); no gate on the figures passes.",
        "Metrics that the client's own delay may have bent: 49 (named in \
         instrument.client_limited); no gate on them passes. Give the client more CPU or a machine \
         of its own, or lower the load.",
        "Warm-up requests that did not succeed: 1 of 1; the engine may have been colder than it \
         seems.",
        "Measured requests whose prompt was already sent in the warm-up: 1; a cache may have served \
         them.",
        "Responses with output but without usable usage: 1 of 2; token throughput has no value, \
         and TPOT and decode rate leave them out.",
        "Malformed stream events that were passed over: 1 (responses with any: 1).",
        "Too few succeeded requests for a stable estimate of any quantile, the median included: 2 \
         of the 20 needed.",
        "Nothing graded the answers: a succeeded request is a complete stream with output, not a \
         correct answer.",
        "One run says nothing about the noise between runs; a difference from another run is no \
         finding yet.",
        "Client concurrency is a limit of the client; observed overlap counts its request spans, \
         not sequences active on the server.",
        "A stream event can hold several tokens: chunk intervals are not per-token latencies.",
        "Intervals beside quantiles treat requests as independent, which under queueing they are \
         not.",
    ];
    let found: Vec<&str> = record.limitations.iter().map(PublicText::as_str).collect();
    assert_eq!(found, expected);
}
