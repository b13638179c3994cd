//! Tables of what can be asked for, and what becomes of it.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::schedule::Schedule;

const EVEN: Arrivals = Arrivals::Constant {};

fn end(requests: Option<u64>, duration_ms: Option<u64>) -> LoadEnd {
    LoadEnd { requests, duration_ms }
}

fn rates(text: &str, arrivals: Arrivals) -> LoadSpec {
    LoadSpec::Rates { rates: text.parse().unwrap(), arrivals, max_concurrency: None }
}

fn clients(text: &str) -> LoadSpec {
    LoadSpec::Clients(text.parse().unwrap())
}

fn trace(due_us: &[u64]) -> LoadSpec {
    LoadSpec::Trace { due_us: due_us.into(), max_concurrency: None }
}

/// What a plan says of each stage of an open loop: its length and its requests.
fn stages(load: &Load) -> Vec<(Option<u64>, u64)> {
    match &load.shape {
        LoadShape::OpenLoop { stages, .. } => {
            stages.iter().map(|stage| (stage.duration_ms, stage.requests)).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn what_is_written_is_read() {
    let stage =
        |from_per_s, to_per_s, duration_ms| RateStage::new(from_per_s, to_per_s, duration_ms);
    let cases = [
        ("10", Part::Constant(10.0)),
        ("12.5", Part::Constant(12.5)),
        (" 1e3", Part::Constant(1000.0)),
        ("10:30s", Part::Stages(vec![stage(10.0, 10.0, 30_000)])),
        (
            "10:30s, 20:1.5s,20..50:1m,0..1:2h,.5..1.:250ms",
            Part::Stages(vec![
                stage(10.0, 10.0, 30_000),
                stage(20.0, 20.0, 1500),
                stage(20.0, 50.0, 60_000),
                stage(0.0, 1.0, 7_200_000),
                stage(0.5, 1.0, 250),
            ]),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse(), Ok(Rates(expected)), "{text}");
    }
    let stage = |from_clients, to_clients, duration_ms| {
        ClientStage::new(from_clients, to_clients, duration_ms)
    };
    let cases = [
        ("8", Part::Constant(8)),
        ("1..64:60s", Part::Stages(vec![stage(1, 64, 60_000)])),
        ("8:1m,16:1m", Part::Stages(vec![stage(8, 8, 60_000), stage(16, 16, 60_000)])),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse(), Ok(Clients(expected)), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let rate = "is not a number of requests per second";
    let stage = "is not a stage with its length, such as 10:30s";
    let length = "is not a length of at least 1ms, in ms, s, m or h, such as 30s";
    let cases = [
        ("", format!(r#""" {rate}"#)),
        ("fast", format!(r#""fast" {rate}"#)),
        ("10,20", format!(r#""10" {stage}"#)),
        ("10..20", format!(r#""10..20" {stage}"#)),
        ("10:30s,20", format!(r#""20" {stage}"#)),
        ("10:30s,", format!(r#""" {stage}"#)),
        ("10:30", format!(r#""30" {length}"#)),
        ("10:s", format!(r#""s" {length}"#)),
        ("10:0s", format!(r#""0s" {length}"#)),
        ("10:-1s", format!(r#""-1s" {length}"#)),
        ("10:1.5ms", format!(r#""1.5ms" {length}"#)),
        ("10:infs", format!(r#""infs" {length}"#)),
        ("10:nans", format!(r#""nans" {length}"#)),
        ("10:30s:5", format!(r#""30s:5" {length}"#)),
        ("x..20:30s", format!(r#""x" {rate}"#)),
        ("10..20..30:30s", format!(r#""20..30" {rate}"#)),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Rates>().unwrap_err().to_string(), expected);
    }
    for text in ["1.5", "-1", "x"] {
        let expected = format!("{text:?} is not a whole number of clients");
        assert_eq!(text.parse::<Clients>().unwrap_err().to_string(), expected);
    }
}

#[test]
fn requests_of_an_open_loop_are_counted() {
    let poisson = Arrivals::Poisson { seed: 42 };
    let gamma = Arrivals::Gamma { burstiness: 0.5, seed: 42 };
    let cases = [
        (rates("10", EVEN), end(Some(8), None), vec![(None, 8)]),
        (rates("10", EVEN), end(None, Some(1000)), vec![(Some(1000), 10)]),
        (rates("10", EVEN), end(None, Some(1001)), vec![(Some(1001), 11)]),
        // 1.1 × 10 is not 11 in binary, and the request at 10 s is still not below the end.
        (rates("1.1", EVEN), end(None, Some(10_000)), vec![(Some(10_000), 11)]),
        (rates("10", EVEN), end(Some(4), Some(1000)), vec![(Some(1000), 4)]),
        (rates("10", EVEN), end(Some(40), Some(1000)), vec![(Some(1000), 10)]),
        (rates("10", poisson), end(Some(8), None), vec![(None, 8)]),
        (rates("100", poisson), end(None, Some(10_000)), vec![(Some(10_000), 1003)]),
        (rates("100", gamma), end(None, Some(10_000)), vec![(Some(10_000), 976)]),
        (
            rates("10:30s,20:30s,20..50:1m", EVEN),
            end(None, None),
            vec![(Some(30_000), 300), (Some(30_000), 600), (Some(60_000), 2100)],
        ),
        (
            rates("10:30s,20:30s,20..50:1m", EVEN),
            end(Some(350), None),
            vec![(Some(30_000), 300), (Some(30_000), 50)],
        ),
        (rates("10:30s,20:30s", EVEN), end(Some(300), None), vec![(Some(30_000), 300)]),
        // A rate that is too slow for its stage does not begin anew with the next.
        (
            rates("0.3:1s,0.3:1s,0.3:2s", EVEN),
            end(None, None),
            vec![(Some(1000), 1), (Some(1000), 0), (Some(2000), 1)],
        ),
    ];
    for (spec, end, expected) in cases {
        let load = spec.resolve(end, 3).unwrap();
        assert_eq!(stages(&load), expected, "{spec:?} {end:?}");
        assert_eq!(load.requests, expected.iter().map(|(_, requests)| requests).sum::<u64>());
        assert_eq!(load.duration_ms, expected.iter().map(|(length, _)| *length).sum());
        assert_eq!(load.warmup, 3);
        Schedule::new(&load, None).unwrap();
    }
}

#[test]
fn closed_loops_and_traces_end_with_whichever_comes_first() {
    let cases = [
        (clients("8"), end(Some(64), None), ("c8", 64, None)),
        (clients("8"), end(Some(64), Some(1000)), ("c8", 64, Some(1000))),
        (clients("8"), end(None, Some(1000)), ("c8", Load::MAX_REQUESTS, Some(1000))),
        (clients("1..8:8s,8:2s"), end(Some(64), None), ("c1-8_8", 64, Some(10_000))),
        (trace(&[0, 1_500, 2_000_000]), end(None, None), ("trace", 3, None)),
        (trace(&[0, 1_500, 2_000_000]), end(Some(2), None), ("trace", 2, None)),
        (trace(&[0, 1_500, 2_000_000]), end(Some(3), Some(2)), ("trace", 2, Some(2))),
        (trace(&[0, 1_500, 2_000_000]), end(None, Some(2000)), ("trace", 2, Some(2000))),
    ];
    for (spec, end, expected) in cases {
        let load = spec.resolve(end, 0).unwrap();
        let found = (load.cell.as_str(), load.requests, load.duration_ms);
        assert_eq!(found, expected, "{spec:?} {end:?}");
        let times = match &spec {
            LoadSpec::Trace { due_us, .. } => Some(Arc::clone(due_us)),
            _ => None,
        };
        Schedule::new(&load, times).unwrap();
    }
}

#[test]
fn what_cannot_be_carried_out_is_refused() {
    let gamma = |burstiness| Arrivals::Gamma { burstiness, seed: 0 };
    let capped = |spec: LoadSpec| match spec {
        LoadSpec::Rates { rates, arrivals, .. } => {
            LoadSpec::Rates { rates, arrivals, max_concurrency: Some(0) }
        }
        LoadSpec::Trace { due_us, .. } => LoadSpec::Trace { due_us, max_concurrency: Some(0) },
        clients => clients,
    };
    let (none, ten) = (end(None, None), end(Some(10), None));
    let no_end = "nothing ends the load; give a number of requests or a duration";
    let two = "each stage has its own duration, and there is no other beside them";
    let cases = [
        (rates("10", EVEN), none, no_end),
        (clients("8"), none, no_end),
        (rates("10:1s", EVEN), end(None, Some(10)), two),
        (clients("8:1s"), end(None, Some(10)), two),
        (rates("10", EVEN), end(Some(0), None), "0 requests are not within 1 to 10000000"),
        (
            clients("8"),
            end(Some(10_000_001), None),
            "10000001 requests are not within 1 to 10000000",
        ),
        (clients("8"), end(None, Some(0)), "the load of 0 ms is not within 1 to 31536000000 ms"),
        (rates("0", EVEN), ten, "stage 1: 0 requests per second are not a rate above 0"),
        (rates("-1", EVEN), ten, "stage 1: -1 requests per second are not a rate above 0"),
        (rates("nan", EVEN), ten, "stage 1: NaN requests per second are not a rate above 0"),
        (rates("inf", EVEN), ten, "stage 1: inf requests per second are not a rate above 0"),
        (
            rates("1:1s,2..-1:1s", EVEN),
            none,
            "stage 2: -1 requests per second are not a rate above 0",
        ),
        (rates("1e9:1s", EVEN), none, "more than 10000000 requests are due before the load ends"),
        (rates("1e300:1s", EVEN), none, "more than 10000000 requests are due before the load ends"),
        (
            rates("0.001:1s", Arrivals::Poisson { seed: 0 }),
            none,
            "no request is due before the load ends",
        ),
        (
            rates("1e-9", EVEN),
            ten,
            "the load of 10000000000000 ms is not within 1 to 31536000000 ms",
        ),
        (
            rates("1:9000h", EVEN),
            none,
            "stage 1 of 32400000000 ms is not within 1 to 31536000000 ms",
        ),
        (
            rates("1:8000h,1:8000h", EVEN),
            none,
            "the load of 57600000000 ms is not within 1 to 31536000000 ms",
        ),
        (rates("1", gamma(0.0)), ten, "burstiness 0 is not within 0.001 to 1000000"),
        (rates("1", gamma(f64::NAN)), ten, "burstiness NaN is not within 0.001 to 1000000"),
        (clients("0"), ten, "stage 1: 0 clients are not within 1 to 1000000"),
        (clients("1..8:1s,0:1s"), ten, "stage 2: 0 clients are not within 1 to 1000000"),
        (clients("1..2000000:1s"), ten, "stage 1: 2000000 clients are not within 1 to 1000000"),
        (capped(rates("1", EVEN)), ten, "max_concurrency 0 lets no request begin"),
        (capped(trace(&[0])), ten, "max_concurrency 0 lets no request begin"),
        (
            trace(&[0, 5]),
            ten,
            "the load's number of requests is 10, and its trace's number of lines is 2",
        ),
        (trace(&[]), none, "no request is due before the load ends"),
        (trace(&[5_000]), end(None, Some(5)), "no request is due before the load ends"),
        (
            trace(&[0, 5, 4]),
            none,
            "request 2 of the trace is due at 4 µs, before the one in front of it",
        ),
    ];
    for (spec, end, expected) in cases {
        assert_eq!(spec.resolve(end, 0).unwrap_err().to_string(), expected, "{spec:?} {end:?}");
    }
}

#[test]
fn warm_up_requests_have_a_limit() {
    let resolve = |warmup| clients("8").resolve(end(Some(1), None), warmup);
    let load = resolve(Load::MAX_REQUESTS).unwrap();
    let error = resolve(Load::MAX_REQUESTS + 1).unwrap_err();
    assert_eq!(error.to_string(), "10000001 warm-up requests are more than 10000000");
    let load = Load { warmup: load.warmup + 1, ..load };
    assert_eq!(Schedule::new(&load, None).unwrap_err(), error);
}

fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        Just(EVEN),
        any::<u64>().prop_map(|seed| Arrivals::Poisson { seed }),
        (0.05..20.0, any::<u64>())
            .prop_map(|(burstiness, seed)| Arrivals::Gamma { burstiness, seed }),
    ]
}

fn any_stages() -> impl Strategy<Value = Vec<RateStage>> {
    let stage = (0.0..200.0, 0.1..200.0, any::<bool>(), 1_u64..3000).prop_map(
        |(one, other, even, length)| RateStage::new(if even { other } else { one }, other, length),
    );
    prop::collection::vec(stage, 1..5)
}

proptest! {
    #[test]
    fn due_times_are_ordered_within_their_stages_and_as_many_as_planned(
        arrivals in any_arrivals(),
        stages in any_stages(),
        limit in prop::option::of(1_u64..400),
    ) {
        let spec = LoadSpec::Rates { rates: Rates(Part::Stages(stages)), arrivals, max_concurrency: None };
        let Ok(load) = spec.resolve(end(limit, None), 0) else { return Ok(()) };
        let schedule = Schedule::new(&load, None).unwrap();
        let mut due = schedule.due_times();
        prop_assert_eq!(due.len() as u64, load.requests);
        let LoadShape::OpenLoop { stages, .. } = &load.shape else { unreachable!() };
        let (mut begin, mut last) = (Duration::ZERO, Duration::ZERO);
        for stage in stages {
            let end = begin + Duration::from_millis(stage.duration_ms.unwrap());
            for due in due.by_ref().take(stage.requests as usize) {
                prop_assert!(last <= due && begin <= due && due < end, "{due:?} in {begin:?}..{end:?}");
                last = due;
            }
            begin = end;
        }
        prop_assert_eq!(due.next(), None);
        prop_assert!(schedule.due_times().eq(schedule.due_times()));
    }

    #[test]
    fn cutting_a_stage_in_two_moves_nothing(
        arrivals in any_arrivals(),
        per_s in 0.2..300.0,
        lengths in (1_u64..2000, 1_u64..2000),
    ) {
        let due = |parts: &[u64]| {
            let stages = parts.iter().map(|length| RateStage::new(per_s, per_s, *length)).collect();
            let spec = LoadSpec::Rates { rates: Rates(Part::Stages(stages)), arrivals, max_concurrency: None };
            let load = spec.resolve(end(None, None), 0).ok()?;
            let due = Schedule::new(&load, None).unwrap().due_times();
            Some(due.map(|due| due.as_nanos() as i128).collect::<Vec<_>>())
        };
        let (Some(whole), Some(cut)) = (due(&[lengths.0 + lengths.1]), due(&[lengths.0, lengths.1])) else {
            return Ok(());
        };
        prop_assert_eq!(whole.len(), cut.len());
        for (one, other) in whole.into_iter().zip(cut) {
            prop_assert!((one - other).abs() <= 1, "{one} and {other} ns");
        }
    }
}
