//! The account as documents for another process: all of it, or the stamps alone.

use serde::Serialize;
use serde_json::{Value, json};

use crate::account::{Account, AccountTotals, RequestAccount};

/// The document of `GET /sim/account`.
pub(crate) fn account(account: &Account) -> Vec<u8> {
    let requests: Vec<Value> = account.requests().iter().map(request).collect();
    let totals = totals(account.totals());
    json!({"clock": "CLOCK_MONOTONIC", "requests": requests, "totals": totals})
        .to_string()
        .into_bytes()
}

/// The document of `GET /sim/stamps`: a list for each request, and in it the times of the output
/// events as the first and the differences that follow, which makes it a third as long.
pub(crate) fn stamps(account: &Account) -> Vec<u8> {
    let requests = account.requests();
    let requests: Vec<Stamps<'_>> = requests.iter().map(Stamps::of).collect();
    let document = StampsDocument {
        clock: "CLOCK_MONOTONIC",
        columns: ["id", "outcome", "received_ns", "kernel_received_ns", "output_steps_ns"],
        requests,
        totals: totals(account.totals()),
    };
    serde_json::to_vec(&document).expect("texts and whole numbers always serialise")
}

#[derive(Serialize)]
struct StampsDocument<'a> {
    clock: &'static str,
    columns: [&'static str; 5],
    requests: Vec<Stamps<'a>>,
    totals: Value,
}

/// Its members are the columns.
#[derive(Serialize)]
struct Stamps<'a>(&'a str, &'static str, u64, Option<u64>, Vec<u64>);

impl<'a> Stamps<'a> {
    fn of(request: &'a RequestAccount) -> Self {
        let mut previous_ns = 0;
        let steps = request.output_ns.iter().map(|&at_ns| {
            let step = at_ns - previous_ns;
            previous_ns = at_ns;
            step
        });
        let steps = steps.collect();
        let outcome = request.outcome.name();
        Self(&request.id, outcome, request.received_ns, request.kernel_received_ns, steps)
    }
}

fn request(request: &RequestAccount) -> Value {
    json!({
        "completion_tokens": request.completion_tokens,
        "events": request.events,
        "fault": request.fault.map(|fault| fault.to_string()),
        "first_output_ns": request.first_output_ns,
        "first_write_ns": request.first_write_ns,
        "id": request.id,
        "kernel_received_ns": request.kernel_received_ns,
        "last_output_ns": request.last_output_ns,
        "last_write_ns": request.last_write_ns,
        "lateness_max_ns": request.lateness_max_ns,
        "ordinal": request.ordinal,
        "outcome": request.outcome.name(),
        "output_events": request.output_events,
        "output_ns": request.output_ns,
        "prompt_tokens": request.prompt_tokens,
        "received_ns": request.received_ns,
        "status": request.status,
        "streamed": request.streamed,
    })
}

fn totals(totals: AccountTotals) -> Value {
    json!({
        "complete": totals.complete,
        "completion_tokens": totals.completion_tokens,
        "disconnected": totals.disconnected,
        "events": totals.events,
        "faulted": totals.faulted,
        "lateness_max_ns": totals.lateness_max_ns,
        "open": totals.open,
        "output_events": totals.output_events,
        "prompt_tokens": totals.prompt_tokens,
        "rejected": totals.rejected,
    })
}
