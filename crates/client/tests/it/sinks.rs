//! Where the lines of a run go.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use streamgauge_client::{Access, Collected, RunError, Sink, run};
use streamgauge_schema::{Extraction, JournalLine, Plan};
use streamgauge_sim::SimConfig;

use crate::plan::{never_stopped, plan, request, schedule, setup};
use crate::sim::server;

fn quick() -> SimConfig {
    SimConfig { ttft: Duration::ZERO, interval: Duration::ZERO, ..SimConfig::default() }
}

#[tokio::test]
async fn what_a_response_said_is_handed_over_when_asked_for() {
    let (_server, url) = server(quick());
    let plan = plan(&url, 3, 1);
    for keep_texts in [true, false] {
        let (schedule, access) = (schedule(&plan), Access::default());
        let mut setup = setup(&plan, &schedule, &access, never_stopped());
        setup.keep_texts = keep_texts;
        let request_of = |stage, index| request(stage, index, "");
        let (_, run) = run(setup, request_of, Collected::default()).await.unwrap();
        assert_eq!(run.said.len(), run.requests.len());
        let texts = run.said.iter().flatten().filter(|said| !said.content_text.0.is_empty());
        assert_eq!(texts.count(), if keep_texts { 3 } else { 0 });
    }
}

/// Takes a header and two lines.
struct Full(u64);

impl Sink for Full {
    type Error = io::Error;

    fn take(&mut self, _: JournalLine, _: Option<Box<Extraction>>) -> io::Result<()> {
        self.0 += 1;
        if self.0 > 3 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

async fn fails_in(plan: &Plan) -> RunError<io::Error> {
    let (schedule, access) = (schedule(plan), Access::default());
    let setup = setup(plan, &schedule, &access, never_stopped());
    let Err(error) = run(setup, |stage, index| request(stage, index, ""), Full(0)).await else {
        panic!("the sink was full")
    };
    error
}

#[tokio::test]
async fn a_sink_that_takes_no_more_ends_the_run_with_its_error() {
    let (_server, url) = server(quick());
    // Two requests fit, so that the second run fails at its trailer.
    for requests in [50, 2] {
        for workers in [1, 2] {
            let mut plan = plan(&url, requests, 2);
            plan.instrument.workers = workers;
            let error = fails_in(&plan).await;
            let RunError::Sink(error) = error else { panic!("{error}") };
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}

/// Counts the lines that it has taken, and the requests that began before they were.
struct Slow {
    taken: Arc<AtomicU64>,
}

impl Sink for Slow {
    type Error = io::Error;

    fn take(&mut self, line: JournalLine, _: Option<Box<Extraction>>) -> io::Result<()> {
        // Longer than a request takes, so that a run which did not wait would be ahead.
        std::thread::sleep(Duration::from_millis(5));
        self.taken.fetch_add(u64::from(matches!(line, JournalLine::Request(_))), Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test]
async fn a_request_counts_as_ended_only_when_its_line_was_taken() {
    let (_server, url) = server(quick());
    let plan = plan(&url, 12, 3);
    let (schedule, access) = (schedule(&plan), Access::default());
    let taken = Arc::new(AtomicU64::new(0));
    let request_of = |stage, index: u64| {
        // Of three clients, two others at most can be under way.
        assert!(taken.load(Ordering::SeqCst) + 3 > index, "request {index} began too early");
        request(stage, index, "")
    };
    let setup = setup(&plan, &schedule, &access, never_stopped());
    let (trailer, _) = run(setup, request_of, Slow { taken: Arc::clone(&taken) }).await.unwrap();
    assert_eq!((trailer.lines, taken.load(Ordering::SeqCst)), (12, 12));
}

/// Notes how many requests are in flight as it takes lines.
struct Watching {
    inflight: Arc<AtomicU64>,
    most: u64,
}

impl Sink for Watching {
    type Error = io::Error;

    fn take(&mut self, _: JournalLine, _: Option<Box<Extraction>>) -> io::Result<()> {
        self.most = self.most.max(self.inflight.load(Ordering::Relaxed));
        Ok(())
    }
}

#[tokio::test]
async fn whoever_watches_sees_how_many_requests_are_in_flight() {
    let (_server, url) = server(quick());
    let plan = plan(&url, 24, 3);
    let (schedule, access) = (schedule(&plan), Access::default());
    let setup = setup(&plan, &schedule, &access, never_stopped());
    let inflight = Arc::clone(&setup.inflight);
    let sink = Watching { inflight: Arc::clone(&inflight), most: 0 };
    let (_, sink) = run(setup, |stage, index| request(stage, index, ""), sink).await.unwrap();
    assert!((1..=3).contains(&sink.most), "{}", sink.most);
    assert_eq!(inflight.load(Ordering::Relaxed), 0);
}
