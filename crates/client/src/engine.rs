//! Carries out a plan: warm-up, then the measured requests, each as one line.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use futures_util::future::try_join_all;
use streamgauge_observer::ObserverConfig;
use streamgauge_schema::{
    CanonicalError, Condition, Digest, JournalHeader, JournalLine, JournalResumed, JournalTrailer,
    KernelStamps, Plan, ReplicaTurns, Request, Stage, TimeBasis, Timestamp,
};
use streamgauge_workload::Schedule;
use tokio::sync::watch;

use crate::access::Access;
use crate::ask::list_models;
use crate::beginning::Beginning;
use crate::budget::{Budget, MAX_HELD_BYTES};
use crate::cancel::Cancel;
use crate::clock::{RunClock, micros};
use crate::course::{Course, Tally, get_ready};
use crate::crew::Crew;
use crate::descriptors::{DescriptorsError, make_room};
use crate::dispatch::{AHEAD, Dispatch, WARMUP_CLIENTS};
use crate::endpoint::Endpoint;
use crate::error::{EndpointError, JournalError};
use crate::lane::Lanes;
use crate::scrape::{Question, Scraper, Scrapes};
use crate::send::{Common, Sender};
use crate::sink::{Sink, SinkThread};
use crate::taken_up::SoFar;
use crate::way::{Unresolved, Way};

/// Version of the journal that is written.
const JOURNAL_VERSION: u32 = 1;
/// How long a server has to list its models.
const LIST_PATIENCE: Duration = Duration::from_secs(5);

/// A run that could not go on. What had ended before is in the journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The load needs more open files than this process may have.
    #[error(transparent)]
    Descriptors(#[from] DescriptorsError),
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
    #[error("the plan has no digest")]
    Plan(#[from] CanonicalError),
    /// The host name has no address.
    #[error("cannot resolve {host}: {reason}")]
    Resolve {
        /// The host.
        host: String,
        /// What the resolver says.
        reason: String,
    },
    /// What the server's own metrics say could not be written down.
    #[error(transparent)]
    Scrape(JournalError),
    /// The sink could not take a line.
    #[error(transparent)]
    Sink(E),
    /// The weights of the plan's addresses make no round.
    #[error(
        "the weights of at most {} addresses are whole numbers from 1 that come to at most {} together",
        ReplicaTurns::MOST_ADDRESSES,
        ReplicaTurns::MOST
    )]
    Weights,
    /// The system gave no thread or timer, or a worker died.
    #[error("a worker cannot go on")]
    Worker(#[source] io::Error),
}

impl<E> RunError<E> {
    pub(crate) fn gone() -> Self {
        Self::Worker(io::Error::other("it ended before its work did"))
    }
}

/// What a run needs besides its requests.
#[derive(Clone, Debug)]
pub struct RunSetup<'a> {
    /// What was asked.
    pub plan: &'a Plan,
    /// With what and where it is measured, and what the server says of itself, for the journal's header.
    pub conditions: Vec<Condition>,
    /// The plan's load, ready to be carried out.
    pub schedule: &'a Schedule,
    /// What is needed to be let in.
    pub access: &'a Access,
    /// An existing folder for a capture of each response; `None` keeps none.
    pub captures: Option<PathBuf>,
    /// Where it is written what the server's own metrics say, where the plan names their path; `None`
    /// does not ask for them.
    pub scrapes: Option<Scrapes>,
    /// Hand the sink what each response said.
    pub keep_texts: bool,
    /// What a run had come to that is taken up again: the journal goes on with what is missing. `None`
    /// begins a run.
    pub so_far: Option<SoFar>,
    /// When the measured requests begin, by the wall clock, after connections and warm-up; at once where
    /// it has passed by then. `None` begins as soon as it can.
    pub start: Option<Timestamp>,
    /// How many requests are being sent or answered, kept up to date for whoever watches the run.
    pub inflight: Arc<AtomicU64>,
    /// When it turns true, no request is begun any more and those under way end as cancelled.
    pub stop: watch::Receiver<bool>,
}

/// Carries out a plan.
///
/// `request_of` gives each request by stage and index, in order. It is called a little before the
/// request is sent: for a due time 250 ms ahead, so that making a request ready makes none late.
/// `sink` takes the header, one line for each request as it ends, and the trailer, on a thread of its
/// own; a request counts as ended only when it has been taken. The sink is returned with the trailer.
///
/// - The warm-up is a closed loop: of as many clients as a closed loop has, else of 8, or of the
///   limit on requests under way if that is lower. The measured stage begins when it has ended.
/// - Each request goes to the address whose turn it is by its place in its stage, over connections of
///   that address's own.
/// - Connections are opened before the first request, and ahead of due times. A request that finds
///   none connects when it is due, and its line says how long that took.
/// - When the schedule's end has come, no request begins any more. Those under way have
///   `limits.grace_ms` to end; then they are cancelled. Requests that were never sent get no line.
/// - Once at least 20 measured requests have ended, and the share of those that failed or timed out
///   is above `limits.max_error_ratio`, the run is stopped and those under way are cancelled. The
///   trailer tells why a run ended.
/// - Where the dialect's responses name no model, the server is asked for its models before the first
///   request and after the last one.
/// - Where the plan names a path of the server's own metrics, the server is asked for them straight
///   before the first measured request, once a second, and after the last one. A question that fails
///   is written down, and the run goes on.
/// - A run that is taken up again begins with a line that says so in the header's place. Its warm-up is
///   done once more; then what is missing follows, each request once. A schedule goes on where its
///   first missing request was due, and a load that ends by time has what was left of it.
/// - A shard, and a run with a common start, write down how their measured part began
///   ([`JournalBegun`](streamgauge_schema::JournalBegun)), once: what is taken up again after that waits
///   for no start.
/// - One worker is a task of this runtime. Several have a thread each, with connections of their
///   own. `request_of` is called by the task that awaits this, whatever the workers are. A closed loop's next request, and every due one, goes to the worker that has the fewest.
///
/// Must run on a tokio runtime with I/O and time enabled; any flavour will do.
///
/// # Errors
/// When the plan's address is unusable, the load needs more open files than there may be, or `sink`
/// fails. Failed requests are lines, not errors.
pub async fn run<S: Sink>(
    setup: RunSetup<'_>,
    request_of: impl Fn(Stage, u64) -> Request,
    sink: S,
) -> Result<(JournalTrailer, S), RunError<S::Error>> {
    let RunSetup { plan, conditions, schedule, access, keep_texts, inflight, .. } = setup;
    let RunSetup { captures, scrapes, so_far, start, mut stop, .. } = setup;
    let plan_sha256 = Digest::of_value(plan)?;
    let connections = Connections::of(plan, schedule);
    make_room(connections.at_least, connections.at_most)?;
    let ways = ways_of(plan, access, &mut stop).await?;
    let listed = async |stop: &mut _| listed_models(&ways, plan, access, stop).await;
    let listed_models = listed(&mut stop).await;
    let common = Arc::new(Common { inflight, ..common(plan, access, captures, keep_texts) });
    let workers = plan.instrument.workers.max(1);
    let sender = |_| sender(&ways, plan, access, &common);
    let senders = (0..workers).map(sender).collect::<Result<_, _>>()?;
    let first = connections.first(plan, schedule);
    let mut crew = Crew::hire(common, senders, first).map_err(RunError::Worker)?;
    get_ready(&mut crew, &mut stop).await?;

    let (clock, first) = match so_far.as_ref().and_then(|so_far| Some((so_far, so_far.header()?))) {
        None => {
            let clock = RunClock::start();
            let header = JournalHeader {
                journal_version: JOURNAL_VERSION,
                plan_sha256,
                started_at: clock.started_at(),
                started_monotonic_ns: clock.started_monotonic_ns(),
                listed_models,
                conditions,
                shard: schedule.shard(),
            };
            (clock, JournalLine::Header(header))
        }
        Some((so_far, header)) => {
            let clock = RunClock::take_up(header.started_at, so_far.last());
            let resumed = JournalResumed {
                resumed_at: clock.label(clock.now()),
                at_us: micros(clock.begun()),
                dropped: so_far.dropped,
                listed_models,
                conditions,
            };
            (clock, JournalLine::Resumed(resumed))
        }
    };
    let sink = SinkThread::start(sink, crew.reports_to()).map_err(RunError::Worker)?;
    sink.give(first);
    let limits = plan.limits;
    let so_far = so_far.unwrap_or_default();
    let tally = Tally::after(so_far.lines);
    let measured = Dispatch::measured(schedule, &plan.load.shape).after(&so_far);
    let mut course = Course { crew, request_of, sink, clock, limits, stop, tally };
    if !measured.is_over() {
        course.stage(Stage::Warmup, Dispatch::warmup(schedule, &plan.load), None).await?;
    }
    let question = Question::of(plan, &ways[0].endpoint, access);
    let scraper = scraper(question, clock, scrapes.as_ref())?;
    if let Some(scraper) = &scraper {
        scraper.begin(schedule.own_warmup() > 0, &mut course.stop).await;
    }
    let is_told = start.is_some() || schedule.shard().is_some();
    let begins = is_told && !so_far.has_begun() && !measured.is_over();
    let beginning = begins.then(|| Beginning::new(&clock, start));
    course.stage(Stage::Measured, measured, beginning).await?;
    let mut scraped = Ok(());
    let after = async |stop: &mut _| {
        if let Some(scraper) = scraper {
            scraped = scraper.end(stop).await;
        }
        listed(stop).await
    };
    let ended = course.finish(after).await?;
    scraped.map_err(RunError::Scrape)?;
    Ok(ended)
}

/// How many connections a load has.
pub(crate) struct Connections {
    /// It cannot be carried out with fewer.
    pub(crate) at_least: u64,
    /// It never has more.
    pub(crate) at_most: u64,
    /// To be opened before the first request.
    pub(crate) open_first: u64,
}

impl Connections {
    pub(crate) fn of(plan: &Plan, schedule: &Schedule) -> Self {
        let (load, warmup) = (&plan.load, schedule.own_warmup());
        let requests = schedule.own_requests().max(warmup);
        let limit = schedule.max_inflight().map(|most| most.min(requests));
        // To each of several addresses there may at some time be as many as are under way in all.
        let replicas = plan.target.base_urls().len() as u64;
        let at_most = limit.map_or(requests, |most| most.saturating_mul(replicas).min(requests));
        let due_first = schedule.due_times().take_while(|due| *due < 2 * AHEAD).count() as u64;
        let open_first = match load.shape.is_scheduled() {
            true => due_first.max(warmup.min(WARMUP_CLIENTS)).max(1),
            false => limit.unwrap_or(requests),
        };
        Self { at_least: limit.unwrap_or(1), at_most, open_first: open_first.min(at_most) }
    }

    /// The requests for which connections are opened first, by their places.
    fn first<'a>(
        &self,
        plan: &Plan,
        schedule: &'a Schedule,
    ) -> impl Iterator<Item = u64> + Clone + use<'a> {
        let places = 0..plan.load.requests.max(plan.load.warmup);
        places.filter(|index| schedule.has(*index)).take(self.open_first as usize)
    }
}

/// Where a plan's requests go, at least one; nowhere once the run is stopped: nothing is sent then.
async fn ways_of<E>(
    plan: &Plan,
    access: &Access,
    stop: &mut watch::Receiver<bool>,
) -> Result<Vec<Way>, RunError<E>> {
    let endpoints = plan.target.base_urls().into_iter().map(Endpoint::parse);
    let endpoints = endpoints.collect::<Result<Vec<_>, _>>()?;
    let found = try_join_all(endpoints.iter().map(|endpoint| Way::find(endpoint, access)));
    tokio::select! {
        biased;
        Ok(_) = stop.wait_for(|stop| *stop) => Ok(endpoints.iter().map(Way::nowhere).collect()),
        found = found => {
            found.map_err(|Unresolved { host, reason }| RunError::Resolve { host, reason })
        }
    }
}

/// The models that the server lists, sorted, where its responses will not say which one gave them;
/// `None` where they do, where no list comes, where several addresses list different ones, and once the
/// run is stopped.
async fn listed_models(
    ways: &[Way],
    plan: &Plan,
    access: &Access,
    stop: &mut watch::Receiver<bool>,
) -> Option<Vec<String>> {
    let dialect = plan.target.dialect;
    if dialect.names_model() {
        return None;
    }
    let lists = ways.iter().map(|way| list_models(&way.endpoint, access, dialect, LIST_PATIENCE));
    let lists = tokio::select! {
        biased;
        Ok(_) = stop.wait_for(|stop| *stop) => return None,
        lists = try_join_all(lists) => lists.ok()?,
    };
    let mut lists = lists.into_iter().map(|listed| {
        let mut names: Vec<String> = listed.into_iter().map(|model| model.id).collect();
        names.sort_unstable();
        names
    });
    let first = lists.next()?;
    lists.all(|other| other == first).then_some(first)
}

/// What asks for the server's own metrics; `None` where nobody wants them.
fn scraper<E>(
    question: Option<Question>,
    clock: RunClock,
    scrapes: Option<&Scrapes>,
) -> Result<Option<Scraper>, RunError<E>> {
    let Some((question, scrapes)) = question.zip(scrapes) else { return Ok(None) };
    let started = Scraper::start(question, clock, scrapes).map_err(RunError::Scrape)?;
    Ok(Some(started.map_err(RunError::Worker)?))
}

fn sender<E>(
    ways: &[Way],
    plan: &Plan,
    access: &Access,
    common: &Arc<Common>,
) -> Result<Sender, RunError<E>> {
    let turns = plan.target.turns().ok_or(RunError::Weights)?;
    let lanes = Lanes::along(ways, turns, plan, access).map_err(|error| RunError::Path {
        path: plan.target.endpoint_path.clone(),
        reason: error.to_string(),
    })?;
    Ok(Sender { common: Arc::clone(common), lanes })
}

fn common(plan: &Plan, access: &Access, captures: Option<PathBuf>, keep_texts: bool) -> Common {
    let (target, instrument) = (&plan.target, &plan.instrument);
    Common {
        redactor: access.redactor(),
        dialect: target.dialect,
        observer: ObserverConfig {
            keep_arrivals: instrument.keep_arrivals,
            keep_texts,
            ..ObserverConfig::new(target.dialect)
        },
        limits: plan.limits,
        resend: instrument.resend,
        retries: plan.retries,
        event_lags: instrument.kernel_stamps == KernelStamps::All
            || instrument.time_basis == TimeBasis::Kernel,
        captures,
        budget: Budget::new(MAX_HELD_BYTES),
        cancel: Cancel::default(),
        inflight: Arc::default(),
    }
}
