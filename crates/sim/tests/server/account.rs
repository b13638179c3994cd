//! The account agrees with what a client received.

use std::time::Duration;

use serde_json::json;
use streamgauge_sim::{RequestOutcome, SimConfig, spawn_thread};

use crate::client::{Client, quick, settled, start, streaming};

#[tokio::test]
async fn every_event_is_stamped_between_its_due_time_and_its_arrival() {
    let config = quick();
    let server = spawn_thread(config.clone(), ([127, 0, 0, 1], 0).into()).unwrap();
    let mut client = Client::connect(server.addr()).await;
    let stream = client.stream(&streaming("hello", 12)).await;
    let account = server.shutdown().pop().unwrap();

    assert_eq!(account.outcome, RequestOutcome::Complete);
    assert_eq!((account.status, account.streamed, account.fault), (Some(200), true, None));
    assert_eq!(account.events, stream.events.len() as u64);
    assert_eq!((account.output_events, account.completion_tokens), (12, 12));
    assert_eq!(account.output_ns.len(), 12);
    assert_eq!(account.first_output_ns, account.output_ns.first().copied());
    assert_eq!(account.last_output_ns, account.output_ns.last().copied());
    assert!(account.first_write_ns < account.first_output_ns);
    assert!(account.last_write_ns > account.last_output_ns);

    let outputs = stream.arrivals_ns[1..13].iter();
    for (index, (written, arrived)) in account.output_ns.iter().zip(outputs).enumerate() {
        let due = config.ttft + config.interval * index as u32;
        let due_ns = account.received_ns + due.as_nanos() as u64;
        assert!(
            (due_ns..*arrived).contains(written),
            "event {index}: due {due_ns}, {written}, {arrived}"
        );
        assert!(account.lateness_max_ns >= written - due_ns);
    }
}

#[tokio::test]
async fn events_that_are_due_together_are_written_one_by_one() {
    let server = start(SimConfig { interval: Duration::ZERO, ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    let stream = client.stream(&streaming("hello", 300)).await;
    assert_eq!(stream.events.len(), 304);
    let account = server.shutdown().await.pop().unwrap();
    assert_eq!(account.output_ns.len(), 300);
    assert!(account.output_ns.is_sorted_by(|earlier, later| earlier < later));
}

#[tokio::test]
async fn an_event_that_takes_several_writes_is_one_event() {
    let server = start(SimConfig { tokens_per_event: 131_072, ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    let stream = client.stream(&streaming("hello", 131_072)).await;
    assert_eq!(stream.text("content").split(' ').count(), 131_072);
    let account = server.account().pop().unwrap();
    assert_eq!((account.output_events, account.output_ns.len()), (1, 1));
    assert!(account.output_ns[0] < stream.arrivals_ns[1]);
}

#[tokio::test]
async fn event_times_are_kept_only_when_asked_for() {
    let server = start(SimConfig { event_times: false, ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    client.stream(&streaming("hello", 3)).await;
    let account = server.account().pop().unwrap();
    assert_eq!((account.output_events, account.output_ns.len()), (3, 0));
}

#[tokio::test]
async fn a_client_that_goes_away_is_seen() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let response = client.chat(&[], streaming("hello", 10_000)).await.unwrap();
    drop((response, client));
    let account = settled(&server).await;
    assert_eq!(account.outcome, RequestOutcome::Disconnected);
    assert!(account.completion_tokens < 10_000);
}

#[tokio::test]
async fn another_process_can_read_and_clear_it() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    client.stream(&streaming("hello", 2)).await;
    let noted = server.account().pop().unwrap();
    let (status, document) = client.call("GET", "/sim/account").await;
    assert_eq!(status, 200);
    let expected = json!({
        "clock": "CLOCK_MONOTONIC",
        "requests": [{
            "completion_tokens": 2,
            "events": 6,
            "fault": null,
            "first_output_ns": noted.first_output_ns,
            "first_write_ns": noted.first_write_ns,
            "id": "sim-1",
            "last_output_ns": noted.last_output_ns,
            "last_write_ns": noted.last_write_ns,
            "lateness_max_ns": noted.lateness_max_ns,
            "ordinal": 1,
            "outcome": "complete",
            "output_events": 2,
            "output_ns": noted.output_ns,
            "received_ns": noted.received_ns,
            "status": 200,
            "streamed": true,
        }],
    });
    assert_eq!(document, expected);
    let (_, cleared) = client.call("DELETE", "/sim/account").await;
    assert_eq!(cleared["requests"], json!([]));
    assert!(server.account().is_empty());
}
