//! What the server's own metrics say, asked while requests are under way.

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use streamgauge_client::{Access, Collected, RunError, RunSetup, ScrapeReader, Scrapes, run};
use streamgauge_schema::{
    EndReason, FailureClass, JournalTrailer, Plan, ScrapeLine, ServerQuantity, Stage,
};
use streamgauge_sim::{Sim, SimConfig, SimServer};
use tokio::sync::watch;

use crate::plan::{never_stopped, plan, request, schedule, setup};

async fn start() -> SimServer {
    Sim::start(SimConfig::default(), ([127, 0, 0, 1], 0).into()).await.unwrap()
}

/// A plan of so many requests, with a warm-up, whose server is asked at the path.
fn asking(server: &SimServer, requests: u64, path: &str) -> Plan {
    let mut plan = plan(&format!("http://{}", server.addr()), requests, 2);
    plan.load.warmup = 3;
    plan.instrument.server_metrics = Some(path.to_owned());
    plan
}

/// Written into a file, and nobody is told.
fn into(file: &Path) -> Scrapes {
    Scrapes { file: file.to_owned(), first_failed: |_| () }
}

async fn scraped(
    plan: &Plan,
    file: &Path,
    stop: watch::Receiver<bool>,
) -> (JournalTrailer, Collected, Vec<ScrapeLine>) {
    let (schedule, access) = (schedule(plan), Access::default());
    let setup = setup(plan, &schedule, &access, stop);
    let setup = RunSetup { scrapes: Some(into(file)), ..setup };
    let request_of = |stage, index| request(stage, index, "");
    let (trailer, run) = run(setup, request_of, Collected::default()).await.unwrap();
    (trailer, run, read(file))
}

fn read(file: &Path) -> Vec<ScrapeLine> {
    let mut lines = ScrapeReader::new(BufReader::new(fs::File::open(file).unwrap()), file);
    std::iter::from_fn(|| lines.next_scrape().unwrap()).collect()
}

fn told(line: &ScrapeLine, quantity: ServerQuantity) -> f64 {
    let samples = line.samples.iter().filter(|sample| sample.family.quantity() == quantity);
    samples.map(|sample| sample.value).sum()
}

#[tokio::test]
async fn the_first_and_the_last_question_enclose_the_measured_requests_alone() {
    let server = start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server-metrics.jsonl");
    let plan = asking(&server, 6, "/metrics");
    let (_, run, scrapes) = scraped(&plan, &file, never_stopped()).await;

    let [first, .., last] = scrapes.as_slice() else { panic!("two scrapes: {scrapes:?}") };
    let of = |stage| run.requests.iter().filter(move |line| line.stage == stage);
    let ends = |stage| of(stage).map(|line| line.started_us + line.elapsed_us).max().unwrap();
    assert!(first.asked_us >= ends(Stage::Warmup));
    assert!(first.answered_us <= of(Stage::Measured).map(|line| line.started_us).min().unwrap());
    assert!(last.asked_us >= ends(Stage::Measured));
    assert!(scrapes.iter().all(|line| line.failure.is_none()));

    let tokens = of(Stage::Measured)
        .map(|line| line.observation.as_ref().unwrap().usage.unwrap().completion_tokens.unwrap());
    let counted =
        told(last, ServerQuantity::OutputTokens) - told(first, ServerQuantity::OutputTokens);
    assert_eq!(counted, tokens.sum::<u64>() as f64);
    assert_eq!(told(first, ServerQuantity::OutputTokens), 12.0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_server_that_tells_nothing_costs_no_request() {
    let server = start().await;
    let folder = tempfile::tempdir().unwrap();
    for (name, path, class) in [
        ("missing", "/nothing", FailureClass::HttpStatus),
        ("other", "/v1/models", FailureClass::NotEventStream),
    ] {
        let file = folder.path().join(name);
        let plan = asking(&server, 2, path);
        let (trailer, run, scrapes) = scraped(&plan, &file, never_stopped()).await;
        assert_eq!((trailer.reason, run.requests.len()), (EndReason::Finished, 5));
        assert!(scrapes.len() >= 2);
        for line in scrapes {
            assert!(line.samples.is_empty());
            assert_eq!(line.failure.unwrap().class, class, "{path}");
        }
    }
}

#[tokio::test]
async fn a_stopped_run_does_not_wait_for_the_server() {
    let server = start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server-metrics.jsonl");
    let (stop, stopped) = watch::channel(true);
    let plan = asking(&server, 2, "/metrics");
    let (trailer, run, _) = scraped(&plan, &file, stopped).await;
    drop(stop);
    assert_eq!((trailer.reason, run.requests.len()), (EndReason::Interrupted, 0));
}

#[tokio::test]
async fn a_file_that_is_there_is_not_written_over() {
    let server = start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server-metrics.jsonl");
    fs::write(&file, "kept").unwrap();
    let plan = asking(&server, 2, "/metrics");
    let (schedule, access) = (schedule(&plan), Access::default());
    let setup = setup(&plan, &schedule, &access, never_stopped());
    let setup = RunSetup { scrapes: Some(into(&file)), ..setup };
    let ended = run(setup, |stage, index| request(stage, index, ""), Collected::default()).await;
    assert!(matches!(ended, Err(RunError::Scrape(_))));
    assert_eq!(fs::read(&file).unwrap(), b"kept");
}
