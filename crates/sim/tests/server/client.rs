//! A small client: one connection, requests one after another.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use streamgauge_sim::{RequestAccount, RequestOutcome, Sim, SimConfig, SimServer, monotonic_ns};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Fast enough for a test, slow enough that events are told apart.
pub(crate) fn quick() -> SimConfig {
    SimConfig {
        event_times: true,
        interval: Duration::from_millis(3),
        ttft: Duration::from_millis(10),
        ..SimConfig::default()
    }
}

pub(crate) async fn start(config: SimConfig) -> SimServer {
    Sim::start(config, ([127, 0, 0, 1], 0).into()).await.expect("a free port")
}

/// A request body that asks for a stream with usage.
pub(crate) fn streaming(prompt: &str, max_tokens: u32) -> Value {
    json!({
        "max_tokens": max_tokens,
        "messages": [{"role": "user", "content": prompt}],
        "model": "sim-model",
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

pub(crate) struct Client {
    /// Ends when the connection does.
    pub(crate) connection: JoinHandle<hyper::Result<()>>,
    sender: SendRequest<Full<Bytes>>,
}

/// A stream as it arrived.
pub(crate) struct Stream {
    /// When each event was read, on the server's clock.
    pub(crate) arrivals_ns: Vec<u64>,
    /// How the body ended.
    pub(crate) end: hyper::Result<()>,
    /// The data of each event, in order.
    pub(crate) events: Vec<String>,
}

impl Client {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.expect("a listening server");
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.expect("a fresh connection");
        Self { connection: tokio::spawn(connection), sender }
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }

    pub(crate) async fn call(&mut self, method: &str, path: &str) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .body(Full::default())
            .expect("a valid request");
        read_json(self.send(request).await.expect("a response")).await
    }

    pub(crate) async fn chat(
        &mut self,
        headers: &[(&str, &str)],
        body: impl ToString,
    ) -> hyper::Result<Response<Incoming>> {
        let mut request = Request::post("/v1/chat/completions");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Full::from(body.to_string())).expect("a valid request")).await
    }

    pub(crate) async fn stream(&mut self, body: &Value) -> Stream {
        read_stream(self.chat(&[], body).await.expect("a response")).await
    }
}

pub(crate) async fn read_json(response: Response<Incoming>) -> (u16, Value) {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    (status, serde_json::from_slice(&body).expect("a JSON body"))
}

pub(crate) async fn read_stream(response: Response<Incoming>) -> Stream {
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    let (mut arrivals_ns, mut events, mut unread) = (Vec::new(), Vec::new(), String::new());
    let end = loop {
        match body.frame().await {
            None => break Ok(()),
            Some(Err(error)) => break Err(error),
            Some(Ok(frame)) => {
                let at_ns = monotonic_ns();
                let data = frame.into_data().expect("no trailers are sent");
                unread.push_str(std::str::from_utf8(&data).expect("text"));
                while let Some((event, rest)) = unread.split_once("\n\n") {
                    events.push(event.strip_prefix("data: ").expect("a data line").to_owned());
                    arrivals_ns.push(at_ns);
                    unread = rest.to_owned();
                }
            }
        }
    };
    assert_eq!(unread, "", "every event is closed by an empty line");
    Stream { arrivals_ns, end, events }
}

impl Stream {
    /// Each event in short: the role, a text with its channel, the finish reason, the usage or the
    /// end mark.
    pub(crate) fn outline(&self) -> Vec<String> {
        self.events.iter().map(|event| outline(event)).collect()
    }

    pub(crate) fn text(&self, channel: &str) -> String {
        self.chunks()
            .iter()
            .filter_map(|chunk| chunk["choices"][0]["delta"][channel].as_str())
            .collect()
    }

    pub(crate) fn chunks(&self) -> Vec<Value> {
        self.events.iter().filter_map(|event| serde_json::from_str(event).ok()).collect()
    }
}

fn outline(event: &str) -> String {
    let Ok(chunk) = serde_json::from_str::<Value>(event) else { return event.to_owned() };
    let choice = &chunk["choices"][0];
    let delta = &choice["delta"];
    if let Some(role) = delta["role"].as_str() {
        format!("role {role}")
    } else if let Some(text) = delta["reasoning_content"].as_str() {
        format!("reasoning `{text}`")
    } else if let Some(text) = delta["content"].as_str() {
        format!("content `{text}`")
    } else if let Some(reason) = choice["finish_reason"].as_str() {
        format!("finish {reason}")
    } else {
        format!(
            "usage {} of {}",
            chunk["usage"]["completion_tokens"], chunk["usage"]["total_tokens"]
        )
    }
}

/// Waits until the server has received a request and settled the account of the latest one.
pub(crate) async fn settled(server: &SimServer) -> RequestAccount {
    loop {
        match server.account().pop() {
            Some(account) if account.outcome != RequestOutcome::Open => return account,
            _ => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}
