//! Tables of loads with their due times and clients, and what holds for all of them.

use streamgauge_schema::Identifier;

use super::*;

fn load(shape: LoadShape, requests: u64, duration_ms: Option<u64>) -> Load {
    Load { cell: Identifier::new("cell").unwrap(), shape, requests, duration_ms, warmup: 0 }
}

fn rate(from_per_s: f64, to_per_s: f64, duration_ms: Option<u64>, requests: u64) -> RateStage {
    RateStage { from_per_s, to_per_s, duration_ms, requests }
}

/// An open loop of these stages, with their sum and length.
fn open(arrivals: Arrivals, stages: &[RateStage]) -> Load {
    let requests = stages.iter().map(|stage| stage.requests).sum();
    let duration_ms = stages.iter().map(|stage| stage.duration_ms).sum();
    let stages = stages.to_vec();
    let shape = LoadShape::OpenLoop { arrivals, max_concurrency: None, stages };
    load(shape, requests, duration_ms)
}

fn due_us(load: &Load) -> Vec<u64> {
    let schedule = Schedule::new(load, None).unwrap();
    schedule.due_times().map(|due| due.as_micros() as u64).collect()
}

#[test]
fn even_arrivals_are_due_at_these_times() {
    let cases: [(&[RateStage], &[u64]); 7] = [
        // vllm-project/vllm#54101 and triton-inference-server/server#3113.
        (
            &[rate(10.0, 10.0, None, 8)],
            &[0, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000],
        ),
        (&[rate(3.0, 3.0, Some(1000), 3)], &[0, 333_333, 666_666]),
        // The next would be due at the end, and is not below it.
        (&[rate(10.0, 10.0, Some(300), 3)], &[0, 100_000, 200_000]),
        (
            &[rate(0.5, 0.5, Some(1000), 1), rate(1.0, 1.0, Some(2000), 2)],
            &[0, 1_500_000, 2_500_000],
        ),
        // The integral t² reaches 0 to 3 at 0, 1, √2 and √3 s.
        (&[rate(0.0, 4.0, Some(2000), 4)], &[0, 1_000_000, 1_414_213, 1_732_050]),
        // 4t − t² reaches 0 to 3 at 0, 2 − √3, 2 − √2 and 1 s.
        (&[rate(4.0, 0.0, Some(2000), 4)], &[0, 267_949, 585_786, 1_000_000]),
        (&[rate(2.0, 2.0, None, 1), rate(4.0, 4.0, None, 2)], &[0, 500_000, 750_000]),
    ];
    for (stages, expected) in cases {
        assert_eq!(due_us(&open(Arrivals::Constant {}, stages)), expected, "{stages:?}");
    }
}

/// How long after its due time each request ends, when a server takes `service` for one after the
/// other.
fn from_due_times(load: &Load, service: Duration) -> Vec<Duration> {
    let mut free = Duration::ZERO;
    let ended = Schedule::new(load, None).unwrap().due_times().map(|due| {
        free = free.max(due) + service;
        free - due
    });
    ended.collect()
}

#[test]
fn due_times_do_not_wait_for_the_server() {
    let even = |per_s, requests| open(Arrivals::Constant {}, &[rate(per_s, per_s, None, requests)]);
    // triton-inference-server/server#3113: the plan is 100 ms apart, and each request takes 150.
    let late = from_due_times(&even(10.0, 5), Duration::from_millis(150));
    assert_eq!(late, [150, 200, 250, 300, 350].map(Duration::from_millis));
    // vllm-project/vllm#54101: from the schedule 1.90 s on average, of which 1.40 are waiting.
    let late = from_due_times(&even(10.0, 8), Duration::from_millis(500));
    assert_eq!(late.iter().sum::<Duration>() / 8, Duration::from_millis(1900));
}

#[test]
fn a_seed_gives_these_due_times_on_every_machine() {
    // Computed by another program as well, from ChaCha8 on: the first three and the 10,000th.
    let gamma = |burstiness| Arrivals::Gamma { burstiness, seed: 1 };
    let cases = [
        (
            Arrivals::Poisson { seed: 0 },
            rate(100.0, 100.0, None, 10_000),
            [14_196_124, 15_422_512, 20_008_700, 100_232_650_144],
        ),
        (
            gamma(0.25),
            rate(100.0, 100.0, None, 10_000),
            [6_829_014, 7_920_748, 22_767_342, 103_782_739_688],
        ),
        (
            gamma(4.0),
            rate(10.0, 50.0, Some(1_000_000), 10_000),
            [107_559_922, 195_331_269, 383_177_770, 501_504_289_894],
        ),
    ];
    for (arrivals, stage, expected) in cases {
        let mut due = Schedule::new(&open(arrivals, &[stage]), None).unwrap().due_times();
        let found = [0, 0, 0, 9_996].map(|skipped| due.nth(skipped).unwrap().as_nanos());
        assert_eq!(found, expected, "{arrivals:?}");
    }
}

#[test]
fn a_load_that_contradicts_itself_is_refused() {
    let even = |stages: &[RateStage]| open(Arrivals::Constant {}, stages);
    let closed = |duration_ms| {
        let stages = vec![ClientStage { from_clients: 1, to_clients: 2, duration_ms: 10 }];
        load(LoadShape::ClosedStages { stages }, 5, duration_ms)
    };
    let trace = |requests, span_ms, duration_ms| {
        load(LoadShape::Trace { max_concurrency: None, span_ms }, requests, duration_ms)
    };
    let times = Some([0, 1500, 7001]);
    let cases = [
        (even(&[]), None, "0 requests are not within 1 to 10000000"),
        (even(&[rate(10.0, 20.0, None, 5)]), None, "stage 1: a rate that changes needs a duration"),
        (
            Load { requests: 4, ..even(&[rate(10.0, 10.0, None, 5)]) },
            None,
            "the load's number of requests is 4, and its stages' sum is 5",
        ),
        (
            even(&[rate(10.0, 10.0, Some(1000), 10), rate(20.0, 20.0, Some(1000), 21)]),
            None,
            "stage 2: 21 requests are planned, and its rate gives 20",
        ),
        (
            even(&[rate(10.0, 10.0, Some(1000), 9), rate(20.0, 20.0, Some(1000), 20)]),
            None,
            "stage 1: 9 requests are planned, and its rate gives 10",
        ),
        (
            Load { duration_ms: Some(500), ..even(&[rate(10.0, 10.0, Some(1000), 10)]) },
            None,
            "stage 1: 10 requests are planned, and its rate gives 5",
        ),
        (closed(None), None, "the load's duration_ms is 0, and its stages' length is 10"),
        (
            closed(Some(10)),
            times,
            "due times were given for a load of shape closed_stages, which has its own",
        ),
        (trace(3, 8, None), None, "the dataset has no at_ms, and a trace is sent by it"),
        (
            trace(4, 8, None),
            times,
            "the load's number of requests is 4, and its trace's number of lines is 3",
        ),
        (
            trace(3, 7, None),
            times,
            "the load's span_ms is 7, and its trace's last at_ms, rounded up is 8",
        ),
        (
            trace(3, 8, Some(7)),
            times,
            "the trace's last request is due at 7001 µs, when the load's duration is over",
        ),
        (
            trace(2, 2, None),
            Some([5, 4, 0]),
            "request 1 of the trace is due at 4 µs, before the one in front of it",
        ),
    ];
    for (load, times, expected) in cases {
        let error = Schedule::new(&load, times.map(Into::into)).unwrap_err();
        assert_eq!(error.to_string(), expected, "{load:?}");
    }
}

#[test]
fn clients_change_one_by_one() {
    let stage = |from_clients, to_clients, duration_ms| ClientStage {
        from_clients,
        to_clients,
        duration_ms,
    };
    let stages = vec![stage(1, 3, 100), stage(3, 3, 50), stage(2, 1, 10)];
    let schedule =
        Schedule::new(&load(LoadShape::ClosedStages { stages }, 9, Some(160)), None).unwrap();
    let mut changes = vec![(0, schedule.clients_at(Duration::ZERO))];
    let mut at = Duration::ZERO;
    while let Some(change) = schedule.next_change(at) {
        let before = schedule.clients_at(change - Duration::from_nanos(1));
        assert_eq!(before, schedule.clients_at(at), "nothing changes in between");
        changes.push((change.as_nanos(), schedule.clients_at(change)));
        at = change;
    }
    let expected = [
        (0, 1),
        (33_333_334, 2),
        (66_666_667, 3),
        (150_000_000, 2),
        (155_000_000, 1),
        (160_000_000, 0),
    ];
    assert_eq!(changes, expected);
    assert_eq!(schedule.due_times().count(), 0);
}

#[test]
fn a_fixed_number_of_clients_ends_with_time_if_at_all() {
    let of = |duration_ms| {
        Schedule::new(&load(LoadShape::ClosedLoop { concurrency: 8 }, 100, duration_ms), None)
            .unwrap()
    };
    let (endless, ending) = (of(None), of(Some(1000)));
    let [just_before, end] = [999_999_999, 1_000_000_000].map(Duration::from_nanos);
    assert_eq!((endless.clients_at(end), endless.next_change(end)), (8, None));
    assert_eq!((ending.clients_at(just_before), ending.clients_at(end)), (8, 0));
    assert_eq!((ending.next_change(just_before), ending.next_change(end)), (Some(end), None));
}

#[test]
fn a_trace_is_due_as_it_stands() {
    let shape = |span_ms| LoadShape::Trace { max_concurrency: None, span_ms };
    let times: Arc<[u64]> = [0, 1500, 1500, 7001].into();
    let schedule = |shape, requests, duration_ms| {
        Schedule::new(&load(shape, requests, duration_ms), Some(Arc::clone(&times)))
    };
    let due: Vec<_> = schedule(shape(8), 4, None).unwrap().due_times().collect();
    assert_eq!(due, [0, 1500, 1500, 7001].map(Duration::from_micros));
    assert_eq!(schedule(shape(2), 3, Some(3)).unwrap().due_times().len(), 3);
}
