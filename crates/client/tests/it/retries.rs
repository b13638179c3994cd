//! Requests that are sent again by policy, and only then.

use streamgauge_client::Access;
use streamgauge_schema::{Completion, FailureClass, RequestLine, Retries};
use streamgauge_sim::{RawServer, RawStep};

use crate::plan::{lines_with, plan, request};

const EVENT: &str = r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;

/// A refusal, after which the connection is closed.
fn refusal(status: u16, more: &str) -> Vec<RawStep> {
    let head =
        format!("HTTP/1.1 {status} No\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n");
    vec![RawStep::Write(head.into_bytes()), RawStep::Close]
}

fn answer() -> Vec<RawStep> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let body = format!("data: {EVENT}\n\ndata: [DONE]\n\n");
    vec![RawStep::Write([head, &body].concat().into_bytes()), RawStep::Close]
}

/// What becomes of one request, and how many requests the server got.
async fn sent(
    scripts: Vec<Vec<RawStep>>,
    most: u64,
    duration_ms: Option<u64>,
) -> (RequestLine, usize) {
    let server = RawServer::start_scripts(scripts).await.unwrap();
    let mut plan = plan(&format!("http://{}", server.addr()), 1, 1);
    plan.load.duration_ms = duration_ms;
    plan.retries = (most > 0).then_some(Retries { most, longest_pause_ms: 5_000 });
    let of = |stage, index| request(stage, index, "");
    let (mut lines, _) = lines_with(&plan, &Access::default(), of).await;
    (lines.remove(0), server.requests().len())
}

#[tokio::test]
async fn a_refused_request_is_sent_again_and_counts_from_its_first_attempt() {
    for status in [429, 503] {
        let refused = || refusal(status, "Retry-After: 0\r\n");
        let (line, requests) = sent(vec![refused(), refused(), answer()], 3, None).await;
        assert_eq!((line.completion, line.attempts, requests), (Completion::Succeeded, 3, 3));
        assert_eq!(line.retried.len(), 2);
        let mut at = line.started_us;
        for attempt in &line.retried {
            assert_eq!(attempt.class, FailureClass::HttpStatus);
            assert_eq!(attempt.http_status, Some(status));
            assert!(attempt.started_us >= at, "{line:?}");
            at = attempt.started_us + attempt.elapsed_us + attempt.paused_us;
        }
        assert!(line.last_attempt_started_us >= at, "{line:?}");
        let first_output = line.observation.unwrap().first_output_us.unwrap();
        assert!(first_output >= line.last_attempt_started_us - line.started_us);
    }
}

#[tokio::test]
async fn nothing_is_sent_again_without_a_policy_a_reason_or_the_time() {
    let after = |seconds: u64| format!("Retry-After: {seconds}\r\n");
    for (most, status, more, duration_ms) in [
        (0, 429, after(0), None),
        (3, 429, String::new(), None),
        (3, 500, after(0), None),
        // Longer than the policy allows.
        (3, 503, after(6), None),
        // Later than the load has time.
        (3, 503, after(2), Some(1_000)),
    ] {
        let scripts = vec![refusal(status, &more), answer()];
        let (line, requests) = sent(scripts, most, duration_ms).await;
        assert_eq!((line.completion, line.attempts), (Completion::Failed, 1), "{status} {more}");
        assert_eq!((line.retried.len(), requests), (0, 1), "{status} {more}");
    }
    // And no more often than the policy allows.
    let (line, requests) = sent(vec![refusal(429, &after(0))], 2, None).await;
    assert_eq!((line.completion, line.attempts), (Completion::Failed, 3));
    assert_eq!((line.retried.len(), requests), (2, 3));
}

#[tokio::test]
async fn a_connection_that_is_refused_is_tried_again_after_a_pause_that_doubles() {
    let mut plan = plan("http://127.0.0.1:1", 1, 1);
    plan.retries = Some(Retries { most: 2, longest_pause_ms: 5_000 });
    let of = |stage, index| request(stage, index, "");
    let (lines, _) = lines_with(&plan, &Access::default(), of).await;
    let line = &lines[0];
    assert_eq!((line.completion, line.attempts), (Completion::Failed, 3));
    assert_eq!(line.failure.as_ref().unwrap().class, FailureClass::Connect);
    let paused: Vec<bool> = line
        .retried
        .iter()
        .zip([250_000, 500_000])
        .map(|(attempt, least)| {
            attempt.class == FailureClass::Connect && attempt.paused_us >= least
        })
        .collect();
    assert_eq!(paused, [true, true], "{line:?}");
}
