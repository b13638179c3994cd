//! Connections that close when they should not, and bodies that do not end when they should.

use std::time::Duration;

use streamgauge_client::Access;
use streamgauge_schema::{Completion, Dialect, Ending, FailureClass};
use streamgauge_sim::{RawServer, RawStep};

use crate::plan::{lines, lines_with, plan, request};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const EVENT: &str = r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;

fn chunk(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// A whole stream; the connection could be used again.
fn answer() -> RawStep {
    RawStep::Write(format!("{HEAD}{}{}0\r\n\r\n", chunk(EVENT), chunk("[DONE]")).into_bytes())
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced() {
    // The first answer promises keep-alive and closes; the client must notice before it sends.
    let scripts = vec![vec![answer(), RawStep::Close]];
    let server = RawServer::start_scripts(scripts).await.unwrap();
    let (lines, _) = lines(&plan(&format!("http://{}", server.addr()), 3, 1)).await;
    for line in &lines {
        assert_eq!(line.completion, Completion::Succeeded, "{:?}", line.failure);
    }
    let noticed: u64 =
        lines.iter().map(|line| line.stale_connections + u64::from(line.attempts - 1)).sum();
    assert_eq!(noticed, 2);
    assert!(
        lines
            .iter()
            .all(|line| line.attempts == 1 || line.last_attempt_started_us > line.started_us)
    );
}

/// vllm-project/vllm-omni#1374: such a request failed although the server was well.
#[tokio::test]
async fn a_reused_connection_that_closes_unanswered_is_tried_once_more() {
    for (resend, completion, class, attempts) in [
        (true, Completion::Succeeded, None, 2),
        (false, Completion::Failed, Some(FailureClass::ReusedConnectionClosed), 1),
    ] {
        let closes_at_second = vec![answer(), RawStep::AwaitRequest, RawStep::Close];
        let scripts = vec![closes_at_second, vec![answer(), RawStep::Hold]];
        let server = RawServer::start_scripts(scripts).await.unwrap();
        let mut plan = plan(&format!("http://{}", server.addr()), 2, 1);
        plan.instrument.resend = resend;
        let (lines, _) = lines(&plan).await;
        let second = &lines[1];
        assert_eq!(second.completion, completion);
        assert_eq!(second.failure.as_ref().map(|failure| failure.class), class);
        assert_eq!(second.attempts, attempts);
        if resend {
            assert!(second.last_attempt_started_us > second.started_us);
            let first_output = second.observation.as_ref().unwrap().first_output_us.unwrap();
            let between = second.last_attempt_started_us - second.started_us;
            assert!(first_output >= between, "latencies count from the first attempt");
        }
    }
}

#[tokio::test]
async fn on_a_fresh_connection_nothing_is_repeated() {
    let server = RawServer::start(vec![RawStep::Close]).await.unwrap();
    let (lines, _) = lines(&plan(&format!("http://{}", server.addr()), 1, 1)).await;
    assert_eq!(lines[0].attempts, 1);
    assert_eq!(lines[0].failure.as_ref().unwrap().class, FailureClass::PrematureEof);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_request_is_over_at_its_end_mark_though_the_body_goes_on() {
    let unended = format!("{HEAD}{}{}", chunk(EVENT), chunk("[DONE]"));
    let server =
        RawServer::start(vec![RawStep::Write(unended.into_bytes()), RawStep::Hold]).await.unwrap();
    let mut plan = plan(&format!("http://{}", server.addr()), 2, 1);
    plan.limits.idle_timeout_ms = 60_000;
    let (lines, _) = lines(&plan).await;
    for line in lines {
        let observation = line.observation.unwrap();
        assert_eq!(line.completion, Completion::Succeeded);
        assert_eq!(observation.ending, Some(Ending::Complete));
        assert!(observation.elapsed_us < 30_000_000);
    }
}

#[tokio::test]
async fn a_redirect_is_named_and_no_key_is_sent_where_it_leads() {
    let elsewhere = RawServer::start(vec![answer()]).await.unwrap();
    let mut access = Access::default();
    access.headers.add_api_key("s3cret-key", Dialect::OpenaiChat).unwrap();
    for status in [301, 302, 303, 307, 308] {
        let target = format!("http://{}/v1?key=s3cret-key", elsewhere.addr());
        let redirect =
            format!("HTTP/1.1 {status} Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
        let steps = vec![RawStep::Write(redirect.into_bytes()), RawStep::Close];
        let server = RawServer::start(steps).await.unwrap();
        let plan = plan(&format!("http://{}", server.addr()), 1, 1);
        let requests = |stage, index| request(stage, index, "");
        let (lines, _) = lines_with(&plan, &access, requests).await;
        let failure = lines[0].failure.as_ref().unwrap();
        assert_eq!(failure.class, FailureClass::HttpStatus);
        let shown = target.replace("s3cret-key", "[redacted]");
        let expected = format!("status {status}: redirects to {shown}, which is not followed");
        assert_eq!(failure.message, expected);
    }
    assert_eq!(elsewhere.requests(), Vec::<Vec<u8>>::new());
}

/// sub2api#4691: nothing on the way may hold the stream back to compress it.
#[tokio::test]
async fn a_plain_body_is_asked_for() {
    let server = RawServer::start(vec![answer(), RawStep::Close]).await.unwrap();
    let (lines, _) = lines(&plan(&format!("http://{}", server.addr()), 1, 1)).await;
    assert_eq!(lines[0].completion, Completion::Succeeded);
    let request = String::from_utf8(server.requests().remove(0)).unwrap();
    let head = request.split_once("\r\n\r\n").unwrap().0.to_lowercase();
    assert!(head.contains("accept-encoding: identity"), "{head}");
    let observation = lines[0].observation.as_ref().unwrap();
    assert!(lines[0].headers_us.unwrap() <= observation.first_event_us.unwrap());
}

#[tokio::test]
async fn two_events_in_two_reads_keep_their_two_stamps() {
    let first = format!("{HEAD}{}", chunk(r#"{"choices":[{"delta":{"content":"a"}}]}"#));
    let rest = format!("{}{}0\r\n\r\n", chunk(EVENT), chunk("[DONE]"));
    let pause = Duration::from_millis(30);
    let server = RawServer::start(vec![
        RawStep::Write(first.into_bytes()),
        RawStep::Wait(pause),
        RawStep::Write(rest.into_bytes()),
        RawStep::Close,
    ])
    .await
    .unwrap();
    let (lines, _) = lines(&plan(&format!("http://{}", server.addr()), 1, 1)).await;
    let observation = lines[0].observation.as_ref().unwrap();
    assert_eq!(observation.arrivals_us.len(), 2);
    // The server waited at least so long between its writes; the scheduler may add to it.
    assert!(observation.arrivals_us[1] >= 20_000, "{:?}", observation.arrivals_us);
}
