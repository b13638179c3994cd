//! Faults of the wire and of connections, as their bytes arrive.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use streamgauge_sim::{
    ConnectionFault, ConnectionRule, FaultRule, RequestOutcome, SimConfig, WireFault,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{Client, quick, settled, start, streaming};

async fn ask(addr: SocketAddr, fault: &str) -> TcpStream {
    let body = streaming("hello", 2).to_string();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\nx-sim-fault: {fault}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(addr).await.expect("a listening server");
    stream.write_all(request.as_bytes()).await.expect("an open connection");
    stream
}

/// All that a fault's answer brings, and how it ends.
async fn answer(addr: SocketAddr, fault: &str) -> (String, io::Result<usize>) {
    let mut bytes = Vec::new();
    let end = ask(addr, fault).await.read_to_end(&mut bytes).await;
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

#[tokio::test]
async fn a_fault_of_the_wire_is_what_is_sent() {
    let server = start(quick()).await;
    for (fault, status, beginning, holds) in [
        ("chunk:length", Some(200), "HTTP/1.1 200 ", "\r\n1\r\ndata: "),
        ("chunk:size", Some(200), "HTTP/1.1 200 ", "\r\nsize\r\ndata: "),
        ("continue", Some(200), "HTTP/1.1 100 ", "HTTP/1.1 103 "),
        ("drip:0", Some(200), "HTTP/1.1 200 ", "data: [DONE]\n\n\r\n0\r\n\r\n"),
        ("escapes:400", Some(400), "HTTP/1.1 400 ", "\\u001b[2J"),
        ("garbage:body", Some(200), "HTTP/1.1 200 ", "\u{1}\u{2}\u{3}"),
        ("garbage:head", None, "\u{fffd}", "HGFEDCBA"),
        ("gzip", Some(200), "HTTP/1.1 200 ", "content-encoding: gzip\r\n"),
        ("html:502", Some(502), "HTTP/1.1 502 ", "<h1>"),
        ("http10", Some(200), "HTTP/1.0 200 ", "data: [DONE]\n\n"),
        ("large:500", Some(500), "HTTP/1.1 500 ", "content-length: 10"),
        ("redirect:307", Some(307), "HTTP/1.1 307 ", "location: http://elsewhere.invalid/"),
    ] {
        let (text, end) = answer(server.addr(), fault).await;
        assert!(text.starts_with(beginning), "{fault}: {text:.60}");
        assert!(text.contains(holds), "{fault}: {text:.300}");
        assert!(end.is_ok(), "{fault}: {end:?}");
        let account = settled(&server).await;
        assert_eq!((account.outcome, account.status), (RequestOutcome::Faulted, status), "{fault}");
    }
}

#[tokio::test]
async fn a_cut_comes_after_the_ordered_bytes() {
    let server = start(quick()).await;
    for bytes in [0, 1, 60, 200] {
        let (text, end) = answer(server.addr(), &format!("close:{bytes}b")).await;
        assert_eq!((text.len(), end.is_ok()), (bytes, true));
        let (text, end) = answer(server.addr(), &format!("reset:{bytes}b")).await;
        assert_eq!(text.len(), bytes);
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        let mut stream = ask(server.addr(), &format!("stall:{bytes}b")).await;
        let mut some = vec![0; bytes];
        stream.read_exact(&mut some).await.unwrap();
        assert!(timeout(Duration::from_millis(50), stream.read(&mut [0])).await.is_err());
    }
}

#[tokio::test]
async fn what_is_endless_goes_on_until_the_client_leaves() {
    let server = start(quick()).await;
    for (fault, holds) in [
        ("endless:continue", "HTTP/1.1 100 "),
        ("endless:head", "x-more: and more\r\n"),
        ("endless:line", "data: more more "),
        ("endless:stream", "data: {\"choices\""),
    ] {
        let mut stream = ask(server.addr(), fault).await;
        let mut bytes = vec![0; 1 << 20];
        stream.read_exact(&mut bytes).await.unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(holds), "{fault}");
    }
}

#[tokio::test]
async fn a_rule_strikes_connections_before_their_requests() {
    let rule = |every, kind| ConnectionRule { every, kind };
    let connection_faults = vec![
        rule(4, ConnectionFault::Silent),
        rule(3, ConnectionFault::Reset),
        rule(2, ConnectionFault::Close),
    ];
    let server = start(SimConfig { connection_faults, ..quick() }).await;
    for expected in ["served", "closed", "reset", "silent", "served"] {
        let mut stream = TcpStream::connect(server.addr()).await.unwrap();
        // One that is struck at once may be gone by now.
        let _ = stream.write_all(b"GET /health HTTP/1.1\r\nhost: sim\r\n\r\n").await;
        let found = match timeout(Duration::from_millis(100), stream.read(&mut [0; 1024])).await {
            Err(_) => "silent",
            Ok(Ok(0)) => "closed",
            Ok(Ok(_)) => "served",
            // What was not read before a close is answered by a reset, too.
            Ok(Err(_)) if expected == "closed" => "closed",
            Ok(Err(_)) => "reset",
        };
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn a_restart_drops_every_connection_and_comes_back_at_its_address() {
    let pause = Duration::from_millis(200);
    let kind = streamgauge_sim::FaultKind::Restart { pause };
    let server = start(SimConfig { faults: vec![FaultRule { every: 2, kind }], ..quick() }).await;
    let mut idle = Client::connect(server.addr()).await;
    assert_eq!(idle.call("GET", "/health").await.0, 200);
    for round in 0..2 {
        let mut client = Client::connect(server.addr()).await;
        assert!(client.stream(&streaming("hello", 2)).await.end.is_ok(), "{round}");
        assert!(client.chat(&[], streaming("hello", 2)).await.is_err(), "{round}");
        assert!(TcpStream::connect(server.addr()).await.is_err(), "{round}: it is away");
        while TcpStream::connect(server.addr()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert!(idle.connection.await.is_ok(), "the idle connection was closed");
    let outcomes: Vec<_> = server.shutdown().await.iter().map(|request| request.outcome).collect();
    let (complete, faulted) = (RequestOutcome::Complete, RequestOutcome::Faulted);
    assert_eq!(outcomes, [complete, faulted, complete, faulted]);
}

#[tokio::test]
async fn without_streaming_the_one_object_is_spoiled() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let mut body = streaming("hello", 2);
    body["stream"] = false.into();
    let fault = WireFault::Http10.to_string();
    let response = client.chat(&[("x-sim-fault", &fault)], body).await.unwrap();
    assert_eq!(response.version(), hyper::Version::HTTP_10);
    assert_eq!(response.headers()["content-type"], "application/json");
}
