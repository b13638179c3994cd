//! Why a request did not succeed, in words: what happened, and what had come by then.

use streamgauge_observer::Observed;
use streamgauge_schema::{AnomalyKind, Failure, FailureClass, Limits, Observation};

use crate::budget::MAX_HELD_BYTES;

/// What is said of a redirect.
pub(crate) fn not_followed(target: &str) -> String {
    format!("redirects to {target}, which is not followed")
}

/// Why an observed response did not succeed; `None` when it did.
pub(crate) fn of_observed(observed: &Observed, redirect: Option<&str>) -> Option<Failure> {
    let observation = &observed.observation;
    if let Some(error) = &observation.error {
        let message = match (&error.message, error.class) {
            (_, FailureClass::HttpStatus) => refused(observed, redirect),
            (Some(message), _) => message.clone(),
            (None, FailureClass::OverBudget) => format!(
                "all responses under way together took {} MiB of memory, which is the most; this one \
                 was ended after {}",
                MAX_HELD_BYTES >> 20,
                so_far(observation)
            ),
            (None, class) => {
                let so_far = so_far(observation);
                format!("{class} after {so_far}{}{}", encoded(observation), body(observed))
            }
        };
        return Some(Failure { class: error.class, message });
    }
    (!observation.succeeded()).then(|| Failure {
        class: FailureClass::NoOutput,
        message: match observation.events {
            1 => "1 event, without output".to_owned(),
            events => format!("{events} events, none with output"),
        },
    })
}

/// A time limit that was passed. Without an observation no head of an answer had come.
pub(crate) fn of_limit(
    class: FailureClass,
    limits: &Limits,
    observation: Option<&Observation>,
) -> Failure {
    let came = match observation {
        Some(observation) => format!(", after {}", so_far(observation)),
        None => ", and no head of an answer came".to_owned(),
    };
    let message = match class {
        FailureClass::ConnectTimeout => {
            format!("not connected within {} ms", limits.connect_timeout_ms)
        }
        FailureClass::IdleTimeout => format!("no bytes for {} ms{came}", limits.idle_timeout_ms),
        _ => format!("not finished within {} ms{came}", limits.timeout_ms),
    };
    Failure { class, message }
}

fn refused(observed: &Observed, redirect: Option<&str>) -> String {
    let observation = &observed.observation;
    let status = observation.http_status;
    let message = observation.error.as_ref().and_then(|error| error.message.as_ref());
    match (redirect, message) {
        (Some(target), _) => format!("status {status}: {}", not_followed(target)),
        (None, Some(message)) => format!("status {status}: {message}"),
        (None, None) => format!("status {status}{}{}", encoded(observation), body(observed)),
    }
}

fn so_far(observation: &Observation) -> String {
    let Observation { events, bytes, .. } = observation;
    let [event, byte] = [*events, *bytes].map(|count| if count == 1 { "" } else { "s" });
    format!("{events} event{event}, {bytes} byte{byte}")
}

fn encoded(observation: &Observation) -> &'static str {
    let is_encoded = |kind| kind == AnomalyKind::UnaskedEncoding;
    if observation.anomalies.iter().any(|anomaly| is_encoded(anomaly.kind)) {
        "; the body is compressed, which was not asked for"
    } else {
        ""
    }
}

/// The beginning of the body, on one line, where nothing else tells what it says.
fn body(observed: &Observed) -> String {
    let words: Vec<&str> =
        observed.head_of_body.as_deref().unwrap_or_default().split_whitespace().collect();
    if words.is_empty() { String::new() } else { format!("; the body begins: {}", words.join(" ")) }
}
