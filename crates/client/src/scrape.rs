//! Asks a server for its own metrics while the measured requests are under way, and writes down what it
//! says.
//!
//! Invariant: all of it happens on a thread of its own, with a runtime and connections of its own, so that
//! neither a long answer nor a server that gives none holds up a read of a stream. A question that fails
//! is a line like any other; only a file that takes no line is an error.

use std::future::Future;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use streamgauge_observer::read_server_metrics;
use streamgauge_schema::{Dialect, Failure, FailureClass, Plan, ScrapeLine, ServerSample};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::access::Access;
use crate::ask::ask;
use crate::clock::{RunClock, micros};
use crate::endpoint::Endpoint;
use crate::error::JournalError;
use crate::lines::{Appender, Lines};
use crate::text::bounded;

/// From one question to the next.
const EVERY: Duration = Duration::from_secs(1);
/// How long the server has to answer one.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a server has to count what it answered last: some do so after the last byte is on its way.
const SETTLE: Duration = Duration::from_millis(250);
/// Longest answer that is read. A server with many engines and histograms has some hundred kilobytes.
const MAX_ANSWER: usize = 16 << 20;

/// Where a server's own metrics are written down, and who is told when it gives none.
#[derive(Clone, Debug)]
pub struct Scrapes {
    /// A file to be made.
    pub file: PathBuf,
    /// Called where the first question had no answer, on the thread that asks, so that a run need not end
    /// before somebody knows.
    pub first_failed: fn(&Failure),
}

/// What is asked where.
#[derive(Debug)]
pub(crate) struct Question {
    endpoint: Endpoint,
    access: Access,
    dialect: Dialect,
    /// Below the endpoint.
    path: String,
}

/// The thread that asks.
#[derive(Debug)]
pub(crate) struct Scraper {
    /// To be asked at once; what is sent back says that the line is written.
    orders: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// Dropped, it ends the thread whatever that waits for.
    _until_dropped: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), JournalError>>,
}

impl Scraper {
    /// Makes the file, which must not exist, and starts the thread. It asks nothing yet.
    pub(crate) fn start(
        question: Question,
        clock: RunClock,
        scrapes: &Scrapes,
    ) -> Result<io::Result<Self>, JournalError> {
        let lines = Appender::create(&scrapes.file)?;
        let first_failed = Some(scrapes.first_failed);
        Ok(Self::on_thread(Asking { question, clock, lines, first_failed }))
    }

    fn on_thread(mut asking: Asking) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (orders, ordered) = mpsc::unbounded_channel();
        let (_until_dropped, dropped) = oneshot::channel::<()>();
        let work = move || {
            let ended = runtime.block_on(async {
                tokio::select! {
                    ended = asking.work(ordered) => ended,
                    _ = dropped => Ok(()),
                }
            });
            // A resolver that does not answer is not waited for.
            runtime.shutdown_background();
            ended.and_then(|()| asking.lines.finish().map(drop))
        };
        let thread = std::thread::Builder::new().name("server-metrics".to_owned()).spawn(work)?;
        Ok(Self { orders, _until_dropped, thread })
    }

    /// Asks now, and from then on once a second. Returns when the line is written, or the run is stopped.
    pub(crate) async fn begin(&self, after_requests: bool, stop: &mut watch::Receiver<bool>) {
        unless_stopped(stop, async {
            if after_requests {
                sleep(SETTLE).await;
            }
            self.ask_now().await;
        })
        .await;
    }

    /// Asks a last time, unless the run is stopped, and waits for the end of the thread.
    ///
    /// # Errors
    /// When some line could not be written.
    pub(crate) async fn end(self, stop: &mut watch::Receiver<bool>) -> Result<(), JournalError> {
        unless_stopped(stop, async {
            sleep(SETTLE).await;
            self.ask_now().await;
        })
        .await;
        let Self { orders, _until_dropped, thread } = self;
        drop((orders, _until_dropped));
        // What is left is a line to be written and the disk.
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Where the thread has ended for want of a disk, there is nothing to wait for.
    async fn ask_now(&self) {
        let (done, written) = oneshot::channel();
        if self.orders.send(done).is_ok() {
            let _ = written.await;
        }
    }
}

async fn unless_stopped(stop: &mut watch::Receiver<bool>, work: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        Ok(_) = stop.wait_for(|stop| *stop) => {}
        () = work => {}
    }
}

/// What the thread works with.
struct Asking {
    question: Question,
    clock: RunClock,
    lines: Appender,
    /// Told of the first question, where that fails; `None` once it was asked.
    first_failed: Option<fn(&Failure)>,
}

impl Asking {
    /// Asks when ordered to; after the first order also once a second.
    async fn work(
        &mut self,
        mut ordered: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
    ) -> Result<(), JournalError> {
        let Some(first) = ordered.recv().await else { return Ok(()) };
        self.ask_and_write(Some(first)).await?;
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick comes at once.
        ticks.tick().await;
        loop {
            tokio::select! {
                biased;
                order = ordered.recv() => match order {
                    Some(order) => self.ask_and_write(Some(order)).await?,
                    None => return Ok(()),
                },
                _ = ticks.tick() => self.ask_and_write(None).await?,
            }
        }
    }

    async fn ask_and_write(
        &mut self,
        order: Option<oneshot::Sender<()>>,
    ) -> Result<(), JournalError> {
        let asked_us = micros(self.clock.now());
        let answer = self.question.ask().await;
        let answered_us = micros(self.clock.now());
        let (samples, failure) = match answer {
            Ok(samples) => (samples, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        if let (Some(tell), Some(failure)) = (self.first_failed.take(), &failure) {
            tell(failure);
        }
        self.lines.append(&ScrapeLine { asked_us, answered_us, failure, samples })?;
        if let Some(order) = order {
            // Nobody listens once the run is stopped.
            let _ = order.send(());
        }
        Ok(())
    }
}

impl Question {
    /// `None` where the plan names no path of the server's own metrics.
    pub(crate) fn of(plan: &Plan, endpoint: &Endpoint, access: &Access) -> Option<Self> {
        let path = plan.instrument.server_metrics.clone()?;
        let dialect = plan.target.dialect;
        Some(Self { endpoint: endpoint.clone(), access: access.clone(), dialect, path })
    }

    async fn ask(&self) -> Result<Vec<ServerSample>, Failure> {
        let Self { endpoint, access, dialect, path } = self;
        let answer = ask(endpoint, access, *dialect, path, MAX_ANSWER, PATIENCE).await;
        let answer =
            answer.map_err(|error| Failure { class: error.class, message: error.to_string() })?;
        read_server_metrics(&answer).map_err(|fault| Failure {
            class: FailureClass::NotEventStream,
            message: bounded(&access.redact(&fault.to_string())),
        })
    }
}

/// What a server's metrics said, read line by line. A last line that was being written when the run was
/// cut off is left out.
///
/// ```
/// use std::path::Path;
/// use streamgauge_client::ScrapeReader;
/// let lines = b"{\"asked_us\":5,\"answered_us\":9,\"failure\":null,\"samples\":[]}\n{\"asked";
/// let mut scrapes = ScrapeReader::new(lines.as_slice(), Path::new("server-metrics.jsonl"));
/// assert_eq!(scrapes.next_scrape()?.map(|scrape| scrape.asked_us), Some(5));
/// assert_eq!(scrapes.next_scrape()?, None);
/// # Ok::<(), streamgauge_client::JournalError>(())
/// ```
#[derive(Debug)]
pub struct ScrapeReader<R>(Lines<R>);

impl<R: BufRead> ScrapeReader<R> {
    /// The lines of a source; `path` is for errors.
    pub fn new(source: R, path: &Path) -> Self {
        Self(Lines::new(source, path))
    }

    /// The next one, in the order in which the server was asked; `None` at the end.
    ///
    /// # Errors
    /// When the source cannot be read, or a line is broken.
    pub fn next_scrape(&mut self) -> Result<Option<ScrapeLine>, JournalError> {
        self.0.next()
    }
}
