//! Against the simulated server, which keeps its own account.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use streamgauge_client::{Access, Collected, run};
use streamgauge_schema::{Completion, EndReason, Ending, FailureClass, KernelStamps, Stage};
use streamgauge_sim::{SimConfig, ThreadedSim, spawn_thread};

use crate::plan::{lines, lines_with, never_stopped, plan, request, schedule, setup};

fn quick() -> SimConfig {
    SimConfig {
        ttft: Duration::from_millis(5),
        interval: Duration::from_millis(1),
        ..SimConfig::default()
    }
}

pub(crate) fn server(config: SimConfig) -> (ThreadedSim, String) {
    let server = spawn_thread(config, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let url = format!("http://{}", server.addr());
    (server, url)
}

#[tokio::test]
async fn every_request_has_one_line_that_agrees_with_the_server() {
    let (server, url) = server(quick());
    let mut plan = plan(&url, 20, 4);
    plan.load.warmup = 3;
    let (lines, trailer) = lines(&plan).await;
    assert_eq!((trailer.reason, trailer.lines), (EndReason::Finished, 23));
    let indexes = |stage| -> Vec<u64> {
        lines.iter().filter(|line| line.stage == stage).map(|line| line.index).collect()
    };
    assert_eq!(indexes(Stage::Warmup), [0, 1, 2]);
    assert_eq!(indexes(Stage::Measured), (0..20).collect::<Vec<_>>());

    let account: HashMap<_, _> =
        server.shutdown().into_iter().map(|request| (request.id.clone(), request)).collect();
    for line in &lines {
        let observed = line.observation.as_ref().unwrap();
        let served = &account[&format!("{}-{}", line.stage, line.index)];
        assert_eq!(line.completion, Completion::Succeeded);
        assert_eq!(observed.ending, Some(Ending::Complete));
        assert_eq!(observed.output_events, served.output_events);
        assert_eq!(observed.events, served.events);
        assert_eq!(observed.usage.unwrap().completion_tokens, Some(4));
        let differences: u64 = observed.arrivals_us.iter().sum();
        assert_eq!(Some(differences), observed.last_output_us);
        assert!(line.headers_us <= observed.first_output_us);
        // Both clocks are the machine's monotonic one, so the server's spans lie within ours.
        let served_us = (served.last_write_ns.unwrap() - served.received_ns) / 1000;
        assert!(line.elapsed_us >= served_us, "{} < {served_us}", line.elapsed_us);
    }
    let connections = lines.iter().filter(|line| line.connect_us.is_some()).count();
    assert!(connections < lines.len(), "no connection was used again");
}

#[tokio::test]
async fn kernel_stamps_give_the_observer_lag() {
    let (_server, url) = server(quick());
    for (which, stamped, each_event) in [
        (KernelStamps::All, true, true),
        (KernelStamps::Sampled, true, false),
        (KernelStamps::Off, false, false),
    ] {
        let mut plan = plan(&url, 4, 2);
        plan.instrument.kernel_stamps = which;
        let (lines, _) = lines(&plan).await;
        for line in lines {
            let lags = line.observer_lag_us;
            assert_eq!(lags.as_ref().is_some_and(|lags| !lags.is_empty()), stamped, "{which}");
            let events = line.observation.unwrap().output_events;
            let known = line.output_lags_us.map(|lags| lags.len() as u64);
            // A stamp that is not believed leaves all of them unknown; that is counted.
            if line.unusable_stamps == 0 {
                assert_eq!(known, each_event.then_some(events), "{which}");
                assert_eq!(line.end_lag_us.is_some(), each_event, "{which}");
            }
        }
    }
}

#[tokio::test]
async fn single_arrivals_can_be_left_out() {
    let (_server, url) = server(quick());
    let mut plan = plan(&url, 2, 1);
    plan.instrument.keep_arrivals = false;
    plan.instrument.kernel_stamps = KernelStamps::All;
    for line in lines(&plan).await.0 {
        let observed = line.observation.unwrap();
        assert!(observed.arrivals_us.is_empty());
        assert_eq!(observed.chunk_intervals.unwrap().count, observed.output_events - 1);
        assert_eq!(line.output_lags_us, None, "there is nothing that they belong to");
    }
}

/// With the start on the machine's monotonic clock, every stamp can be held against the server's.
#[tokio::test]
async fn a_run_lies_on_the_clock_of_the_machine() {
    let (server, url) = server(quick());
    let plan = plan(&url, 6, 3);
    let (schedule, access) = (schedule(&plan), Access::default());
    let request_of = |stage, index| request(stage, index, "");
    let setup = setup(&plan, &schedule, &access, never_stopped());
    let (_, run) = run(setup, request_of, Collected::default()).await.unwrap();
    let origin_ns = run.header.unwrap().started_monotonic_ns;
    let account = server.shutdown();
    assert_eq!(run.requests.len(), 6);
    for line in run.requests {
        let id = format!("measured-{}", line.index);
        let served = account.iter().find(|request| request.id == id).unwrap();
        let at_ns = |us: u64| origin_ns.unwrap() + us * 1_000;
        let first_output_us = line.observation.unwrap().first_output_us.unwrap();
        assert!(at_ns(line.started_us) <= served.received_ns);
        // Stamps are rounded down.
        let arrival_ns = at_ns(line.started_us + first_output_us + 2);
        assert!(arrival_ns >= served.first_output_ns.unwrap());
        assert!(at_ns(line.started_us + line.elapsed_us + 2) >= served.last_write_ns.unwrap());
    }
}

#[tokio::test]
async fn a_failed_request_never_ends_the_run() {
    let (_server, url) = server(quick());
    let orders = [
        ("none", None),
        ("status:503", Some(FailureClass::HttpStatus)),
        ("close:head", Some(FailureClass::PrematureEof)),
        ("close:2", Some(FailureClass::PrematureEof)),
        ("end:2", Some(FailureClass::PrematureEof)),
        ("reset:2", Some(FailureClass::Reset)),
        ("none", None),
    ];
    let plan = plan(&url, orders.len() as u64, 1);
    let (lines, trailer) = lines_with(&plan, &Access::default(), |stage, index| {
        let (order, _) = orders[usize::try_from(index).unwrap()];
        request(stage, index, &format!(r#","sim":{{"fault":"{order}"}}"#))
    })
    .await;
    assert_eq!(trailer.reason, EndReason::Finished);
    for (line, (order, expected)) in lines.iter().zip(orders) {
        let class = line.failure.as_ref().map(|failure| failure.class);
        assert_eq!(class, expected, "{order}: {:?}", line.failure);
        let completion =
            if expected.is_some() { Completion::Failed } else { Completion::Succeeded };
        assert_eq!(line.completion, completion, "{order}");
    }
    let partial = lines[3].observation.as_ref().unwrap();
    assert_eq!((partial.ending, partial.output_events), (Some(Ending::Truncated), 2));
}

#[tokio::test]
async fn an_unreachable_server_fails_every_request() {
    let (server, url) = server(quick());
    drop(server);
    let (lines, _) = lines(&plan(&url, 3, 2)).await;
    let classes: Vec<_> = lines.iter().map(|line| line.failure.as_ref().unwrap().class).collect();
    assert_eq!(classes, [FailureClass::Connect; 3]);
    assert!(lines.iter().all(|line| line.observation.is_none()));
}
