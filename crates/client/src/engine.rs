//! Carries out a plan: warm-up, then the measured requests, each as one line.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use streamgauge_schema::{
    CanonicalError, Completion, Digest, EndReason, JournalHeader, JournalLine, JournalTrailer,
    Plan, Request, Stage,
};
use tokio::sync::watch;

use crate::access::{Headers, Trust};
use crate::clock::RunClock;
use crate::connect::Connector;
use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::pool::Pool;
use crate::send::Sender;
use crate::template::Template;

/// Version of the journal that is written.
const JOURNAL_VERSION: u32 = 1;

/// What is needed to be let in. It stands in no plan.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Extra headers.
    pub headers: Headers,
    /// Whom to trust; needed for `https`.
    pub trust: Option<Trust>,
}

/// A run that could not go on. What had ended before is in the journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The base address in the plan is none.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The path in the plan cannot be sent.
    #[error("{path:?} is not a path: {reason}")]
    Path {
        /// The path.
        path: String,
        /// What HTTP says.
        reason: String,
    },
    /// The plan cannot be digested.
    #[error("the plan has no digest: {0}")]
    Plan(#[from] CanonicalError),
    /// The host name has no address.
    #[error("cannot resolve {host}: {reason}")]
    Resolve {
        /// The host.
        host: String,
        /// What the resolver says.
        reason: String,
    },
    /// A line could not be handed on.
    #[error(transparent)]
    Sink(E),
}

/// What a run needs besides its requests.
#[derive(Clone, Debug)]
pub struct RunSetup<'a> {
    /// What was asked.
    pub plan: &'a Plan,
    /// What is needed to be let in.
    pub access: &'a Access,
    /// An existing folder for a capture of each response; `None` keeps none.
    pub captures: Option<PathBuf>,
    /// When it turns true, no request is begun any more and those under way end as cancelled.
    pub stop: watch::Receiver<bool>,
}

/// Carries out a plan.
///
/// `request_of` gives each request by stage and index; it is called as the request is about to be
/// sent. `sink` gets the header, one line for each request as it ends, and the trailer; a request
/// counts as ended only when `sink` has returned.
///
/// Must run on a tokio runtime with I/O and time enabled; any flavour will do.
///
/// # Errors
/// When the plan's address is unusable or `sink` fails. Failed requests are lines, not errors.
pub async fn run<E>(
    setup: RunSetup<'_>,
    request_of: impl Fn(Stage, u64) -> Request,
    mut sink: impl FnMut(JournalLine) -> Result<(), E>,
) -> Result<JournalTrailer, RunError<E>> {
    let RunSetup { plan, access, captures, stop } = setup;
    let plan_sha256 = Digest::of_value(plan)?;
    let sender = Sender { captures, ..prepare(plan, access).await? };
    let clients = plan.load.shape.max_inflight().unwrap_or(plan.load.requests);
    sender.connect_ahead(clients.min(plan.load.requests.max(plan.load.warmup))).await;
    let sender = Sender { clock: RunClock::start(), ..sender };
    let header = JournalHeader {
        journal_version: JOURNAL_VERSION,
        plan_sha256,
        started_at: sender.clock.started_at(),
        started_monotonic_ns: None,
    };
    sink(JournalLine::Header(header)).map_err(RunError::Sink)?;

    let mut lines = 0;
    let mut last_end = 0;
    for (stage, count) in [(Stage::Warmup, plan.load.warmup), (Stage::Measured, plan.load.requests)]
    {
        let mut under_way = FuturesUnordered::new();
        let mut indexes = 0..count;
        loop {
            while (under_way.len() as u64) < clients && !*stop.borrow() {
                let Some(index) = indexes.next() else { break };
                under_way.push(sender.send(stage, request_of(stage, index), stop.clone()));
            }
            let Some(line) = under_way.next().await else { break };
            if line.completion != Completion::NotSent {
                lines += 1;
                last_end = last_end.max(line.started_us + line.elapsed_us);
                sink(JournalLine::Request(Box::new(line))).map_err(RunError::Sink)?;
            }
        }
    }

    let reason = if *stop.borrow() { EndReason::Interrupted } else { EndReason::Finished };
    let end = sender.clock.now().max(Duration::from_micros(last_end));
    let trailer = JournalTrailer { reason, completed_at: sender.clock.label(end), lines };
    sink(JournalLine::Trailer(trailer.clone())).map_err(RunError::Sink)?;
    Ok(trailer)
}

async fn prepare<E>(plan: &Plan, access: &Access) -> Result<Sender, RunError<E>> {
    let target = &plan.target;
    let endpoint = Endpoint::parse(&target.base_url)?;
    let addresses = endpoint.resolve().await.map_err(|error| RunError::Resolve {
        host: endpoint.host().to_owned(),
        reason: error.to_string(),
    })?;
    let path = &target.endpoint_path;
    let template = Template::new(&endpoint, path, target.dialect, &access.headers)
        .map_err(|error| RunError::Path { path: path.clone(), reason: error.to_string() })?;
    Ok(Sender {
        clock: RunClock::start(),
        connector: Connector::new(
            endpoint,
            addresses,
            access.trust.clone(),
            Duration::from_millis(plan.limits.connect_timeout_ms),
            plan.instrument.kernel_stamps,
        ),
        pool: Arc::new(Pool::default()),
        headers: access.headers.clone(),
        template,
        dialect: target.dialect,
        limits: plan.limits,
        resend: plan.instrument.resend,
        captures: None,
    })
}

impl Sender {
    /// Opens connections before they are needed. One that fails is tried again by its request,
    /// which then bears the failure.
    async fn connect_ahead(&self, count: u64) {
        let mut opening: FuturesUnordered<_> =
            (0..count).map(|_| self.connector.connect()).collect();
        while let Some(opened) = opening.next().await {
            if let Ok(connection) = opened {
                self.pool.put(connection);
            }
        }
    }
}
