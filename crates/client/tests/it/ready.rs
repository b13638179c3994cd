//! Waiting for a server.

use std::time::Duration;

use streamgauge_client::{Access, AskError, Endpoint, wait_ready};
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
