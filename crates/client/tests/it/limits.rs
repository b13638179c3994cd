//! Time limits and the stop signal.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use streamgauge_client::{Access, Collected, run};
use streamgauge_schema::{Completion, EndReason, FailureClass};
use streamgauge_sim::{RawServer, RawStep};
use tokio::sync::watch;

use crate::plan::{lines, plan, request, schedule, setup};

const PARTIAL: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\
                       data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";

async fn silent_after(text: &str) -> (RawServer, String) {
    let steps = vec![RawStep::Write(text.as_bytes().to_vec()), RawStep::Hold];
    let server = RawServer::start(steps).await.unwrap();
    let url = format!("http://{}", server.addr());
    (server, url)
}

#[tokio::test]
async fn silence_and_long_requests_are_ended_with_their_class() {
    for (text, idle_timeout_ms, timeout_ms, class) in [
        (PARTIAL, 50, 60_000, FailureClass::IdleTimeout),
        (PARTIAL, 60_000, 50, FailureClass::DeadlineExceeded),
        ("", 50, 60_000, FailureClass::IdleTimeout),
        ("", 60_000, 50, FailureClass::DeadlineExceeded),
    ] {
        let (_server, url) = silent_after(text).await;
        let mut plan = plan(&url, 1, 1);
        plan.limits.idle_timeout_ms = idle_timeout_ms;
        plan.limits.timeout_ms = timeout_ms;
        let (lines, _) = lines(&plan).await;
        let [line] = &lines[..] else { panic!("{} lines", lines.len()) };
        assert_eq!(line.completion, Completion::TimedOut);
        assert_eq!(line.failure.as_ref().unwrap().class, class);
        assert_eq!(line.observation.is_some(), !text.is_empty());
        if let Some(observation) = &line.observation {
            assert_eq!(observation.output_events, 1, "what arrived before is kept");
            assert_eq!(observation.error.as_ref().map(|error| error.class), Some(class));
        }
    }
}

#[tokio::test]
async fn a_socket_that_never_runs_dry_does_not_outrun_the_limit() {
    // More than any machine reads within the limit; the client hangs up long before.
    const EVENTS: u64 = 100_000_000;
    // On a thread of its own: on the client's runtime it would leave the socket dry now and then.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        // An answer before the question would be a fault of the connection.
        assert!(socket.read(&mut [0; 4096]).unwrap() > 0);
        let event = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
        let thousand = event.repeat(1_000);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        socket.write_all(head.as_bytes()).unwrap();
        (0..EVENTS / 1_000).all(|_| socket.write_all(thousand.as_bytes()).is_ok());
    });
    let mut plan = plan(&url, 1, 1);
    plan.limits.timeout_ms = 300;
    // There may then be any number of events.
    plan.instrument.keep_arrivals = false;
    let (lines, _) = lines(&plan).await;
    server.join().unwrap();
    assert_eq!(lines[0].completion, Completion::TimedOut, "{:?}", lines[0].failure);
    assert_eq!(lines[0].failure.as_ref().unwrap().class, FailureClass::DeadlineExceeded);
    assert!(lines[0].observation.as_ref().unwrap().output_events < EVENTS);
}

#[tokio::test]
async fn a_heartbeat_is_a_sign_of_life() {
    let beat = || [RawStep::Write(b":\n\n".to_vec()), RawStep::Wait(Duration::from_millis(60))];
    let mut steps = vec![RawStep::Write(PARTIAL.as_bytes().to_vec())];
    steps.extend((0..6).flat_map(|_| beat()));
    steps.push(RawStep::Write(b"data: [DONE]\n\n".to_vec()));
    steps.push(RawStep::Close);
    let server = RawServer::start(steps).await.unwrap();
    let mut plan = plan(&format!("http://{}", server.addr()), 1, 1);
    plan.limits.idle_timeout_ms = 300;
    let (lines, _) = lines(&plan).await;
    assert_eq!(lines[0].completion, Completion::Succeeded, "{:?}", lines[0].failure);
    assert!(lines[0].elapsed_us > 300_000);
}

#[tokio::test]
async fn a_stopped_run_keeps_what_had_begun() {
    let (_server, url) = silent_after(PARTIAL).await;
    let plan = plan(&url, 10, 3);
    let (stop, stopped) = watch::channel(false);
    let access = Access::default();
    let request_of = |stage, index| {
        if index == 2 {
            stop.send(true).unwrap();
        }
        request(stage, index, "")
    };
    let schedule = schedule(&plan);
    let setup = setup(&plan, &schedule, &access, stopped);
    let (trailer, run) = run(setup, request_of, Collected::default()).await.unwrap();
    assert_eq!(trailer.reason, EndReason::Interrupted);
    assert_eq!(trailer.lines, run.requests.len() as u64);
    for line in &run.requests {
        assert_eq!(line.completion, Completion::Cancelled);
    }
}
