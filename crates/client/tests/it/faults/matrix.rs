//! Each fault of the table against the client, and the table as `crates/sim/README.md` shows it.

use std::convert::Infallible;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, date_time_ymd};
use streamgauge_client::{Access, RunError, Trust};
use streamgauge_schema::{Completion, FailureClass, Plan, RequestLine};
use streamgauge_sim::{ConnectionRule, SimConfig, ThreadedSim};

use super::table::{Ask, Certificate, FAULTS, Fault, Kept};
use super::{brisk, ordering};
use crate::plan::{carry_out, plan, schedule};
use crate::sim::server;
use crate::tls::{self, Identity, saved};

const BEGIN: &str =
    "<!-- Written by UPDATE_FAULTS=1 cargo test -p streamgauge-client --test it faults -->\n";
const END: &str = "<!-- End of what is written -->\n";

/// What a fault is tried against, as long as this lives.
struct Server {
    url: String,
    access: Access,
    _sim: Option<ThreadedSim>,
    _front: Option<tls::Front>,
}

impl Server {
    async fn of(ask: Ask) -> Self {
        let plain = |config: SimConfig| {
            let (sim, url) = server(config);
            Self { url, access: Access::default(), _sim: Some(sim), _front: None }
        };
        let struck = |kind: &str| {
            let rule = ConnectionRule { every: 1, kind: kind.parse().unwrap() };
            plain(SimConfig { connection_faults: vec![rule], ..brisk() })
        };
        let nobody =
            |url: String| Self { url, access: Access::default(), _sim: None, _front: None };
        match ask {
            Ask::Again(_) | Ask::Request(_) => plain(brisk()),
            Ask::ClosedBetween => plain(SimConfig { close_after_stream: true, ..brisk() }),
            Ask::Connection(kind) => struck(kind),
            Ask::ConnectionOfTls(kind) => {
                let server = struck(kind);
                let access = trusting(&stranger());
                Self { url: server.url.replace("http://", "https://"), access, ..server }
            }
            Ask::Nobody => {
                let port =
                    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
                nobody(format!("http://{port}"))
            }
            Ask::NoAddress => nobody("http://nowhere.invalid".to_owned()),
            Ask::Tls(certificate) => {
                let (identity, authority) = untrusted(certificate);
                let front = tls::front(identity.server()).await;
                let url = format!("https://localhost:{}", front.port);
                Self { url, access: trusting(&authority), _sim: None, _front: Some(front) }
            }
        }
    }
}

/// A server's certificate, and the authority that its client trusts.
fn untrusted(certificate: Certificate) -> (Identity, String) {
    let expired = |params: &mut CertificateParams| params.not_after = date_time_ymd(2020, 1, 1);
    let identity = match certificate {
        Certificate::Expired => Identity::self_signed("localhost", expired),
        Certificate::OtherName => Identity::self_signed("elsewhere.example", |_| {}),
        Certificate::SelfSigned => Identity::self_signed("localhost", |_| {}),
    };
    let authority = match certificate {
        Certificate::SelfSigned => stranger(),
        Certificate::Expired | Certificate::OtherName => identity.certificate.pem(),
    };
    (identity, authority)
}

fn stranger() -> String {
    Identity::signed("localhost", "A stranger").1.pem()
}

fn trusting(authority: &str) -> Access {
    let trust = Trust::file(saved(authority).path()).unwrap();
    Access { trust: Some(trust), ..Access::default() }
}

/// The fault's request, or what kept the run from beginning.
async fn outcome(fault: &Fault) -> Result<RequestLine, RunError<Infallible>> {
    let server = Server::of(fault.ask).await;
    let second = matches!(fault.ask, Ask::Again(_) | Ask::ClosedBetween);
    let mut plan: Plan = plan(&server.url, if second { 2 } else { 1 }, 1);
    let times_out = matches!(
        fault.class,
        Some(
            FailureClass::ConnectTimeout
                | FailureClass::DeadlineExceeded
                | FailureClass::IdleTimeout
        )
    );
    if times_out {
        plan.limits.connect_timeout_ms = 200;
        plan.limits.idle_timeout_ms = 200;
        plan.limits.timeout_ms = 600;
    }
    plan.instrument.resend = !matches!(fault.ask, Ask::Again(_));
    let requests = |stage, index| match fault.ask {
        Ask::Again(order) if index == 1 => ordering(stage, index, order),
        Ask::Request(order) => ordering(stage, index, order),
        _ => ordering(stage, index, "none"),
    };
    match carry_out(&plan, &schedule(&plan), &server.access, requests).await {
        Ok((mut lines, _)) => Ok(lines.pop().unwrap()),
        Err(error) => Err(error),
    }
}

fn completion(class: Option<FailureClass>) -> Completion {
    use FailureClass::{ConnectTimeout, DeadlineExceeded, IdleTimeout};
    match class {
        None => Completion::Succeeded,
        Some(ConnectTimeout | DeadlineExceeded | IdleTimeout) => Completion::TimedOut,
        Some(_) => Completion::Failed,
    }
}

fn check(fault: &Fault, line: &RequestLine) {
    let what = fault.what;
    assert_eq!(
        line.failure.as_ref().map(|failure| failure.class),
        fault.class,
        "{what}: {:?}",
        line.failure
    );
    assert_eq!(line.completion, completion(fault.class), "{what}");
    let message = line.failure.as_ref().map_or("", |failure| &failure.message);
    assert!(message.contains(fault.says), "{what}: {message}");
    assert!(!message.contains(char::is_control), "{what}: {message:?}");
    assert!(message.chars().count() <= 301, "{what}: {message}");
    assert_eq!(line.observation.is_some(), fault.kept.is_some(), "{what}");
    let (Some(observed), Some(kept)) = (&line.observation, fault.kept) else { return };
    assert_eq!(observed.http_status, kept.status, "{what}");
    assert_eq!(observed.retry_after_s, kept.retry_after_s, "{what}");
    match (kept.events, kept.outputs) {
        (Some(events), Some(outputs)) => {
            assert_eq!((observed.events, observed.output_events), (events, outputs), "{what}");
        }
        _ => assert!(observed.output_events > 100, "{what}"),
    }
    assert_eq!(observed.arrivals_us.len() as u64, observed.output_events, "{what}");
    if matches!(fault.ask, Ask::ClosedBetween) {
        assert_eq!(line.stale_connections + u64::from(line.attempts - 1), 1, "{what}");
    }
}

#[tokio::test]
async fn each_fault_has_its_class_and_what_came_is_kept() {
    for fault in FAULTS {
        let begun = Instant::now();
        match outcome(fault).await {
            Ok(line) => check(fault, &line),
            Err(error) => {
                assert_eq!(fault.class, Some(FailureClass::Dns), "{}: {error}", fault.what);
                assert!(error.to_string().contains(fault.says), "{error}");
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", fault.what);
    }
}

#[test]
fn the_readme_shows_this_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let current = [before, BEGIN, "\n", &markdown(), "\n", END, after].concat();
    if std::env::var_os("UPDATE_FAULTS").is_some() {
        fs::write(&path, current).unwrap();
    } else {
        assert!(
            readme == current,
            "{} is stale: run this test with UPDATE_FAULTS=1",
            path.display()
        );
    }
}

fn markdown() -> String {
    let mut table = String::from(
        "| what the server does | how to have it | what the request is | what is kept |\n| --- | --- | --- | --- |\n",
    );
    for fault in FAULTS {
        let class = match fault.class {
            None => "succeeded".to_owned(),
            Some(FailureClass::Dns) => "the run does not begin".to_owned(),
            Some(class) => format!("{}, `{class}`", completion(Some(class))),
        };
        let row = [fault.what.to_owned(), asking(fault.ask), class, keeping(fault)].join(" | ");
        table.push_str(&format!("| {row} |\n"));
    }
    table
}

fn asking(ask: Ask) -> String {
    match ask {
        Ask::Again(order) => format!("`x-sim-fault: {order}`, with `--no-resend`"),
        Ask::ClosedBetween => "`--close-after-stream`".to_owned(),
        Ask::Connection(kind) => format!("`--connection-fault 1={kind}`"),
        Ask::ConnectionOfTls(kind) => format!("`--connection-fault 1={kind}`, asked by `https`"),
        Ask::Nobody => "a port without a server".to_owned(),
        Ask::NoAddress => "a host in `.invalid`".to_owned(),
        Ask::Request(order) => format!("`--fault 1={order}`"),
        Ask::Tls(_) => "a TLS front with that certificate".to_owned(),
    }
}

fn keeping(fault: &Fault) -> String {
    let message = format!("message: `{}`", fault.says);
    let Some(Kept { status, events, outputs, retry_after_s }) = fault.kept else {
        return message;
    };
    let mut kept = vec![format!("status {status}")];
    kept.push(match (events, outputs) {
        (Some(0), _) => "bytes".to_owned(),
        (Some(events), Some(outputs)) => {
            format!("{events} events, {outputs} with output, their times")
        }
        _ => "all events until then, their times".to_owned(),
    });
    kept.extend(retry_after_s.map(|seconds| format!("`Retry-After` of {seconds} s")));
    kept.extend(fault.class.map(|_| message));
    kept.join("; ")
}
