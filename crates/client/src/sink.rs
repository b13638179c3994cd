//! Where the lines of a run go: what takes them, and the thread on which it does.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;

use streamgauge_schema::{Extraction, JournalBegun, JournalHeader, JournalLine, RequestLine};
use tokio::sync::mpsc::UnboundedSender;

use crate::engine::RunError;
use crate::worker::Report;

/// Takes what a run hands over: a journal, a collection in memory, a grader of answers.
///
/// It works on a thread of its own. What it waits for, a disk above all, holds up no read of a
/// stream and bends no stamp.
pub trait Sink: Send + 'static {
    /// Why it cannot take a line. The run ends with it.
    type Error: Send + 'static;

    /// Takes the header, one line for each request as it ends, or the trailer. `said` is what the
    /// response of a request said, where [`RunSetup::keep_texts`](crate::RunSetup) asked for it and
    /// a response came.
    ///
    /// # Errors
    /// When the line cannot be kept.
    fn take(&mut self, line: JournalLine, said: Option<Box<Extraction>>)
    -> Result<(), Self::Error>;
}

/// A run in memory, for whoever wants no files.
#[derive(Debug, Default)]
pub struct Collected {
    /// How the run began.
    pub header: Option<JournalHeader>,
    /// How its measured part began, where that is written down.
    pub begun: Option<JournalBegun>,
    /// The requests in the order in which they ended.
    pub requests: Vec<RequestLine>,
    /// What each of them was answered, at the same place.
    pub said: Vec<Option<Box<Extraction>>>,
}

impl Sink for Collected {
    type Error = Infallible;

    fn take(&mut self, line: JournalLine, said: Option<Box<Extraction>>) -> Result<(), Infallible> {
        match line {
            JournalLine::Header(header) => self.header = Some(header),
            JournalLine::Begun(begun) => self.begun = Some(begun),
            JournalLine::Request(request) => {
                self.requests.push(*request);
                self.said.push(said);
            }
            // A run in memory is whole and never taken up, and the run itself returns its trailer.
            JournalLine::Resumed(_) | JournalLine::Trailer(_) => {}
        }
        Ok(())
    }
}

/// A line on its way to the sink.
#[derive(Debug)]
struct Entry {
    line: JournalLine,
    said: Option<Box<Extraction>>,
    /// The worker whose order it concludes.
    worker: Option<usize>,
}

/// The thread on which a sink works.
#[derive(Debug)]
pub(crate) struct SinkThread<S: Sink> {
    /// `None` once nothing more is handed over.
    entries: Option<mpsc::Sender<Entry>>,
    /// `None` once it has been waited for.
    thread: Option<JoinHandle<Result<S, S::Error>>>,
}

impl<S: Sink> SinkThread<S> {
    /// Starts it. It reports each order's line once the sink has it, and when it ends.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(sink: S, reports: UnboundedSender<Report>) -> io::Result<Self> {
        let (entries, given) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("sink".to_owned())
            .spawn(move || take_all(sink, &given, &Reports(reports)))?;
        Ok(Self { entries: Some(entries), thread: Some(thread) })
    }

    /// Hands over a line that concludes no order.
    pub(crate) fn give(&self, line: JournalLine) {
        self.send(Entry { line, said: None, worker: None });
    }

    /// Hands over the line of a request.
    pub(crate) fn conclude(
        &self,
        worker: usize,
        line: Box<RequestLine>,
        said: Option<Box<Extraction>>,
    ) {
        let line = JournalLine::Request(line);
        self.send(Entry { line, said, worker: Some(worker) });
    }

    fn send(&self, entry: Entry) {
        if let Some(entries) = &self.entries {
            // A thread that is gone has said so.
            let _ = entries.send(entry);
        }
    }

    /// Waits until the sink has taken everything, and gives it back.
    pub(crate) fn finish(mut self) -> Result<S, RunError<S::Error>> {
        self.end()
    }

    /// Why the sink took no more, once its end was reported.
    pub(crate) fn failure(&mut self) -> RunError<S::Error> {
        self.end().err().unwrap_or_else(RunError::gone)
    }

    fn end(&mut self) -> Result<S, RunError<S::Error>> {
        self.entries = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(taken)) => taken.map_err(RunError::Sink),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(RunError::gone()),
        }
    }
}

impl<S: Sink> Drop for SinkThread<S> {
    /// What was handed over is taken, even where the run is given up.
    fn drop(&mut self) {
        self.entries = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the sink is not to become one within another.
            let _ = thread.join();
        }
    }
}

/// Says at its end that nothing is taken any more, whatever the reason.
struct Reports(UnboundedSender<Report>);

impl Drop for Reports {
    fn drop(&mut self) {
        let _ = self.0.send(Report::SinkGone);
    }
}

fn take_all<S: Sink>(
    mut sink: S,
    given: &mpsc::Receiver<Entry>,
    reports: &Reports,
) -> Result<S, S::Error> {
    for Entry { line, said, worker } in given {
        sink.take(line, said)?;
        if let Some(worker) = worker {
            // Nobody listens when the run has been given up.
            let _ = reports.0.send(Report::Kept { worker });
        }
    }
    Ok(sink)
}
