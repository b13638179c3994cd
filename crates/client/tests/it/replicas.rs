//! Several addresses: each gets its requests and no others, whatever the load.

use std::collections::BTreeSet;
use std::time::Duration;

use streamgauge_client::{Access, RunError, Trust};
use streamgauge_schema::{
    Arrivals, Completion, EndReason, FailureClass, KernelStamps, LoadShape, Plan, RateStage,
    Replica, ReplicaTurns, RequestLine, Retries, Stage,
};
use streamgauge_sim::{SimConfig, ThreadedSim};

use crate::plan::{carry_out, lines, lines_with, plan, request, schedule};
use crate::routes::proxy;
use crate::sim::server;
use crate::tls::{Identity, front, saved};

/// One answers at once, the other takes its time.
fn two() -> [(ThreadedSim, String); 2] {
    [2, 20].map(|ttft_ms| {
        server(SimConfig {
            ttft: Duration::from_millis(ttft_ms),
            interval: Duration::from_millis(1),
            ..SimConfig::default()
        })
    })
}

fn spread(plan: &mut Plan, urls: &[&str], weights: &[u64]) {
    let replica =
        |(url, weight): (&&str, &u64)| Replica { base_url: (*url).to_owned(), weight: *weight };
    plan.target.replicas = urls.iter().zip(weights).map(replica).collect();
}

fn open_loop(requests: u64, per_s: f64) -> LoadShape {
    let stage = RateStage { from_per_s: per_s, to_per_s: per_s, duration_ms: None, requests };
    LoadShape::OpenLoop {
        arrivals: Arrivals::Poisson { seed: 1 },
        max_concurrency: None,
        stages: vec![stage],
    }
}

/// The names that requests of an address have, warm-up included.
fn names(plan: &Plan, place: usize) -> BTreeSet<String> {
    let turns = plan.target.turns().unwrap();
    let stages = [(Stage::Warmup, plan.load.warmup), (Stage::Measured, plan.load.requests)];
    let all = stages.into_iter().flat_map(|(stage, count)| (0..count).map(move |at| (stage, at)));
    all.filter(|(_, index)| turns.of(*index) == place)
        .map(|(stage, at)| format!("{stage}-{at}"))
        .collect()
}

#[tokio::test]
async fn each_address_gets_exactly_its_requests() {
    let closed = LoadShape::ClosedLoop { concurrency: 5 };
    for (shape, weights, workers) in [
        (closed.clone(), [1, 1], 1),
        (closed, [3, 1], 3),
        (open_loop(40, 800.0), [1, 2], 1),
        (open_loop(40, 800.0), [1, 2], 2),
    ] {
        let [(first, first_url), (second, second_url)] = two();
        let mut plan = plan(&first_url, 40, 5);
        plan.load.shape = shape;
        plan.load.warmup = 7;
        plan.instrument.workers = workers;
        spread(&mut plan, &[&first_url, &second_url], &weights);
        let (lines, trailer) = lines(&plan).await;
        assert_eq!((trailer.reason, trailer.lines), (EndReason::Finished, 47));
        assert!(lines.iter().all(|line| line.completion == Completion::Succeeded));
        for (place, server) in [first, second].into_iter().enumerate() {
            let served: Vec<String> = server.shutdown().into_iter().map(|it| it.id).collect();
            let expected = names(&plan, place);
            assert_eq!(served.len(), expected.len(), "none was sent twice");
            assert_eq!(served.into_iter().collect::<BTreeSet<_>>(), expected, "{weights:?}");
        }
        // The slower one's requests take its time, and no other's.
        let turns = plan.target.turns().unwrap();
        let is_slow = |line: &RequestLine| {
            line.observation.as_ref().unwrap().first_output_us.unwrap() >= 20_000
        };
        assert!(lines.iter().all(|line| turns.of(line.index) == 0 || is_slow(line)));
    }
}

#[tokio::test]
async fn each_has_connections_of_its_own_that_carry_stamps() {
    let [(_first, first_url), (_second, second_url)] = two();
    let mut plan = plan(&first_url, 8, 8);
    plan.instrument.kernel_stamps = KernelStamps::All;
    spread(&mut plan, &[&first_url, &second_url], &[3, 1]);
    let (lines, _) = lines(&plan).await;
    let turns = plan.target.turns().unwrap();
    for place in [0, 1] {
        let mut of_place = lines.iter().filter(|line| turns.of(line.index) == place);
        assert!(of_place.clone().all(|line| line.observer_lag_us.is_some()), "{place}");
        // Of eight at once none waits for another's connection.
        assert!(of_place.all(|line| line.connect_us.is_some()));
    }
}

#[tokio::test]
async fn one_that_is_gone_fails_its_requests_alone() {
    let [(_first, first_url), (second, gone)] = two();
    drop(second.shutdown());
    let mut plan = plan(&first_url, 40, 4);
    plan.load.warmup = 4;
    spread(&mut plan, &[&first_url, &gone], &[1, 1]);
    let (lines, trailer) = lines(&plan).await;
    assert_eq!(trailer.lines, 44);
    let turns = plan.target.turns().unwrap();
    for line in lines {
        let failed = line.failure.as_ref().map(|failure| failure.class);
        let expected = (turns.of(line.index) == 1).then_some(FailureClass::Connect);
        assert_eq!(failed, expected, "{} {}", line.stage, line.index);
    }
}

#[tokio::test]
async fn what_is_sent_again_goes_to_the_address_it_went_to() {
    let [(first, first_url), (second, gone)] = two();
    drop(second.shutdown());
    let mut plan = plan(&first_url, 4, 4);
    plan.retries = Some(Retries { most: 1, longest_pause_ms: 1_000 });
    spread(&mut plan, &[&first_url, &gone], &[1, 1]);
    let (lines, _) = lines(&plan).await;
    let attempts: Vec<u32> = lines.iter().map(|line| line.attempts).collect();
    assert_eq!(attempts, [1, 2, 1, 2]);
    assert_eq!(first.shutdown().len(), 2);
}

#[tokio::test]
async fn each_is_asked_by_its_own_name_and_path() {
    let (sim, _) = server(SimConfig::default());
    let (first, first_heads) = proxy(sim.addr(), "").await;
    let (second, second_heads) = proxy(sim.addr(), "").await;
    let urls = [format!("http://{first}"), format!("http://localhost:{}/v1", second.port())];
    let mut plan = plan(&urls[0], 2, 2);
    spread(&mut plan, &[&urls[0], &urls[1]], &[1, 1]);
    let (lines, _) = lines(&plan).await;
    assert!(lines.iter().all(|line| line.completion == Completion::Succeeded));
    for (heads, host, index) in [
        (first_heads, first.to_string(), 0),
        (second_heads, format!("localhost:{}", second.port()), 1),
    ] {
        let heads = heads.lock().unwrap();
        let [head] = &heads[..] else { panic!("{heads:?}") };
        assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
        assert!(head.contains(&format!("\r\nhost: {host}\r\n")), "{head}");
        assert!(head.contains(&format!("\r\nx-request-id: measured-{index}\r\n")), "{head}");
    }
}

#[tokio::test]
async fn one_may_be_plain_and_another_within_tls() {
    let (_plain, plain_url) = server(SimConfig::default());
    let identity = Identity::self_signed("localhost", |_| ());
    let front = front(identity.server()).await;
    let file = saved(&identity.certificate.pem());
    let access = Access { trust: Some(Trust::file(file.path()).unwrap()), ..Access::default() };
    let tls_url = format!("https://localhost:{}", front.port);
    let mut plan = plan(&plain_url, 4, 2);
    spread(&mut plan, &[&plain_url, &tls_url], &[1, 1]);
    let (lines, _) = lines_with(&plan, &access, |stage, index| request(stage, index, "")).await;
    let failed: Vec<_> = lines.iter().filter_map(|line| line.failure.as_ref()).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[tokio::test]
async fn weights_that_make_no_round_are_an_error() {
    let mut plan = plan("http://127.0.0.1:1", 1, 1);
    spread(&mut plan, &["http://127.0.0.1:1", "http://127.0.0.1:2"], &[ReplicaTurns::MOST, 1]);
    let request_of = |stage, index| request(stage, index, "");
    let ended = carry_out(&plan, &schedule(&plan), &Access::default(), request_of).await;
    assert!(matches!(ended, Err(RunError::Weights)), "{ended:?}");
}
