//! Everything but the streams.

use http_body_util::{BodyExt, Full};
use hyper::Request;
use serde_json::{Value, json};
use streamgauge_sim::{RequestOutcome, Sim, SimConfig, SimError, spawn_thread};

use crate::client::{Client, quick, read_json, settled, start, streaming};

#[tokio::test]
async fn the_models_are_exactly_the_one() {
    let server = start(SimConfig { model: "tiny-7".to_owned(), ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    let (status, models) = client.call("GET", "/v1/models").await;
    assert_eq!((status, &models["object"]), (200, &json!("list")));
    let ids: Vec<&Value> =
        models["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, ["tiny-7"]);
    assert_eq!(client.call("GET", "/health").await, (200, json!({"status": "ok"})));
}

#[tokio::test]
async fn what_is_not_served_is_said() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let cases = [
        ("GET", "/v1/completions", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/health", 405),
    ];
    for (method, path, expected) in cases {
        let (status, body) = client.call(method, path).await;
        assert_eq!(status, expected);
        assert_eq!(body["error"]["message"], format!("{method} {path} is not served"));
    }
    assert!(server.account().is_empty());
}

#[tokio::test]
async fn a_bad_request_is_answered_and_accounted_for() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let hello = json!([{"role": "user", "content": "hello"}]);
    let cases = [
        ("{\"model\": ".to_owned(), 400, json!(null), json!(null)),
        (json!({"messages": hello}).to_string(), 400, json!(null), json!(null)),
        (
            json!({"model": "gpt", "messages": hello}).to_string(),
            404,
            json!("model"),
            json!("model_not_found"),
        ),
        (
            json!({"model": "sim-model", "messages": hello, "max_tokens": 1_000_000}).to_string(),
            400,
            json!("max_tokens"),
            json!(null),
        ),
    ];
    for (body, expected, param, code) in cases {
        let (status, answer) = read_json(client.chat(&[], &body).await.unwrap()).await;
        assert_eq!(status, expected, "{body}");
        let error = &answer["error"];
        assert_eq!(
            (&error["type"], &error["param"], &error["code"]),
            (&json!("invalid_request_error"), &param, &code)
        );
        let account = server.account().pop().unwrap();
        assert_eq!((account.outcome, account.status), (RequestOutcome::Rejected, Some(expected)));
    }
    let response = client.chat(&[("x-sim-fault", "explode")], streaming("hello", 1)).await.unwrap();
    let (status, answer) = read_json(response).await;
    assert_eq!((status, &answer["error"]["param"]), (400, &json!("x-sim-fault")));
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let server = start(SimConfig { max_body_bytes: 1000, ..quick() }).await;
    let mut client = Client::connect(server.addr()).await;
    let (status, answer) = read_json(client.chat(&[], " ".repeat(1001)).await.unwrap()).await;
    assert_eq!(
        (status, &answer["error"]["message"]),
        (413, &json!("the body is larger than 1000 bytes"))
    );
    assert!(server.account().is_empty());
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let bad = SimConfig { tokens_per_event: 0, ..quick() };
    let local = ([127, 0, 0, 1], 0).into();
    let error = Sim::start(bad.clone(), local).await.unwrap_err();
    assert_eq!(error.to_string(), "tokens_per_event is 0, expected at least 1");
    assert!(matches!(spawn_thread(bad, local), Err(SimError::Setting { .. })));

    let server = start(quick()).await;
    let error = spawn_thread(quick(), server.addr()).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot listen on {}", server.addr()));
}

#[tokio::test]
async fn what_was_served_is_counted_at_metrics() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    client.stream(&streaming("three small words", 5)).await;
    settled(&server).await;
    let request = Request::get("/metrics").body(Full::default()).unwrap();
    let response = client.send(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = response.into_body().collect().await.unwrap().to_bytes();
    let text = std::str::from_utf8(&text).unwrap();
    for sample in [
        "vllm:num_requests_running{engine=\"0\",model_name=\"sim-model\"} 0.0",
        "vllm:prompt_tokens_total{engine=\"0\",model_name=\"sim-model\"} 3.0",
        "vllm:generation_tokens_total{engine=\"0\",model_name=\"sim-model\"} 5.0",
    ] {
        assert!(text.lines().any(|line| line == sample), "{text}");
    }
}
