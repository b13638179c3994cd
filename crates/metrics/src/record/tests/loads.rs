//! What was offered by loads of every shape, and what of it was late, cut or never sent.

use streamgauge_schema::{Arrivals, ClientStage, LoadShape, RateStage, StageReport};

use super::*;

fn stage(planned: u64, sent: u64, late: u64) -> StageReport {
    StageReport { planned, sent, late, unsent: planned - sent, valid: planned == sent }
}

fn rate(from_per_s: f64, to_per_s: f64, duration_ms: Option<u64>, requests: u64) -> RateStage {
    RateStage { from_per_s, to_per_s, duration_ms, requests }
}

/// An open loop of ten requests a second, each of which starts so long after it was due.
fn starting_behind(delays_ms: &[u64]) -> Run {
    let line = |(n, delay)| due(succeeded(n, 100 * n + delay, &[30, 50], 5), 100 * n, None);
    let lines: Vec<RequestLine> = (0..).zip(delays_ms.iter().copied()).map(line).collect();
    Run { plan: open_loop(lines.len() as u64, 10.0, None), lines, ended: true }
}

/// A closed loop of two clients that time ends, and that had sent so many requests by then.
fn ended_by_time(sent: u64, at_most: u64, duration_ms: u64) -> Run {
    let mut plan = plan(at_most, 2);
    plan.load.duration_ms = Some(duration_ms);
    let lines = (0..sent).map(|n| succeeded(n, 50 * n, &[50, 100], 5)).collect();
    Run { plan, lines, ended: true }
}

#[test]
fn what_a_closed_loop_sent_within_its_time_is_what_was_due() {
    let record = ended_by_time(6, 1_000_000, 300).record();
    assert_sound(&record);
    let load = &record.load;
    assert_eq!((load.offered, load.succeeded, load.not_sent), (6, 6, 0));
    assert_eq!((record.status, load.performance_eligible), (RunStatus::Completed, true));
    assert_eq!((load.late_after_ms, load.stages.len()), (None, 0));
    assert_eq!(record.counts.declared, 6);
    assert_eq!(record.cases.as_ref().unwrap().len(), 6);

    // Two clients that take their numbers at once may leave one out at the end.
    let mut gap = ended_by_time(6, 1_000_000, 300);
    gap.lines[5].index = 7;
    let record = gap.record();
    assert_sound(&record);
    assert_eq!((record.load.offered, record.status), (6, RunStatus::Completed));
    let cases = record.cases.unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.case_id.as_str()).collect();
    assert_eq!(names[4..], ["request-05", "request-08"]);

    // Without an end, whatever came before the last one was due.
    gap.ended = false;
    let record = gap.record();
    assert_sound(&record);
    assert_eq!((record.load.offered, record.load.not_sent), (8, 2));
    assert_eq!(record.performance.observed_peak_inflight, None);
    assert!(!record.load.performance_eligible);
    assert!(says(&record, "never sent or lost under way: 2"));
}

#[test]
fn a_loop_that_was_stopped_is_aborted_although_nothing_is_missing() {
    let run = ended_by_time(6, 1_000_000, 60_000);
    let header = header(&run.plan);
    let record = |reason, plan: &Plan| {
        let header =
            JournalHeader { plan_sha256: Digest::of_value(plan).unwrap(), ..header.clone() };
        let trailer = JournalTrailer {
            reason,
            completed_at: header.started_at,
            lines: 6,
            listed_models: None,
        };
        build_record(&RunInput {
            plan,
            header: &header,
            requests: &run.lines,
            trailer: Some(&trailer),
            grades: None,
            evidence: Vec::new(),
        })
        .unwrap()
    };
    let mut limited = run.plan.clone();
    limited.limits.max_error_ratio = Some(0.05);
    let cases = [
        (EndReason::Interrupted, &run.plan, "The run was stopped. Requests cut under way: 0;"),
        (
            EndReason::ErrorRate,
            &limited,
            "The run was stopped: more than a share of 0.05 of the requests that had ended had \
             failed. Requests cut under way: 0; never sent: 0.",
        ),
        (EndReason::ErrorRate, &run.plan, "The run was stopped: more of the requests that had"),
    ];
    for (reason, plan, sentence) in cases {
        let record = record(reason, plan);
        assert_sound(&record);
        assert_eq!((record.status, record.load.offered), (RunStatus::Aborted, 6));
        assert!(!record.load.performance_eligible);
        assert!(record.limitations[0].as_str().starts_with(sentence), "{:?}", record.limitations);
    }
    assert_eq!(record(EndReason::Finished, &run.plan).status, RunStatus::Completed);
}

#[test]
fn a_load_that_its_limit_ended_before_its_time_says_so() {
    // Of six requests the last starts at 250 ms, and the one before it ends at 300 ms.
    let cases = [(6, 6, 301, true), (6, 6, 300, false), (6, 7, 301, false)];
    for (sent, at_most, duration_ms, expected) in cases {
        let record = ended_by_time(sent, at_most, duration_ms).record();
        let sentence = "The last of 6 requests, the most that were allowed, began 250.0 ms after the first: the \
             load ended before its 301 ms had passed.";
        assert_eq!(says(&record, sentence), expected, "{sent} of {at_most} in {duration_ms} ms");
    }
}

#[test]
fn late_is_what_starts_more_than_a_millisecond_behind() {
    let mut run = starting_behind(&[0, 1, 2, 0]);
    run.lines[2].started_us -= 999;
    run.lines[2].last_attempt_started_us -= 999;
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.load.late_after_ms.unwrap().value(), 1.0);
    assert_eq!(record.load.stages, [stage(4, 4, 1)]);
    assert!(says(
        &record,
        "Requests that started more than 1.0 ms behind their due time: 1 of 4, up to 1.001 ms; held \
         back by the limit of requests under way: 0."
    ));
    assert!(record.load.performance_eligible);
    assert!(!says(&starting_behind(&[0, 1, 1]).record(), "behind their due time"));
}

#[test]
fn a_request_belongs_to_the_stage_that_its_place_is_in() {
    let mut run = starting_behind(&[0, 250, 0, 5, 0, 0, 0]);
    let stages = vec![rate(10.0, 20.0, Some(300), 3), rate(10.0, 10.0, Some(0), 0)];
    run.plan.load.shape = LoadShape::OpenLoop {
        arrivals: Arrivals::Poisson { seed: 7 },
        max_concurrency: None,
        stages: stages.into_iter().chain([rate(10.0, 10.0, Some(400), 4)]).collect(),
    };
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.load.stages, [stage(3, 3, 1), stage(0, 0, 0), stage(4, 4, 1)]);

    // The time of the load was over before the last two could be sent.
    run.plan.load.duration_ms = Some(700);
    run.lines.truncate(5);
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.load.stages, [stage(3, 3, 1), stage(0, 0, 0), stage(4, 2, 1)]);
    assert_eq!((record.load.offered, record.load.not_sent), (7, 2));
    assert_eq!((record.status, record.load.performance_eligible), (RunStatus::Aborted, false));
    let expected = [
        "The time of the load was over. Requests cut under way: 0; never sent: 2.",
        "Stages of the schedule that were not offered: 1 of 3; requests never sent in them: 2 of 4.",
    ];
    assert_eq!([0, 1].map(|at: usize| record.limitations[at].as_str()), expected);

    // Without an end of the journal they may have been under way.
    run.ended = false;
    let record = run.record();
    assert_sound(&record);
    let expected = [
        "The run was cut off: its journal has no end. Requests cut under way: 0; never sent or lost \
         under way: 2.",
        "Stages of the schedule that are not known to have been offered: 1 of 3; requests never sent \
         or lost under way in them: 2 of 4.",
    ];
    assert_eq!([0, 1].map(|at: usize| record.limitations[at].as_str()), expected);
}

#[test]
fn a_trace_is_one_stage() {
    let mut run = starting_behind(&[0, 0, 40]);
    run.plan.load.shape = LoadShape::Trace { max_concurrency: None, span_ms: 200 };
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.load.stages, [stage(3, 3, 1)]);
    assert_eq!(record.load.shape.as_str(), "trace");
    // Every line may be lost.
    run.lines.clear();
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.load.stages, [stage(3, 0, 0)]);
    assert_eq!(record.instrument.dispatch_lateness_ms, None);
}

#[test]
fn closed_loops_have_nothing_from_a_schedule() {
    let record = Run::of_three().record();
    let of_schedule = |id: &str| id.contains("from_schedule") || id.contains("queue_delay");
    assert!(!record.metrics.iter().any(|metric| of_schedule(metric.id.as_str())));
    let record = starting_behind(&[0, 5, 10]).record();
    let cases = [
        ("ttft_p50_ms", 30.0),
        ("ttft_from_schedule_p50_ms", 35.0),
        ("e2e_mean_ms", 50.0),
        ("e2e_from_schedule_mean_ms", 55.0),
        ("queue_delay_p50_ms", 5.0),
        ("queue_delay_mean_ms", 5.0),
    ];
    for (id, value) in cases {
        assert_eq!(metric(&record, id).value, Some(value), "{id}");
    }
}

#[test]
fn the_steady_window_of_an_open_loop() {
    // Due at 0, 100, … 1,900 ms, 50 ms each.
    let record = starting_behind(&[0; 20]).record();
    assert_sound(&record);
    let steady = record.windows.steady.unwrap();
    assert_eq!((steady.from_ms.value(), steady.to_ms.value()), (50.0, 1_900.0));
    assert_eq!(steady.mean_inflight, 18.0 * 50.0 / 1_850.0);

    // Not before anything was sent.
    let record = starting_behind(&[70; 20]).record();
    assert_sound(&record);
    assert_eq!(record.windows.steady.unwrap().from_ms.value(), 70.0);

    // Five median latencies, less a microsecond.
    let mut short = starting_behind(&[0; 4]);
    assert!(short.record().windows.steady.is_some());
    for line in &mut short.lines {
        line.elapsed_us = 50_001;
        line.observation.as_mut().unwrap().elapsed_us = 50_001;
    }
    let record = short.record();
    assert_sound(&record);
    assert_eq!(record.windows.steady, None);
    assert!(!record.metrics.iter().any(|metric| metric.id.as_str().contains("steady")));
}

#[test]
fn a_load_that_changes_has_no_steady_window() {
    let steady = |shape| {
        let mut run = starting_behind(&[0; 20]);
        run.plan.load.shape = shape;
        run.record().windows.steady.is_some()
    };
    let open = |stages| LoadShape::OpenLoop {
        arrivals: Arrivals::Constant {},
        max_concurrency: None,
        stages,
    };
    assert!(steady(open(vec![rate(10.0, 10.0, Some(2_000), 20)])));
    assert!(steady(LoadShape::Trace { max_concurrency: None, span_ms: 1_900 }));
    assert!(!steady(open(vec![rate(5.0, 15.0, Some(2_000), 20)])));
    assert!(!steady(open(vec![rate(10.0, 10.0, None, 10), rate(20.0, 20.0, None, 10)])));

    let mut run = ended_by_time(20, 100, 2_000);
    assert!(run.record().windows.steady.is_some());
    let clients = ClientStage { from_clients: 2, to_clients: 2, duration_ms: 2_000 };
    run.plan.load.shape = LoadShape::ClosedStages { stages: vec![clients] };
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.windows.steady, None);
}

/// The window begins with the second client and ends with the last start.
#[test]
fn metrics_of_the_steady_window() {
    let mut lines: Vec<RequestLine> =
        (0..20).map(|n| succeeded(n, 100 * n, &[100, 200], 2)).collect();
    // Outside: the first, and the last, which begins as the window ends.
    lines[0] = succeeded(0, 0, &[10, 200], 2);
    lines[19] = succeeded(19, 1_900, &[900, 1_000], 500);
    lines[5] = refused(5, 500, 200);
    let record = Run { plan: plan(20, 2), lines, ended: true }.record();
    assert_sound(&record);
    let cases = [
        ("request_throughput_steady_per_s", 17.0 / 1.8, 18, 0),
        ("completion_throughput_steady_tok_per_s", 34.0 / 1.8, 18, 0),
        ("ttft_steady_p99_ms", 100.0, 17, 0),
        ("e2e_steady_p50_ms", 200.0, 17, 0),
        ("tpot_steady_mean_ms", 100.0, 17, 0),
        ("chunk_interval_steady_mean_ms", 100.0, 17, 0),
        ("decode_rate_steady_p50_tok_per_s", 10.0, 17, 0),
    ];
    for (id, value, samples, missing) in cases {
        let found = metric(&record, id);
        let seen = (found.value, found.samples, found.missing);
        assert_eq!(seen, (Some(value), samples, missing), "{id}");
        assert_eq!(found.window, streamgauge_schema::WindowName::Steady);
        assert!(found.definition.as_str().contains("in windows.steady (its end left out)"));
        assert!(found.population.as_str().ends_with("; of the steady window"));
    }
    assert_eq!(metric(&record, "ttft_p99_ms").samples, 19);
}

/// The requests in the order in which they started, due some time before, and never out of order.
fn scheduled(mut lines: Vec<RequestLine>, delays_ms: &[u64], is_capped: bool) -> Vec<RequestLine> {
    lines.sort_by_key(|line| line.started_us);
    let mut last_us = 0;
    let delays_ms = delays_ms.iter().cycle();
    let due = |((index, line), delay_ms): ((u64, RequestLine), &u64)| {
        last_us = line.started_us.saturating_sub(delay_ms * 1000).max(last_us);
        let delay_us = line.started_us - last_us;
        RequestLine {
            index,
            scheduled_us: Some(last_us),
            queued_us: is_capped.then_some(delay_us / 2),
            ..line
        }
    };
    (0..).zip(lines).zip(delays_ms).map(due).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_journal_of_a_schedule_gives_a_sound_record(
        lines in any_lines(),
        delays_ms in prop::collection::vec(0_u64..300, 1..8),
        limits_ms in (0_u32..3_000, 0_u32..9_000),
        split in 0_u64..30,
        unsent in 0_u64..3,
        is_capped in any::<bool>(),
    ) {
        use streamgauge_schema::{Goal, GoalQuantity};
        let requests = lines.len() as u64 + unsent;
        let split = split.min(requests);
        let mut plan = open_loop(requests, 10.0, is_capped.then_some(30));
        let goal = |quantity, limit_ms: u32| Goal { quantity, limit_ms: limit_ms.into() };
        plan.goals =
            vec![goal(GoalQuantity::Ttft, limits_ms.0), goal(GoalQuantity::E2e, limits_ms.1)];
        if let LoadShape::OpenLoop { stages, .. } = &mut plan.load.shape && split > 0 {
            *stages = vec![rate(10.0, 10.0, None, split), rate(10.0, 10.0, None, requests - split)];
        }
        let lines = scheduled(lines, &delays_ms, is_capped);
        let mut run = Run { plan, lines, ended: true };
        let record = run.record();
        assert_sound(&record);
        run.lines.reverse();
        prop_assert_eq!(bytes(&run.record()), bytes(&record));
    }
}
