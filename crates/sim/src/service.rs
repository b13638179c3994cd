//! Routes, and what a request is answered with. Sending the answer is the part of `paced`.

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use hyper::http::response::Builder;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use crate::account::{Entry, RequestOutcome};
use crate::account_json;
use crate::alarm::Alarms;
use crate::answer::{Answer, compose};
use crate::api_error::ApiError;
use crate::chat::ChatRequest;
use crate::crossing::Met;
use crate::engine::{Event, Plan, Step};
use crate::faults::{FaultKind, WireFault, by_rule, parse_order};
use crate::metrics;
use crate::paced::{Delivery, PacedBody, Severed};
use crate::render::Renderer;
use crate::seeded::{Purpose, generator};
use crate::server::Sim;
use crate::socket::Tap;
use crate::wire::{Proper, Script};

type Answered = Response<Either<Full<Bytes>, PacedBody>>;

/// Answers one request of the connection that `tap` belongs to.
pub(crate) async fn answer(
    sim: Arc<Sim>,
    alarms: Alarms,
    tap: Arc<Tap>,
    request: Request<Incoming>,
) -> Result<Answered, Severed> {
    const ROUTES: &[&str] = &[
        "/health",
        "/metrics",
        "/sim/account",
        "/sim/stamps",
        "/v1/chat/completions",
        "/v1/models",
    ];
    let path = request.uri().path();
    Ok(match (request.method(), path) {
        (&Method::POST, "/v1/chat/completions") => return chat(&sim, alarms, tap, request).await,
        (&Method::GET, "/health") => document(json!({"status": "ok"}).to_string()),
        (&Method::GET, "/metrics") => {
            let response = Response::builder().header(CONTENT_TYPE, metrics::CONTENT_TYPE);
            let text = metrics::exposition(&sim.config, sim.account.totals());
            built(response, Either::Left(Full::new(text.into())))
        }
        (&Method::GET, "/v1/models") => {
            let id = &sim.config.model;
            let model = json!({"id": id, "object": "model", "created": 0, "owned_by": "sim"});
            document(json!({"object": "list", "data": [model]}).to_string())
        }
        (&Method::GET, "/sim/account") => document(account_json::account(&sim.account)),
        (&Method::GET, "/sim/stamps") => document(account_json::stamps(&sim.account)),
        (&Method::DELETE, "/sim/account") => {
            sim.account.clear();
            document(account_json::account(&sim.account))
        }
        (method, path) => {
            let status = if ROUTES.contains(&path) {
                StatusCode::METHOD_NOT_ALLOWED
            } else {
                StatusCode::NOT_FOUND
            };
            refusal(&ApiError::new(status, format!("{method} {path} is not served")), None)
        }
    })
}

async fn chat(
    sim: &Sim,
    alarms: Alarms,
    tap: Arc<Tap>,
    request: Request<Incoming>,
) -> Result<Answered, Severed> {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, sim.config.max_body_bytes).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("the body is larger than {} bytes", sim.config.max_body_bytes);
            return Ok(refusal(&ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message), None));
        }
        // The client went away in the middle of its request.
        Err(_) => return Err(Severed),
    };
    let receipt = tap.last_read();
    let id = text_header(&head.headers, "x-request-id").map(str::to_owned);
    let entry = sim.account.open(receipt, id);

    let (mut request, fault) = match admit(sim, &head.headers, &body, &entry) {
        Ok(admitted) => admitted,
        Err(error) => return Ok(rejection(&entry, &error, None)),
    };
    if let Some(FaultKind::Status { code, retry_after_s }) = fault {
        let status = StatusCode::from_u16(code).expect("a fault's code is 400 to 599");
        let error = ApiError::new(status, format!("simulated status {code}"));
        return Ok(rejection(&entry, &error, retry_after_s));
    }
    if let Some(FaultKind::Restart { pause }) = fault {
        entry.conclude(RequestOutcome::Faulted);
        sim.restart.order(pause);
        return pending().await;
    }

    request.cached_words =
        sim.config.prompt_cache.then(|| sim.prompt_cache.take(&request.prompt.text));

    let model = match fault {
        Some(FaultKind::OtherModel) => format!("{}-other", request.model),
        _ => request.model.clone(),
    };
    let delivery = Delivery {
        alarms,
        events_per_write: sim.config.events_per_write,
        renderer: Renderer::new(&request, &model, entry.ordinal(), unix_seconds()),
        entry: Arc::new(entry),
        received_ns: receipt.read_ns,
        tap,
        then_close: request.stream && sim.config.close_after_stream,
    };
    let answer = answer_to(sim, &request, fault, &delivery).await;
    let plan = Plan::new(&sim.config, &request, answer, &delivery.entry.id());
    let plan = match fault {
        Some(fault) => plan.with_fault(fault),
        None => plan,
    };
    if let Some(FaultKind::Wire(fault)) = fault {
        return spoil(fault, plan, delivery).await;
    }
    let Some(head_due) = plan.head else {
        return Err(poll_fn(|_| delivery.poll_cut(plan.end)).await);
    };
    delivery.alarms.until(delivery.due_ns(head_due)).await;
    delivery.entry.answered(StatusCode::OK.as_u16());
    let mut response = Response::builder().header("x-request-id", delivery.entry.id());
    response = if request.stream {
        response.header(CONTENT_TYPE, "text/event-stream").header(CACHE_CONTROL, "no-cache")
    } else {
        response.header(CONTENT_TYPE, "application/json")
    };
    if delivery.then_close {
        response = response.header("keep-alive", "timeout=5, max=100");
    }
    Ok(built(response, Either::Right(PacedBody::new(delivery, plan))))
}

/// Hands the connection over to the script that a fault makes of a response, once its first output is
/// due.
async fn spoil(fault: WireFault, plan: Plan, mut delivery: Delivery) -> Result<Answered, Severed> {
    let is_output = |step: &&Step| matches!(step.event, Event::Output { .. } | Event::Whole);
    let due = plan.steps.iter().find(is_output).map_or(Duration::ZERO, |step| step.due);
    delivery.alarms.until(delivery.due_ns(due)).await;
    let content_type = if plan.is_whole() { "application/json" } else { "text/event-stream" };
    let mut pieces = Vec::new();
    for step in &plan.steps {
        delivery.renderer.render(&plan.answer, &step.event);
        pieces.push(delivery.renderer.take());
    }
    let script = Script::new(fault, &Proper { content_type, pieces });
    if let Some(status) = script.status {
        delivery.entry.answered(status);
    }
    delivery.entry.conclude(RequestOutcome::Faulted);
    delivery.tap.order_script(script.steps);
    // Whoever plays the script drops this answer.
    pending().await
}

/// The answer that the request gets: its own, unless a fault makes it another one. One that is to
/// cross waits for another request until its first output is due.
async fn answer_to(
    sim: &Sim,
    request: &ChatRequest,
    fault: Option<FaultKind>,
    delivery: &Delivery,
) -> Answer {
    let own = compose(&sim.config, &request.prompt, request.limits);
    let met = match fault {
        None => sim.crossing.pass(own),
        Some(FaultKind::Cross) => {
            let first = Plan::first_output(&sim.config, request, &delivery.entry.id());
            sim.crossing.wait(own, delivery.alarms.until(delivery.due_ns(first))).await
        }
        Some(fault) => {
            let mut rng = generator(sim.config.seed, Purpose::Fault, &request.prompt.text);
            return own.with_fault(fault, &mut rng);
        }
    };
    match met {
        Met::Other(answer) => {
            delivery.entry.admit(request.stream, Some(FaultKind::Cross));
            answer
        }
        Met::Nobody(answer) => answer,
    }
}

/// Checks a request and finds the fault that is ordered for it.
fn admit(
    sim: &Sim,
    headers: &HeaderMap,
    body: &[u8],
    entry: &Entry,
) -> Result<(ChatRequest, Option<FaultKind>), ApiError> {
    let request = ChatRequest::parse(body)?;
    if request.model != sim.config.model {
        return Err(ApiError::unknown_model(&request.model));
    }
    let ordered = text_header(headers, "x-sim-fault").map(parse_order).transpose();
    let ordered =
        ordered.map_err(|error| ApiError::bad_request(Some("x-sim-fault"), error.to_string()))?;
    let fault =
        ordered.or(request.order).unwrap_or_else(|| by_rule(&sim.config.faults, entry.ordinal()));
    entry.admit(request.stream, fault);
    entry.prompted(request.prompt_words);
    Ok((request, fault))
}

fn text_header<'a>(headers: &'a HeaderMap, name: &'static str) -> Option<&'a str> {
    headers.get(HeaderName::from_static(name)).and_then(|value| value.to_str().ok())
}

fn rejection(entry: &Entry, error: &ApiError, retry_after_s: Option<u64>) -> Answered {
    entry.answered(error.status.as_u16());
    entry.conclude(RequestOutcome::Rejected);
    refusal(error, retry_after_s)
}

fn refusal(error: &ApiError, retry_after_s: Option<u64>) -> Answered {
    let mut response =
        Response::builder().status(error.status).header(CONTENT_TYPE, "application/json");
    if let Some(seconds) = retry_after_s {
        response = response.header(RETRY_AFTER, seconds);
    }
    built(response, Either::Left(Full::new(error.body())))
}

fn document(json: impl Into<Bytes>) -> Answered {
    let response = Response::builder().header(CONTENT_TYPE, "application/json");
    built(response, Either::Left(Full::new(json.into())))
}

fn built(response: Builder, body: Either<Full<Bytes>, PacedBody>) -> Answered {
    response.body(body).expect("names and values are constants, numbers or came as a header")
}

/// Only labels the response (`created`).
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
