//! The time basis, and responses whose single arrivals were not kept.

use streamgauge_schema::{IntervalSummary, KernelStamps, TimeBasis};

use super::*;

/// The three requests with kernel stamps: each output event 10 ms after its bytes, the end 5 ms.
fn stamped() -> Run {
    let mut run = Run::of_three();
    run.plan.instrument.kernel_stamps = KernelStamps::All;
    for line in &mut run.lines {
        let events = line.observation.as_ref().unwrap().arrivals_us.len();
        line.observer_lag_us = Some(vec![10_000; events + 1]);
        (line.output_lags_us, line.end_lag_us) = (Some(vec![10_000; events]), Some(10_000));
    }
    run
}

#[test]
fn both_bases_come_from_one_run() {
    let mut run = stamped();
    let by_read = run.record();
    run.plan.instrument.time_basis = TimeBasis::Kernel;
    let by_kernel = run.record();
    for (record, basis, ttft, e2e, batch) in [
        (&by_read, TimeBasis::Read, 110.0, 210.0, 1.0),
        (&by_kernel, TimeBasis::Kernel, 100.0, 200.0, 0.99),
    ] {
        assert_sound(record);
        assert_eq!(record.instrument.time_basis, basis);
        assert_eq!(condition(record, "Time basis"), Some(basis.as_str()));
        assert_eq!(metric(record, "ttft_p50_ms").value, Some(ttft));
        assert_eq!(metric(record, "e2e_p50_ms").value, Some(e2e));
        assert_eq!(metric(record, "completion_median_ms").value, Some(e2e));
        assert_eq!(metric(record, "batch_duration_seconds").value, Some(batch));
        assert_eq!(metric(record, "chunk_interval_p50_ms").value, Some(100.0));
        assert!(!says(record, "without a kernel receive stamp"));
    }
    let durations = |record: &RunRecordV2| {
        let cases = record.cases.as_ref().unwrap().iter();
        cases.map(|case| case.duration_ms.map(|ms| ms.value())).collect::<Vec<_>>()
    };
    assert_eq!(durations(&by_kernel), [Some(990.0), Some(180.0), Some(200.0)]);
    assert_ne!(by_read.run_id, by_kernel.run_id);
}

#[test]
fn without_stamps_a_request_has_no_times_by_the_kernels_clock() {
    let mut run = stamped();
    run.plan.instrument.time_basis = TimeBasis::Kernel;
    (run.lines[0].output_lags_us, run.lines[0].end_lag_us) = (None, None);
    run.lines[1] = refused(1, 110, 4);
    run.plan.max_failure_ratio = 0.5;
    let record = run.record();
    assert_sound(&record);
    assert!(says(
        &record,
        "Requests without a kernel receive stamp for every arrival: 2 of 3; by the kernel's clock \
         they have no latencies."
    ));
    let cases = [
        ("ttft_p50_ms", Some(100.0), 1, 1),
        ("e2e_p50_ms", Some(200.0), 1, 1),
        ("tpot_p50_ms", Some(100.0 / 6.0), 1, 1),
        ("chunk_interval_mean_ms", Some(100.0), 1, 1),
        ("completion_median_ms", Some(200.0), 1, 2),
        ("stream_chunk_interval_max_ms", Some(100.0), 1, 2),
        // Counts need no clock, and the batch ends when the last request does.
        ("completion_throughput_tps", Some(17.0), 3, 0),
        ("batch_duration_seconds", Some(1.0), 1, 0),
    ];
    for (id, value, samples, missing) in cases {
        let found = metric(&record, id);
        let seen = (found.value, found.samples, found.missing);
        assert_eq!(seen, (value, samples, missing), "{id}");
    }
    let cases = record.cases.unwrap();
    assert!(cases[0].duration_ms.is_none() && cases[2].duration_ms.is_some());
}

#[test]
fn the_kernels_clock_needs_stamps_on_every_arrival() {
    for (stamps, kept, fits) in [
        (KernelStamps::All, true, true),
        (KernelStamps::All, false, false),
        (KernelStamps::Sampled, true, false),
    ] {
        let mut run = stamped();
        run.plan.instrument.time_basis = TimeBasis::Kernel;
        run.plan.instrument.kernel_stamps = stamps;
        run.plan.instrument.keep_arrivals = kept;
        let expected = format!(
            "the plan contradicts itself: time_basis is kernel, which needs kernel_stamps all and \
             keep_arrivals true; they are {stamps} and {kept}"
        );
        match run.build() {
            Ok(_) => assert!(fits),
            Err(error) => assert_eq!((error.to_string(), fits), (expected, false)),
        }
    }
}

/// The three requests as they are when only the sums of intervals were kept.
fn summed_up() -> Run {
    let mut run = Run::of_three();
    run.plan.instrument.keep_arrivals = false;
    for line in &mut run.lines {
        let seen = line.observation.as_mut().unwrap();
        let gaps = std::mem::take(&mut seen.arrivals_us).split_off(1);
        seen.chunk_intervals = Some(IntervalSummary {
            count: gaps.len() as u64,
            min_us: *gaps.iter().min().unwrap(),
            max_us: *gaps.iter().max().unwrap(),
            sum_us: gaps.iter().sum(),
        });
    }
    run
}

#[test]
fn where_single_intervals_were_not_kept_mean_and_extremes_are_the_same() {
    let (kept, summed) = (Run::of_three().record(), summed_up().record());
    assert_sound(&summed);
    assert!(says(
        &summed,
        "Single intervals between events were not kept: their quantiles have no"
    ));
    assert!(!says(&kept, "were not kept"));
    let of_single_gaps = |id: &str| {
        let statistics = ["_p", "_stddev", "_min", "_max"];
        let is_of_gaps = statistics.iter().any(|it| id.starts_with(&format!("chunk_interval{it}")));
        let placed = ["stream_chunk_interval_median_ms", "completion_throughput_peak_tok_per_s"];
        is_of_gaps || placed.contains(&id)
    };
    let without = |record: &RunRecordV2| {
        let metrics = record.metrics.iter().cloned();
        metrics.filter(|it| !of_single_gaps(it.id.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(without(&kept), without(&summed));
    let ids = [
        ("chunk_interval_p50_ms", 5),
        ("chunk_interval_p99_ms", 5),
        ("stream_chunk_interval_median_ms", 5),
    ];
    for (id, samples) in ids {
        let (kept, summed) = (metric(&kept, id), metric(&summed, id));
        assert_eq!((kept.samples, kept.missing), (samples, 0), "{id}");
        assert_eq!((summed.value, summed.samples, summed.missing), (None, 0, 3), "{id}");
        assert_eq!(summed.interval, None);
    }
    assert_eq!(metric(&summed, "chunk_interval_mean_ms").value, Some(200.0));
    assert_eq!(metric(&summed, "stream_chunk_interval_max_ms").value, Some(600.0));
    assert_eq!(metric(&summed, "stream_chunk_interval_min_ms").value, Some(100.0));
}

#[test]
fn sums_that_no_intervals_have() {
    type Change = fn(&mut Observation);
    // Content at 200, 300, 400 and 1,000 ms.
    let cases: [(Change, &str); 10] = [
        (
            |seen| seen.arrivals_us = vec![200_000],
            "arrivals_us in number is 1, not_generated in number is 0, the plan keeps no single \
             arrivals",
        ),
        (|seen| seen.generated_events = 5, "generated_events is 5, above output_events: 4"),
        (|seen| seen.output_events = 1, "generated_events is 4, above output_events: 1"),
        (
            |seen| (seen.first_output_us, seen.first_event_us) = (None, None),
            "output_events is 4, from null to 1000000",
        ),
        (|seen| seen.last_output_us = Some(1), "output_events is 4, from 200000 to 1"),
        (
            |seen| seen.chunk_intervals = None,
            "chunk_intervals.count is null, generated_events but for the first is 3",
        ),
        (
            |seen| seen.chunk_intervals.as_mut().unwrap().count = 2,
            "chunk_intervals.count is 2, generated_events but for the first is 3",
        ),
        (
            |seen| seen.chunk_intervals.as_mut().unwrap().sum_us = 1,
            "chunk_intervals.sum_us is 1, the time from first to last generated is 800000",
        ),
        (
            |seen| seen.chunk_intervals.as_mut().unwrap().min_us = 100_001,
            "chunk_intervals has 3 from 100001 to 600000, their sum is 800000",
        ),
        (
            |seen| seen.chunk_intervals.as_mut().unwrap().max_us = 349_999,
            "chunk_intervals has 3 from 100000 to 349999, their sum is 800000",
        ),
    ];
    for (change, expected) in cases {
        let mut run = summed_up();
        change(run.lines[0].observation.as_mut().unwrap());
        let error = run.build().unwrap_err().to_string();
        let expected = format!("measured request 0 of the journal contradicts itself: {expected}");
        assert_eq!(error, expected);
    }
    let mut kept = Run::of_three();
    kept.lines[0].observation.as_mut().unwrap().chunk_intervals =
        Some(IntervalSummary { count: 3, min_us: 1, max_us: 2, sum_us: 4 });
    let error = kept.build().unwrap_err().to_string();
    assert!(error.ends_with("chunk_intervals is there, the plan keeps single arrivals"), "{error}");
}

/// Few events leave few intervals, or none.
#[test]
fn short_responses_without_single_arrivals() {
    let mut run = summed_up();
    for (line, outputs_us) in run.lines.iter_mut().zip([&[][..], &[5_000], &[5_000, 9_000]]) {
        let mut seen = observation(outputs_us, 5);
        seen.arrivals_us.clear();
        seen.elapsed_us = 10_000;
        seen.whole_body_output = outputs_us.is_empty();
        seen.chunk_intervals = (outputs_us.len() == 2).then_some(IntervalSummary {
            count: 1,
            min_us: 4_000,
            max_us: 4_000,
            sum_us: 4_000,
        });
        (line.elapsed_us, line.headers_us, line.observation) = (10_000, None, Some(seen));
    }
    let record = run.record();
    assert_sound(&record);
    let mean = metric(&record, "chunk_interval_mean_ms");
    assert_eq!((mean.value, mean.samples, mean.missing), (Some(4.0), 1, 2));
}
