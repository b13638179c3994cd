//! How long connections live.

use streamgauge_sim::{RequestOutcome, SimConfig};

use crate::client::{Client, quick, read_stream, settled, start, streaming};

#[tokio::test]
async fn a_connection_carries_many_requests() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    for round in 1..=3 {
        assert!(client.stream(&streaming("hello", 2)).await.end.is_ok());
        assert_eq!(client.call("GET", "/health").await.0, 200);
        assert_eq!(server.account().len(), round);
    }
    assert!(!client.connection.is_finished());
}

#[tokio::test]
async fn close_after_stream_breaks_the_promise_of_the_head() {
    let server = start(SimConfig { close_after_stream: true, ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    assert_eq!(client.call("GET", "/health").await.0, 200);
    let response = client.chat(&[], streaming("hello", 2)).await.unwrap();
    assert_eq!(response.headers()["keep-alive"], "timeout=5, max=100");
    assert!(!response.headers().contains_key("connection"));
    let stream = read_stream(response).await;
    assert!(stream.end.is_ok());
    assert_eq!(stream.events.last().unwrap(), "[DONE]");
    assert!(client.connection.await.unwrap().is_ok());
    assert_eq!(settled(&server).await.outcome, RequestOutcome::Complete);
}

#[tokio::test]
async fn shutdown_drops_what_is_under_way() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let response = client.chat(&[], streaming("hello", 10_000)).await.unwrap();
    let account = server.shutdown().await.pop().unwrap();
    assert_eq!(account.outcome, RequestOutcome::Disconnected);
    assert!(read_stream(response).await.end.is_err());
}
