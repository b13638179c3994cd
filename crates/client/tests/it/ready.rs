//! Waiting for a server, and short questions to it.

use std::time::Duration;

use streamgauge_client::{Access, AskError, Endpoint, ask, wait_ready};
use streamgauge_schema::{Dialect, FailureClass};
use streamgauge_sim::{RawServer, RawStep, SimConfig};

use crate::sim::server;

async fn wait(url: &str, ms: u64) -> Result<(), AskError> {
    let endpoint = Endpoint::parse(url).unwrap();
    let timeout = Duration::from_millis(ms);
    wait_ready(&endpoint, &Access::default(), Dialect::OpenaiChat, timeout).await
}

fn status(code: u16) -> Vec<RawStep> {
    let text = format!("HTTP/1.1 {code} X\r\nContent-Length: 2\r\n\r\n{{}}");
    vec![RawStep::Write(text.into_bytes()), RawStep::Close]
}

#[tokio::test]
async fn a_server_is_ready_when_it_says_so() {
    let (_server, url) = server(SimConfig::default());
    assert_eq!(wait(&url, 60_000).await, Ok(()));
}

#[tokio::test]
async fn a_server_that_is_loading_is_waited_for() {
    // Models, health; models, health; …: each question comes on a connection of its own.
    for (answers, ready) in [
        (&[503, 503, 200, 503, 200, 200][..], true),
        (&[503, 503, 200, 404][..], true),
        (&[404, 503, 404, 200][..], true),
        (&[200, 503][..], false),
        (&[404, 404][..], false),
    ] {
        let scripts = answers.iter().map(|code| status(*code)).collect();
        let server = RawServer::start_scripts(scripts).await.unwrap();
        let url = format!("http://{}", server.addr());
        let waited = wait(&url, if ready { 60_000 } else { 600 }).await;
        assert_eq!(waited.is_ok(), ready, "{answers:?}: {waited:?}");
        if ready {
            assert_eq!(server.requests().len(), answers.len());
        }
    }
}

#[tokio::test]
async fn whom_nobody_reaches_is_named_with_the_reason() {
    let (server, url) = server(SimConfig::default());
    drop(server);
    let error = wait(&url, 300).await.unwrap_err();
    assert_eq!((error.class, error.status), (FailureClass::Connect, None));
    assert!(error.to_string().contains("refused"), "{error}");

    let loading = RawServer::start(status(503)).await.unwrap();
    let error = wait(&format!("http://{}", loading.addr()), 300).await.unwrap_err();
    assert_eq!(error.to_string(), "GET /v1/models: status 503: {}");
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_none() {
    let patience = Duration::from_secs(60);
    for (head, body, expected) in [
        ("Content-Length: 9", "total 123", Ok("total 123")),
        ("Content-Length: 12", "total 123", Err("GET /x: the answer was cut off after 9 bytes")),
        ("Transfer-Encoding: chunked", "9\r\ntotal 123\r\n0\r\n\r\n", Ok("total 123")),
        (
            "Transfer-Encoding: chunked",
            "9\r\ntotal 123\r\n",
            Err("GET /x: the answer was cut off after 9 bytes"),
        ),
        // Its end is the connection's.
        ("Connection: close", "total 123", Ok("total 123")),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        let steps = vec![RawStep::Write(text.into_bytes()), RawStep::Close];
        let server = RawServer::start(steps).await.unwrap();
        let endpoint = Endpoint::parse(&format!("http://{}", server.addr())).unwrap();
        let access = Access::default();
        let answer = ask(&endpoint, &access, Dialect::OpenaiChat, "/x", 100, patience).await;
        match expected {
            Ok(whole) => assert_eq!(answer.unwrap(), whole.as_bytes(), "{head}"),
            Err(message) => {
                let error = answer.unwrap_err();
                assert_eq!(error.class, FailureClass::PrematureEof, "{head}");
                assert_eq!(error.to_string(), message, "{head}");
            }
        }
    }
}
