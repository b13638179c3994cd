//! Each fault once, and who may order it.

use std::error::Error;
use std::io;
use std::time::Duration;

use serde_json::json;
use streamgauge_sim::{FaultKind, FaultPoint, FaultRule, RequestOutcome, SimConfig};
use tokio::time::timeout;

use crate::client::{Client, quick, read_json, read_stream, settled, start, streaming};

/// Long against the intervals of a test; a stall is told from a slow event by it.
const PATIENCE: Duration = Duration::from_millis(200);

/// Whether a connection was torn down, somewhere in the causes of an error.
fn is_reset(error: &hyper::Error) -> bool {
    std::iter::successors(error.source(), |&cause| cause.source())
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::ConnectionReset)
}

#[tokio::test]
async fn connections_end_after_the_ordered_number_of_events() {
    let server = start(quick()).await;
    for (fault, outputs, ends_well, reset) in [
        ("close:0", 0, false, false),
        ("close:3", 3, false, false),
        ("end:2", 2, true, false),
        ("reset:0", 0, false, true),
        ("reset:3", 3, false, true),
        ("reset:99", 5, false, true),
    ] {
        let mut client = Client::connect(server.addr()).await;
        let response = client.chat(&[("x-sim-fault", fault)], streaming("hello", 5)).await.unwrap();
        let stream = read_stream(response).await;
        let contents = stream.outline().iter().filter(|event| event.starts_with("content")).count();
        assert_eq!(contents, outputs, "{fault}");
        assert_eq!(stream.events.len(), outputs + 1, "{fault}: role and output, no more");
        assert_eq!(stream.end.is_ok(), ends_well, "{fault}");
        assert_eq!(stream.end.is_err_and(|error| is_reset(&error)), reset, "{fault}");
        let account = settled(&server).await;
        assert_eq!(
            (account.outcome, account.output_events),
            (RequestOutcome::Faulted, outputs as u64),
            "{fault}"
        );
        assert_eq!(account.fault, Some(fault.parse().unwrap()));
    }
}

#[tokio::test]
async fn connections_end_before_the_head() {
    let server = start(quick()).await;
    for (fault, reset) in [("close:head", false), ("reset:head", true)] {
        for stream in [true, false] {
            let mut client = Client::connect(server.addr()).await;
            let mut body = streaming("hello", 5);
            body["stream"] = stream.into();
            let error = client.chat(&[("x-sim-fault", fault)], body).await.unwrap_err();
            assert_eq!(is_reset(&error), reset, "{fault}: {error:?}");
            let account = settled(&server).await;
            assert_eq!(
                (account.outcome, account.status, account.events),
                (RequestOutcome::Faulted, None, 0)
            );
        }
    }
}

#[tokio::test]
async fn without_streaming_the_body_is_missing() {
    let server = start(quick()).await;
    for (fault, reset) in [("close:1", false), ("end:1", false), ("reset:1", true)] {
        let mut client = Client::connect(server.addr()).await;
        let mut body = streaming("hello", 5);
        body["stream"] = false.into();
        let response = client.chat(&[("x-sim-fault", fault)], body).await.unwrap();
        let error = http_body_util::BodyExt::collect(response.into_body()).await.unwrap_err();
        assert_eq!(is_reset(&error), reset, "{fault}: {error:?}");
        assert_eq!(settled(&server).await.outcome, RequestOutcome::Faulted);
    }
}

#[tokio::test]
async fn a_stall_is_silent_until_the_client_leaves() {
    for (fault, status, outputs) in [("stall:head", None, 0), ("stall:2", Some(200), 2)] {
        let server = start(quick()).await;
        let mut client = Client::connect(server.addr()).await;
        let mut reading = tokio::spawn(async move {
            let response = client.chat(&[("x-sim-fault", fault)], streaming("hello", 5)).await;
            read_stream(response.expect("a head")).await
        });
        let account = settled(&server).await;
        assert_eq!((account.outcome, account.status), (RequestOutcome::Faulted, status), "{fault}");
        assert_eq!(account.output_events, outputs, "{fault}");
        assert!(timeout(PATIENCE, &mut reading).await.is_err(), "{fault}");
        reading.abort();
    }
}

#[tokio::test]
async fn a_stall_with_an_end_is_a_pause() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let response =
        client.chat(&[("x-sim-fault", "stall:2:60")], streaming("hello", 4)).await.unwrap();
    assert!(read_stream(response).await.end.is_ok());
    let account = settled(&server).await;
    assert_eq!(account.outcome, RequestOutcome::Complete);
    // The third event is due one interval and the pause after the second, which may be late itself.
    let third_ns = account.output_ns[2] - account.received_ns;
    assert!(third_ns >= 76_000_000, "{third_ns}");
}

#[tokio::test]
async fn an_error_status_replaces_the_answer_and_keeps_the_connection() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    for (fault, status, retry_after, kind) in [
        ("status:429:2", 429, Some("2"), "rate_limit_error"),
        ("status:400", 400, None, "invalid_request_error"),
        ("status:503", 503, None, "server_error"),
    ] {
        let response = client.chat(&[("x-sim-fault", fault)], streaming("hello", 5)).await.unwrap();
        let header =
            response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header.as_deref(), retry_after);
        let (answered, body) = read_json(response).await;
        let message = format!("simulated status {status}");
        assert_eq!(answered, status);
        assert_eq!(
            body,
            json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
        );
        let account = settled(&server).await;
        assert_eq!((account.outcome, account.status), (RequestOutcome::Rejected, Some(status)));
    }
}

#[tokio::test]
async fn the_header_overrules_the_body_and_the_body_the_rules() {
    let kind = FaultKind::Close(FaultPoint::AfterOutputs(1));
    let server = start(SimConfig { faults: vec![FaultRule { every: 2, kind }], ..quick() }).await;
    let cases = [
        (None, None, None),
        (None, None, Some("close:1")),
        (None, Some("end:1"), Some("end:1")),
        (None, Some("none"), None),
        (Some("end:2"), Some("end:1"), Some("end:2")),
        (Some("none"), Some("end:1"), None),
    ];
    for (header, member, expected) in cases {
        let mut client = Client::connect(server.addr()).await;
        let mut body = streaming("hello", 3);
        if let Some(fault) = member {
            body["sim"] = json!({"fault": fault});
        }
        let headers: Vec<(&str, &str)> =
            header.map(|fault| ("x-sim-fault", fault)).into_iter().collect();
        let _ = read_stream(client.chat(&headers, body).await.unwrap()).await;
        let fault = settled(&server).await.fault.map(|fault| fault.to_string());
        assert_eq!(fault.as_deref(), expected, "{header:?} {member:?}");
    }
}
