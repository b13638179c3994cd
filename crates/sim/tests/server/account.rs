//! The account agrees with what a client received.

use std::time::Duration;

use serde_json::json;
use streamgauge_sim::{
    AccountTotals, RequestAccount, RequestOutcome, SimConfig, monotonic_ns, spawn_thread,
};

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
            "kernel_received_ns": null,
            "last_output_ns": noted.last_output_ns,
            "last_write_ns": noted.last_write_ns,
            "lateness_max_ns": noted.lateness_max_ns,
            "ordinal": 1,
            "outcome": "complete",
            "output_events": 2,
            "output_ns": noted.output_ns,
            "prompt_tokens": 1,
            "received_ns": noted.received_ns,
            "status": 200,
            "streamed": true,
        }],
        "totals": {
            "complete": 1,
            "completion_tokens": 2,
            "disconnected": 0,
            "events": 6,
            "faulted": 0,
            "lateness_max_ns": noted.lateness_max_ns,
            "open": 0,
            "output_events": 2,
            "prompt_tokens": 1,
            "rejected": 0,
        },
    });
    assert_eq!(document, expected);
    let (_, cleared) = client.call("DELETE", "/sim/account").await;
    assert_eq!((&cleared["requests"], &cleared["totals"]["complete"]), (&json!([]), &json!(0)));
    assert!(server.account().is_empty());
}

#[tokio::test]
async fn the_stamps_alone_have_a_short_form() {
    let server = start(SimConfig { kernel_stamps: true, ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    client.stream(&streaming("hello", 3)).await;
    let noted = server.account().pop().unwrap();
    let (status, document) = client.call("GET", "/sim/stamps").await;
    assert_eq!(status, 200);
    let [first, second, third] = noted.output_ns[..] else { panic!("{noted:?}") };
    let expected = json!({
        "clock": "CLOCK_MONOTONIC",
        "columns": ["id", "outcome", "received_ns", "kernel_received_ns", "output_steps_ns"],
        "requests": [[
            "sim-1",
            "complete",
            noted.received_ns,
            noted.kernel_received_ns,
            [first, second - first, third - second],
        ]],
    });
    let (_, whole) = client.call("GET", "/sim/account").await;
    for member in ["clock", "columns", "requests"] {
        assert_eq!(document[member], expected[member], "{member}");
    }
    assert_eq!(document["totals"], whole["totals"]);
}

#[tokio::test]
async fn the_kernel_tells_when_a_request_arrived() {
    let server = start(SimConfig { kernel_stamps: true, ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    // The kernel begins to stamp a moment after the first socket of the machine has asked for it.
    for _ in 0..1_000 {
        client.stream(&streaming("early", 1)).await;
        if server.account().pop().unwrap().kernel_received_ns.is_some() {
            break;
        }
    }
    for prompt in ["short".to_owned(), "long ".repeat(100_000)] {
        let sent_ns = monotonic_ns();
        client.stream(&streaming(&prompt, 1)).await;
        let account = server.account().pop().unwrap();
        let arrived_ns = account.kernel_received_ns.expect("a stamp on the loopback interface");
        // The wall clock, over which it comes, may be drifting towards another.
        let tolerance_ns = 1_000_000;
        assert!(sent_ns <= arrived_ns + tolerance_ns, "{sent_ns} {arrived_ns}");
        assert!(arrived_ns <= account.received_ns + tolerance_ns, "{account:?}");
    }
}

#[tokio::test]
async fn events_that_are_due_together_may_share_a_write() {
    let at_once = SimConfig { interval: Duration::ZERO, ttft: Duration::ZERO, ..quick() };
    // Events a write; writes: of 1 role, 35 output, 1 finish, 1 usage and 1 end event.
    for (events_per_write, writes) in [(1, 39), (16, 3), (64, 1)] {
        let server = start(SimConfig { events_per_write, ..at_once.clone() }).await;
        let mut client = Client::connect(server.addr()).await;
        let stream = client.stream(&streaming("hello", 35)).await;
        assert_eq!(stream.events.len(), 39);
        let account = server.account().pop().unwrap();
        assert_eq!((account.events, account.output_events), (39, 35));
        assert_eq!(account.outcome, RequestOutcome::Complete);
        let mut stamps = account.output_ns.clone();
        stamps.extend([account.first_write_ns, account.last_write_ns].into_iter().flatten());
        stamps.sort_unstable();
        stamps.dedup();
        // The writes between the first output and the last event hold an output each.
        let without_output = if events_per_write == 1 { 2 } else { 0 };
        assert_eq!(stamps.len(), writes - without_output, "{events_per_write} a write");
        assert_eq!(server.totals(), totals_of(&account));
    }
}

fn totals_of(account: &RequestAccount) -> AccountTotals {
    AccountTotals {
        complete: 1,
        completion_tokens: account.completion_tokens,
        events: account.events,
        lateness_max_ns: account.lateness_max_ns,
        output_events: account.output_events,
        prompt_tokens: account.prompt_tokens,
        ..AccountTotals::default()
    }
}

#[tokio::test]
async fn events_that_are_not_due_never_share_a_write() {
    let server = start(SimConfig { events_per_write: 16, ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    client.stream(&streaming("hello", 6)).await;
    let account = server.account().pop().unwrap();
    // Where the machine stood still for a while, events have become due together after all.
    let late = Duration::from_nanos(account.lateness_max_ns) >= quick().interval;
    assert!(late || account.output_ns.is_sorted_by(|earlier, later| earlier < later));
}
