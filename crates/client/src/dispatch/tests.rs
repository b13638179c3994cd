//! Which request begins when, of a whole load and of shards.

use streamgauge_schema::{Arrivals, ClientStage, Identifier, RateStage, Shard};

use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn load(shape: LoadShape, requests: u64, duration_ms: Option<u64>) -> Load {
    let cell = Identifier::new("test").unwrap();
    Load { cell, shape, requests, duration_ms, warmup: 3 }
}

fn measured(load: &Load) -> Dispatch {
    Dispatch::measured(&Schedule::new(load, None).unwrap(), &load.shape)
}

fn begin(index: u64, due: Option<Duration>, queued: Option<Duration>) -> Next {
    Next::Begin(Ticket { index, due, queued })
}

fn rate(per_s: f64, requests: u64, max_concurrency: Option<u64>) -> LoadShape {
    LoadShape::OpenLoop {
        arrivals: Arrivals::Constant {},
        max_concurrency,
        stages: vec![RateStage { from_per_s: per_s, to_per_s: per_s, duration_ms: None, requests }],
    }
}

#[test]
fn a_closed_loop_keeps_its_clients_busy_until_requests_or_time_run_out() {
    let mut dispatch = measured(&load(LoadShape::ClosedLoop { concurrency: 2 }, 4, Some(100)));
    for (now, under_way, expected) in [
        (ms(0), 0, begin(0, None, None)),
        (ms(0), 1, begin(1, None, None)),
        (ms(0), 2, Next::Wait(Some(ms(100)))),
        (ms(30), 1, begin(2, None, None)),
        (ms(99), 1, begin(3, None, None)),
        (ms(99), 1, Next::Over),
    ] {
        assert_eq!(dispatch.next(now, under_way), expected);
    }
    let mut dispatch = measured(&load(LoadShape::ClosedLoop { concurrency: 2 }, 4, Some(100)));
    assert_eq!(dispatch.next(ms(100), 0), Next::Over);
    let mut endless = measured(&load(LoadShape::ClosedLoop { concurrency: 2 }, 4, None));
    assert_eq!(endless.next(ms(0), 2), Next::Wait(None));
}

#[test]
fn clients_come_and_go_with_the_stages() {
    let stage =
        |from_clients, to_clients| ClientStage { from_clients, to_clients, duration_ms: 1_000 };
    let shape = LoadShape::ClosedStages { stages: vec![stage(1, 1), stage(3, 3), stage(1, 1)] };
    let mut dispatch = measured(&load(shape, 100, Some(3_000)));
    for (now, under_way, expected) in [
        (ms(0), 0, begin(0, None, None)),
        (ms(0), 1, Next::Wait(Some(ms(1_000)))),
        (ms(1_000), 1, begin(1, None, None)),
        (ms(1_000), 2, begin(2, None, None)),
        (ms(1_000), 3, Next::Wait(Some(ms(2_000)))),
        (ms(2_000), 3, Next::Wait(Some(ms(3_000)))),
        (ms(2_500), 1, Next::Wait(Some(ms(3_000)))),
        (ms(2_500), 0, begin(3, None, None)),
        (ms(3_000), 0, Next::Over),
    ] {
        assert_eq!(dispatch.next(now, under_way), expected);
    }
}

#[test]
fn due_requests_are_given_out_ahead_of_their_time() {
    let mut dispatch = measured(&load(rate(1.0, 3, None), 3, None));
    for (now, under_way, expected) in [
        (ms(0), 0, begin(0, Some(ms(0)), None)),
        (ms(0), 1, Next::Wait(Some(ms(750)))),
        (ms(750), 1, begin(1, Some(ms(1_000)), None)),
        // Woken late: the time it was due at still stands.
        (ms(2_400), 2, begin(2, Some(ms(2_000)), None)),
        (ms(2_400), 3, Next::Over),
    ] {
        assert_eq!(dispatch.next(now, under_way), expected);
    }
}

#[test]
fn over_the_limit_requests_wait_and_the_wait_is_told() {
    let mut dispatch = measured(&load(rate(10.0, 5, Some(1)), 5, None));
    for (now, under_way, expected) in [
        (ms(0), 0, begin(0, Some(ms(0)), Some(ms(0)))),
        (ms(0), 1, Next::Wait(None)),
        (ms(150), 0, begin(1, Some(ms(100)), Some(ms(50)))),
        (ms(160), 1, Next::Wait(None)),
        // The place is free before its time: no wait.
        (ms(170), 0, begin(2, Some(ms(200)), Some(ms(0)))),
    ] {
        assert_eq!(dispatch.next(now, under_way), expected);
    }
}

#[test]
fn what_was_due_in_time_is_given_out_however_late() {
    let mut dispatch = measured(&load(rate(10.0, 3, None), 3, Some(300)));
    assert_eq!(dispatch.next(ms(400), 0), begin(0, Some(ms(0)), None));
    assert_eq!(dispatch.next(ms(400), 1), begin(1, Some(ms(100)), None));
    assert_eq!(dispatch.next(ms(400), 2), begin(2, Some(ms(200)), None));
    assert_eq!(dispatch.next(ms(400), 3), Next::Over);
}

#[test]
fn what_waits_when_time_is_up_is_never_given_out() {
    let mut dispatch = measured(&load(rate(10.0, 5, Some(1)), 5, Some(500)));
    assert_eq!(dispatch.next(ms(0), 0), begin(0, Some(ms(0)), Some(ms(0))));
    assert_eq!(dispatch.next(ms(0), 1), Next::Wait(Some(ms(500))));
    assert_eq!(dispatch.next(ms(500), 0), Next::Over);
}

/// What a run with lines for these requests had come to.
fn so_far(done: &[u64], measured: Duration) -> SoFar {
    let mut so_far = SoFar { measured, ..SoFar::default() };
    done.iter().for_each(|index| assert!(so_far.add(*index)));
    so_far
}

#[test]
fn what_is_missing_is_given_out_once() {
    let closed = load(LoadShape::ClosedLoop { concurrency: 2 }, 5, None);
    let mut rest = measured(&closed).after(&so_far(&[0, 2], ms(40)));
    for (under_way, expected) in [
        (0, begin(1, None, None)),
        (1, begin(3, None, None)),
        (2, Next::Wait(None)),
        (1, begin(4, None, None)),
        (1, Next::Over),
    ] {
        assert_eq!(rest.next(ms(0), under_way), expected);
    }
    assert!(measured(&closed).after(&so_far(&[0, 1, 2, 3, 4], ms(40))).is_over());
}

#[test]
fn a_schedule_goes_on_at_its_first_missing_request() {
    let mut rest = measured(&load(rate(10.0, 6, None), 6, None)).after(&so_far(&[0, 1, 3], ms(0)));
    for (now, expected) in [
        (ms(0), begin(2, Some(ms(0)), None)),
        (ms(0), begin(4, Some(ms(200)), None)),
        (ms(0), Next::Wait(Some(ms(50)))),
        (ms(50), begin(5, Some(ms(300)), None)),
        (ms(50), Next::Over),
    ] {
        assert_eq!(rest.next(now, 0), expected);
    }
}

#[test]
fn a_load_that_ends_by_time_has_what_was_left_of_it() {
    let closed = load(LoadShape::ClosedLoop { concurrency: 1 }, 100, Some(1_000));
    let mut rest = measured(&closed).after(&so_far(&[0, 1], ms(700)));
    assert_eq!(rest.end(), Some(ms(300)));
    assert_eq!(rest.next(ms(0), 0), begin(2, None, None));
    assert_eq!(rest.next(ms(10), 1), Next::Wait(Some(ms(300))));
    assert_eq!(rest.next(ms(300), 0), Next::Over);
    assert!(measured(&closed).after(&so_far(&[0], ms(1_000))).is_over());
}

#[test]
fn a_warmup_is_a_closed_loop() {
    let stages = vec![ClientStage { from_clients: 0, to_clients: 3, duration_ms: 10 }];
    for (shape, span_ms, clients) in [
        (LoadShape::ClosedLoop { concurrency: 20 }, None, 20),
        (LoadShape::ClosedStages { stages }, Some(10), 3),
        (rate(10.0, 5, Some(1)), None, 1),
        (rate(10.0, 5, None), None, WARMUP_CLIENTS),
    ] {
        let load = load(shape, 5, span_ms);
        let mut dispatch = Dispatch::warmup(&Schedule::new(&load, None).unwrap(), &load);
        assert_eq!(dispatch.next(ms(0), clients), Next::Wait(None));
        for index in 0..3 {
            assert_eq!(dispatch.next(ms(0), clients - 1), begin(index, None, None));
        }
        assert_eq!(dispatch.next(ms(0), 0), Next::Over);
    }
}

/// The requests that are given out when each ends at once, with their due times.
fn given(mut dispatch: Dispatch) -> Vec<(u64, Option<Duration>)> {
    let (mut given, mut now) = (Vec::new(), Duration::ZERO);
    loop {
        match dispatch.next(now, 0) {
            Next::Begin(ticket) => given.push((ticket.index, ticket.due)),
            Next::Wait(Some(until)) => now = until,
            Next::Wait(None) | Next::Over => return given,
        }
    }
}

#[test]
fn shards_give_out_what_the_whole_does_at_the_same_times() {
    for shape in
        [LoadShape::ClosedLoop { concurrency: 5 }, rate(10.0, 23, None), rate(10.0, 23, Some(4))]
    {
        let load = load(shape, 23, None);
        let whole = Schedule::new(&load, None).unwrap();
        for of in 1..=4 {
            let shards = (1..=of).map(|number| Shard::new(number, of).unwrap());
            let shards = shards.map(|shard| whole.clone().of_shard(shard).unwrap());
            let shards: Vec<Schedule> = shards.collect();
            let measured = |schedule| given(Dispatch::measured(schedule, &load.shape));
            let mut together: Vec<_> = shards.iter().flat_map(measured).collect();
            together.sort_unstable();
            assert_eq!(together, measured(&whole), "{of} {load:?}");
            let warmup = |schedule| given(Dispatch::warmup(schedule, &load));
            let mut together: Vec<_> = shards.iter().flat_map(warmup).collect();
            together.sort_unstable();
            assert_eq!(together, warmup(&whole), "{of} {load:?}");
        }
    }
}

#[test]
fn clients_and_places_are_shared_out() {
    let second = |load: &Load, of| {
        let whole = Schedule::new(load, None).unwrap();
        whole.of_shard(Shard::new(2, of).unwrap()).unwrap()
    };
    let closed = load(LoadShape::ClosedLoop { concurrency: 3 }, 9, None);
    let shard = second(&closed, 2);
    let mut dispatch = Dispatch::measured(&shard, &closed.shape);
    assert_eq!(dispatch.next(ms(0), 0), begin(1, None, None));
    assert_eq!(dispatch.next(ms(0), 1), Next::Wait(None));
    assert_eq!(dispatch.next(ms(5), 0), begin(4, None, None));
    let limited = load(rate(10.0, 9, Some(3)), 9, None);
    let shard = second(&limited, 2);
    let mut dispatch = Dispatch::measured(&shard, &limited.shape);
    assert_eq!(dispatch.next(ms(0), 0), begin(1, Some(ms(100)), Some(ms(0))));
    assert_eq!(dispatch.next(ms(100), 1), Next::Wait(None));
    // A warm-up has one client, however small the share.
    let many = load(rate(10.0, 9, None), 9, None);
    let mut dispatch = Dispatch::warmup(&second(&many, 9), &Load { warmup: 20, ..many });
    assert_eq!(dispatch.next(ms(0), 0), begin(1, None, None));
    assert_eq!(dispatch.next(ms(0), 1), Next::Wait(None));
    assert_eq!(dispatch.next(ms(0), 0), begin(10, None, None));
}

#[test]
fn what_other_shards_have_is_not_missing() {
    let closed = load(LoadShape::ClosedLoop { concurrency: 2 }, 6, None);
    let shard = Schedule::new(&closed, None).unwrap();
    let shard = shard.of_shard(Shard::new(2, 2).unwrap()).unwrap();
    let of = |done: &[u64]| Dispatch::measured(&shard, &closed.shape).after(&so_far(done, ms(40)));
    assert_eq!(given(of(&[1])), [(3, None), (5, None)]);
    assert!(of(&[1, 3, 5]).is_over());
}

#[test]
fn a_shard_begins_with_the_whole() {
    let even = load(rate(10.0, 6, None), 6, None);
    let shard = Schedule::new(&even, None).unwrap();
    let shard = shard.of_shard(Shard::new(2, 2).unwrap()).unwrap();
    let begun = Dispatch::measured(&shard, &even.shape).after(&SoFar::default());
    assert_eq!(given(begun)[0], (1, Some(ms(100))));
    let later = Dispatch::measured(&shard, &even.shape).after(&so_far(&[1], ms(0)));
    assert_eq!(given(later), [(3, Some(ms(0))), (5, Some(ms(200)))]);
}
