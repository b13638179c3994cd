//! Short questions to a server before a run, such as which models it has.

use std::future::poll_fn;
use std::time::Duration;

use streamgauge_schema::{Dialect, End, FailureClass, KernelStamps};

use crate::access::Access;
use crate::connect::Connector;
use crate::connection::Step;
use crate::endpoint::Endpoint;
use crate::error::AskError;
use crate::failed::not_followed;
use crate::no_head::no_head;
use crate::receive::redirect_of;
use crate::template::Template;
use crate::text::bounded;
use crate::way::{Unresolved, Way};

/// Longest list of models that is read.
const MAX_ANSWER: usize = 1 << 20;

/// A model that a server lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The name to ask for.
    pub id: String,
    /// Who owns it, as the server says.
    pub owned_by: Option<String>,
}

/// Asks for the models that a server lists at `/v1/models`, within `timeout`, with the headers and the
/// query that the dialect's requests have.
///
/// # Errors
/// When the server cannot be reached, or does not answer with a list of models; the class tells
/// which.
pub async fn list_models(
    endpoint: &Endpoint,
    access: &Access,
    dialect: Dialect,
    timeout: Duration,
) -> Result<Vec<Model>, AskError> {
    let path = "/v1/models";
    let answer = ask(endpoint, access, dialect, path, MAX_ANSWER, timeout).await?;
    let mut models = models_in(&answer).ok_or_else(|| AskError {
        path: endpoint.path(path),
        class: FailureClass::NotEventStream,
        status: None,
        message: "the answer is no list of models".to_owned(),
    })?;
    for model in &mut models {
        model.id = access.redact(&model.id);
    }
    Ok(models)
}

/// Asks for what lies at a path below the endpoint, within `timeout`, and reads at most `max_bytes`
/// of it.
///
/// # Errors
/// When the server cannot be reached, or does not answer with success; the class tells which.
pub async fn ask(
    endpoint: &Endpoint,
    access: &Access,
    dialect: Dialect,
    path: &str,
    max_bytes: usize,
    timeout: Duration,
) -> Result<Vec<u8>, AskError> {
    let too_late = |_| {
        Err(Unanswered::new(FailureClass::DeadlineExceeded, format!("no answer in {timeout:?}")))
    };
    tokio::time::timeout(timeout, get(endpoint, access, dialect, path, max_bytes))
        .await
        .unwrap_or_else(too_late)
        .map_err(|unanswered| AskError {
            path: endpoint.path(path),
            class: unanswered.class,
            status: unanswered.status,
            message: bounded(&access.redact(&unanswered.message)),
        })
}

fn models_in(answer: &[u8]) -> Option<Vec<Model>> {
    let answer: serde_json::Value = serde_json::from_slice(answer).ok()?;
    let models = answer.get("data")?.as_array()?;
    models
        .iter()
        .map(|model| {
            let text = |member| Some(model.get(member)?.as_str()?.to_owned());
            Some(Model { id: text("id")?, owned_by: text("owned_by") })
        })
        .collect()
}

/// Why a question has no answer; the message as it came.
struct Unanswered {
    class: FailureClass,
    status: Option<u16>,
    message: String,
}

impl Unanswered {
    fn new(class: FailureClass, message: impl ToString) -> Self {
        Self { class, status: None, message: message.to_string() }
    }
}

async fn get(
    endpoint: &Endpoint,
    access: &Access,
    dialect: Dialect,
    api_path: &str,
    max_bytes: usize,
) -> Result<Vec<u8>, Unanswered> {
    let way = Way::find(endpoint, access).await.map_err(|Unresolved { host, reason }| {
        Unanswered::new(FailureClass::Dns, format!("cannot resolve {host}: {reason}"))
    })?;
    let template = Template::new(endpoint, api_path, dialect, access)
        .map_err(|error| Unanswered::new(FailureClass::RunnerError, error))?;
    // The caller's limit on the whole question is the shorter one.
    let connector = Connector::new(way, Duration::from_secs(3600), KernelStamps::Off);
    let mut connection =
        connector.connect().await.map_err(|error| Unanswered::new(error.class, error))?;
    let ready = connection.ready().await;
    ready.map_err(|error| Unanswered::new(FailureClass::PrematureEof, error))?;
    let mut exchange = connection.exchange(template.get());
    let mut status = 0;
    let mut redirect = None;
    let mut answer = Vec::new();
    let end = loop {
        match poll_fn(|cx| exchange.poll_step(cx)).await {
            Step::Head(head) => {
                status = head.status.as_u16();
                redirect = redirect_of(&head);
            }
            Step::Bytes(bytes) if answer.len() + bytes.len() <= max_bytes => {
                answer.extend_from_slice(&bytes);
            }
            Step::Bytes(_) => {
                let message = format!("the answer is longer than {max_bytes} bytes");
                return Err(Unanswered::new(FailureClass::OversizedEvent, message));
            }
            Step::Broken(error) => {
                let unanswered = no_head(&error, exchange.connection().tap());
                return Err(Unanswered::new(unanswered.class, unanswered));
            }
            Step::End(end) => break end,
        }
    };
    if !(200..300).contains(&status) {
        let text = match redirect {
            Some(target) => not_followed(&target),
            None => String::from_utf8_lossy(&answer).into_owned(),
        };
        let message = format!("status {status}: {text}");
        return Err(Unanswered { class: FailureClass::HttpStatus, status: Some(status), message });
    }
    // What is there of it may read like a whole one, with the last number short of some digits.
    if end != End::Clean {
        let message = format!("the answer was cut off after {} bytes", answer.len());
        return Err(Unanswered::new(FailureClass::PrematureEof, message));
    }
    Ok(answer)
}
