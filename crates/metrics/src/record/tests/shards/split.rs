//! Any split of any run, merged.

use super::*;

/// Any load with a journal of it, cut off or not, all of whose stamps are late enough to be moved.
fn any_run() -> impl Strategy<Value = (Plan, Vec<RequestLine>)> {
    (any_lines(), 0_u64..4, 0_u8..4, 0_u64..5).prop_map(|(lines, unsent, shape, warmup)| {
        let requests = lines.len() as u64 + unsent;
        let mut plan = match shape {
            0 => plan(requests, 300),
            1 => plan(requests, 7),
            _ => open_loop(requests, 10.0, (shape == 2).then_some(300)),
        };
        plan.load.warmup = warmup;
        let queued = (shape == 2).then_some(0);
        let late = |line: RequestLine| RequestLine {
            started_us: line.started_us + 5_000_000,
            last_attempt_started_us: line.last_attempt_started_us + 5_000_000,
            observer_lag_us: line.index.is_multiple_of(3).then(|| vec![line.index, 7]),
            ..line
        };
        let due = |line: RequestLine| match shape {
            0 | 1 => line,
            _ => due(line.clone(), 5_000 + line.index, queued),
        };
        let started = |line: RequestLine| RequestLine {
            started_us: line.started_us + 1_000_000,
            last_attempt_started_us: line.last_attempt_started_us + 1_000_000,
            ..line
        };
        let measured = lines.into_iter().map(late).map(due).map(started);
        let before = (0..warmup).map(|index| RequestLine {
            stage: Stage::Warmup,
            ..succeeded(index, 5_000, &[50, 60], 3)
        });
        (plan, measured.chain(before).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_split_merges_to_the_same_figures(
        (plan, lines) in any_run(),
        delays_us in prop::collection::vec(0_u64..5_000_000, 0..9),
        turn in 0_usize..9,
    ) {
        let whole = Run { plan: plan.clone(), lines: lines.clone(), ended: true }.record();
        // One zero is that of the whole run.
        let delays_us: Vec<u64> = [0].into_iter().chain(delays_us).collect();
        let shards = Shards::of(&plan, &lines, &delays_us);
        let merged = shards.all().unwrap();
        // Seven clients would not have sent that much at once.
        if plan.load.shape.max_inflight() != Some(7) {
            assert_sound(&merged);
        }
        for (of_whole, of_merged) in whole.metrics.iter().zip(&merged.metrics) {
            prop_assert_eq!(of_whole, of_merged);
        }
        prop_assert_eq!(&whole.load, &merged.load);
        prop_assert_eq!(&whole.counts, &merged.counts);
        prop_assert_eq!(&whole.cases, &merged.cases);
        prop_assert_eq!(&whole.windows, &merged.windows);
        prop_assert_eq!(&whole.performance, &merged.performance);
        prop_assert_eq!(&whole.instrument, &merged.instrument);
        prop_assert_eq!(
            (whole.status, whole.started_at, whole.completed_at),
            (merged.status, merged.started_at, merged.completed_at)
        );
        let mut places: Vec<usize> = (0..delays_us.len()).collect();
        places.rotate_left(turn % delays_us.len());
        places.reverse();
        prop_assert_eq!(bytes(&shards.merged(&places).unwrap()), bytes(&merged));
    }

    #[test]
    fn any_shard_is_sound_alone(
        (plan, lines) in any_run(),
        parts in 1_usize..9,
        ends in any::<bool>(),
    ) {
        let mut shards = Shards::of(&plan, &lines, &vec![0; parts]);
        let offered: u64 = (0..parts).map(|at| {
            if !ends {
                shards.trailers[at] = None;
            }
            let record = shards.alone(at).unwrap();
            if plan.load.shape.max_inflight() != Some(7) {
                assert_sound(&record);
            }
            record.load.offered
        }).sum();
        prop_assert_eq!(offered, plan.load.requests);
    }
}
