//! Shards of a load: disjoint, and together all of it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use streamgauge_schema::{Digest, Identifier, RequestSettings, Stage};

use super::*;
use crate::{Lengths, Prompts, Requests, RequestsSpec, SyntheticPrompts};

const WARMUP: u64 = 11;

fn load(shape: LoadShape, requests: u64, duration_ms: Option<u64>) -> Load {
    Load { cell: Identifier::new("c").unwrap(), shape, requests, duration_ms, warmup: WARMUP }
}

/// A load of each shape, with the due times of a trace.
fn any_load() -> impl Strategy<Value = (Load, Option<Arc<[u64]>>)> {
    let requests = 1_u64..120;
    let closed = (1_u64..20, requests.clone(), prop::option::of(1_u64..5000)).prop_map(
        |(concurrency, requests, duration_ms)| {
            (load(LoadShape::ClosedLoop { concurrency }, requests, duration_ms), None)
        },
    );
    let stage =
        (0_u64..12, 1_u64..12, 1_u64..900).prop_map(|(from_clients, to_clients, duration_ms)| {
            ClientStage { from_clients, to_clients, duration_ms }
        });
    let stages =
        (prop::collection::vec(stage, 1..4), requests.clone()).prop_map(|(stages, requests)| {
            let length = stages.iter().map(|stage| stage.duration_ms).sum();
            (load(LoadShape::ClosedStages { stages }, requests, Some(length)), None)
        });
    let arrivals = prop_oneof![
        Just(Arrivals::Constant {}),
        any::<u64>().prop_map(|seed| Arrivals::Poisson { seed }),
        (0.1..5.0, any::<u64>())
            .prop_map(|(burstiness, seed)| Arrivals::Gamma { burstiness, seed }),
    ];
    let open = (arrivals, 0.5..500.0, requests, prop::option::of(1_u64..20)).prop_map(
        |(arrivals, per_s, requests, max_concurrency)| {
            let (from_per_s, to_per_s) = (per_s, per_s);
            let stages = vec![RateStage { from_per_s, to_per_s, duration_ms: None, requests }];
            (load(LoadShape::OpenLoop { arrivals, max_concurrency, stages }, requests, None), None)
        },
    );
    let gaps = prop::collection::vec(0_u64..5_000_000, 1..80);
    let trace = (gaps, prop::option::of(1_u64..20)).prop_map(|(gaps, max_concurrency)| {
        let add = |at: &mut u64, gap| {
            *at += gap;
            Some(*at)
        };
        let due_us: Arc<[u64]> = gaps.into_iter().scan(0, add).collect();
        let span_ms = due_us.last().unwrap().div_ceil(1000);
        let shape = LoadShape::Trace { max_concurrency, span_ms };
        (load(shape, due_us.len() as u64, None), Some(due_us))
    });
    prop_oneof![closed, stages, open, trace]
}

/// Each prompt of a stage by its digest.
fn prompts(load: &Load, nonce: u64) -> impl Fn(Stage, u64) -> Digest {
    let requests = Requests::new(RequestsSpec {
        dialect: streamgauge_schema::Dialect::OpenaiChat,
        model: "m".to_owned(),
        settings: RequestSettings {
            max_tokens: 16,
            ignore_eos: false,
            temperature: Some(0.0),
            seed: None,
            header_names: Vec::new(),
            extra_body: BTreeMap::new(),
        },
        prompts: Prompts::Synthetic(SyntheticPrompts::new(20, 0).unwrap().with_nonce(nonce)),
        target_input_tokens: None,
        lengths: Lengths::assumed(),
        suite_version: Identifier::new("suite-v1").unwrap(),
        requests: load.requests,
        repetitions: 1,
        warmup: load.warmup,
    });
    let requests = requests.unwrap();
    move |stage, index| requests.request(stage, index).prompt_sha256
}

/// What a part sends: stage, place, due time, digest of the prompt.
type Sent = (Stage, u64, Option<Duration>, Digest);

fn sent(schedule: &Schedule, prompt: impl Fn(Stage, u64) -> Digest) -> Vec<Sent> {
    let mut due = schedule.due_times();
    let own = |whole: u64| (0..whole).filter(|index| schedule.has(*index));
    let warmup =
        own(WARMUP).map(|index| (Stage::Warmup, index, None, prompt(Stage::Warmup, index)));
    let mut sent: Vec<Sent> = warmup.collect();
    assert_eq!(sent.len() as u64, schedule.own_warmup());
    let measured = own(schedule.requests())
        .map(|index| (Stage::Measured, index, due.next(), prompt(Stage::Measured, index)));
    sent.extend(measured);
    assert_eq!(sent.len() as u64, schedule.own_warmup() + schedule.own_requests());
    assert_eq!(due.next(), None);
    sent
}

proptest! {
    #[test]
    fn shards_share_nothing_and_have_it_all(
        (load, trace) in any_load(),
        of in 1_u64..14,
        nonce in any::<u64>(),
    ) {
        let whole = Schedule::new(&load, trace).unwrap();
        let shards: Result<Vec<Schedule>, LoadError> = (1..=of)
            .map(|number| whole.clone().of_shard(Shard::new(number, of).unwrap()))
            .collect();
        let least = load.shape.max_inflight().map_or(load.requests, |most| most.min(load.requests));
        prop_assert_eq!(shards.is_ok(), of <= least);
        let Ok(shards) = shards else { return Ok(()) };
        let prompt = prompts(&load, nonce);
        let mut together: Vec<Sent> = shards.iter().flat_map(|part| sent(part, &prompt)).collect();
        together.sort_by_key(|(stage, index, ..)| (*stage == Stage::Measured, *index));
        prop_assert_eq!(together, sent(&whole, &prompt));
        for shard in &shards {
            prop_assert!(shard.own_requests() > 0);
            prop_assert!(shard.max_inflight().is_none_or(|most| most > 0));
        }
        for at in (0..3000).step_by(70).map(Duration::from_millis) {
            let clients: u64 = shards.iter().map(|shard| shard.clients_at(at)).sum();
            prop_assert_eq!(clients, whole.clients_at(at));
        }
        let places = shards.iter().map(Schedule::max_inflight).sum::<Option<u64>>();
        prop_assert_eq!(places, whole.max_inflight());
    }
}

#[test]
fn a_shard_without_anything_to_do_is_refused() {
    let rate =
        |requests| vec![RateStage { from_per_s: 5.0, to_per_s: 5.0, duration_ms: None, requests }];
    let open = |max_concurrency, requests| LoadShape::OpenLoop {
        arrivals: Arrivals::Constant {},
        max_concurrency,
        stages: rate(requests),
    };
    let stage = ClientStage { from_clients: 1, to_clients: 3, duration_ms: 10 };
    for (shape, requests, duration_ms, expected) in [
        (LoadShape::ClosedLoop { concurrency: 3 }, 9, None, "3 clients are fewer than 4 shards"),
        (LoadShape::ClosedStages { stages: vec![stage] }, 9, Some(10), "3 clients are fewer"),
        (LoadShape::ClosedLoop { concurrency: 8 }, 3, None, "3 measured requests are fewer"),
        (open(Some(2), 9), 9, None, "2 places under way (max_concurrency) are fewer"),
        (open(None, 3), 3, None, "3 measured requests are fewer than 4 shards, and each needs"),
    ] {
        let schedule = Schedule::new(&load(shape, requests, duration_ms), None).unwrap();
        let error = schedule.of_shard(Shard::new(1, 4).unwrap()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
