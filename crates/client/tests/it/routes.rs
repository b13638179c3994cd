//! Other ways to a server than straight by TCP: proxies and Unix-domain sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use streamgauge_client::{Access, Proxy, Trust};
use streamgauge_schema::{Completion, FailureClass, KernelStamps, RequestLine};
use streamgauge_sim::{RawServer, RawStep, SimConfig, ThreadedSim, spawn_thread};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener};

use crate::plan::{lines_with, plan, request};
use crate::tls::{Identity, front};

fn sim() -> ThreadedSim {
    spawn_thread(SimConfig::default(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap()
}

/// A proxy that answers `CONNECT` as it is told, and passes everything on to one place; with it the heads
/// that it was sent.
pub(crate) async fn proxy(
    upstream: SocketAddr,
    answer: &'static str,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await?);
                }
                let text = String::from_utf8_lossy(&head).into_owned();
                let tunnels = text.starts_with("CONNECT ");
                noted.lock().unwrap().push(text);
                let mut server = TcpStream::connect(upstream).await?;
                match tunnels {
                    true => client.write_all(answer.as_bytes()).await?,
                    false => server.write_all(&head).await?,
                }
                copy_bidirectional(&mut client, &mut server).await.map(|_| ())
            });
        }
    });
    (addr, heads)
}

fn through(proxy: SocketAddr, trust: Option<Trust>) -> Access {
    let url = format!("http://ann:s3cret@{proxy}");
    Access { proxy: Some(Proxy::parse(&url).unwrap()), trust, ..Access::default() }
}

async fn first_line(base_url: &str, access: &Access) -> RequestLine {
    let mut plan = plan(base_url, 1, 1);
    plan.instrument.kernel_stamps = KernelStamps::All;
    let (mut lines, _) = lines_with(&plan, access, |stage, index| request(stage, index, "")).await;
    lines.remove(0)
}

#[tokio::test]
async fn a_plain_server_is_asked_for_at_the_proxy() {
    let sim = sim();
    let (addr, heads) = proxy(sim.addr(), "").await;
    // Only the proxy knows the name.
    let line = first_line("http://model.invalid:8000/p", &through(addr, None)).await;
    let head = heads.lock().unwrap()[0].to_ascii_lowercase();
    assert!(head.starts_with("post http://model.invalid:8000/p/v1/chat/completions http/1.1\r\n"));
    assert!(head.contains("\r\nhost: model.invalid:8000\r\n"), "{head}");
    assert!(head.contains("\r\nproxy-authorization: basic yw5uonmzy3jlda==\r\n"), "{head}");
    // The simulated server knows no such path, and answered.
    assert_eq!(line.failure.unwrap().class, FailureClass::HttpStatus);
}

#[tokio::test]
async fn a_tls_server_is_reached_by_a_tunnel_and_measured_within_it() {
    let identity = Identity::self_signed("model.invalid", |_| ());
    let front = front(identity.server()).await;
    let upstream = SocketAddr::from((Ipv4Addr::LOCALHOST, front.port));
    let (addr, heads) = proxy(upstream, "HTTP/1.1 200 Connection established\r\n\r\n").await;
    let access = through(addr, Some(Trust::anybody().unwrap()));
    let line = first_line("https://model.invalid", &access).await;
    assert_eq!(line.completion, Completion::Succeeded, "{:?}", line.failure);
    assert!(line.observer_lag_us.is_some_and(|lags| !lags.is_empty()));
    let head = heads.lock().unwrap()[0].to_ascii_lowercase();
    assert!(head.starts_with("connect model.invalid:443 http/1.1\r\nhost: model.invalid:443\r\n"));
    assert!(head.contains("\r\nproxy-authorization: basic yw5uonmzy3jlda==\r\n"), "{head}");
}

#[tokio::test]
async fn a_proxy_that_gives_no_tunnel_says_so_without_its_user() {
    let sim = sim();
    let trust = || Some(Trust::anybody().unwrap());
    for (answer, said) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 6\r\n\r\ns3cret",
            "it answers 407 Proxy Authentication Required; give a user, as in --proxy",
        ),
        ("HTTP/1.1 502 s3cret\r\nContent-Length: 0\r\n\r\n", "it answers 502 Bad Gateway"),
        ("no s3cret HTTP\r\n\r\n", "its answer cannot be read: invalid HTTP"),
        ("HTTP/1.1 200 OK\r\n\r\nearly bytes", "it sent 11 bytes that nobody asked for"),
    ] {
        let (addr, _) = proxy(sim.addr(), answer).await;
        let line = first_line("https://model.invalid", &through(addr, trust())).await;
        let failure = line.failure.unwrap();
        assert_eq!(failure.class, FailureClass::Connect, "{answer:?}");
        let place = format!("through the proxy http://{addr}: {said}");
        assert!(failure.message.contains(&place), "{}", failure.message);
        assert!(!failure.message.contains("s3cret"), "{}", failure.message);
    }
    let gone = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let line = first_line("https://model.invalid", &through(gone, trust())).await;
    let message = line.failure.unwrap().message;
    assert!(message.contains("cannot connect to the proxy http://127.0.0.1:1: "), "{message}");
}

#[tokio::test]
async fn a_unix_domain_socket_is_measured_without_kernel_stamps() {
    let sim = sim();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let upstream = sim.addr();
    let heads = Arc::<Mutex<Vec<u8>>>::default();
    let noted = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(upstream).await.unwrap();
            let mut head = vec![0; 512];
            let read = client.read(&mut head).await.unwrap();
            noted.lock().unwrap().extend(&head[..read]);
            server.write_all(&head[..read]).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
        }
    });
    let url = format!("unix://{}", path.display());
    let line = first_line(&url, &Access::default()).await;
    assert_eq!(line.completion, Completion::Succeeded, "{:?}", line.failure);
    assert_eq!(line.observer_lag_us, None);
    let head = String::from_utf8_lossy(&heads.lock().unwrap()).to_ascii_lowercase();
    assert!(
        head.starts_with("post /v1/chat/completions http/1.1\r\nhost: localhost\r\n"),
        "{head}"
    );

    let missing = format!("unix://{}", folder.path().join("none.sock").display());
    let failure = first_line(&missing, &Access::default()).await.failure.unwrap();
    assert_eq!(failure.class, FailureClass::Connect);
    assert!(failure.message.contains("none.sock"), "{}", failure.message);
}

#[tokio::test]
async fn a_server_of_http_2_alone_is_told_apart_from_one_of_no_http() {
    // What such a server says first: its settings, or that it goes away.
    let settings = b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80".to_vec();
    let goes_away = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01".to_vec();
    for (bytes, said) in [
        (settings, "switch HTTP/1.1 on there"),
        (goes_away, "switch HTTP/1.1 on there"),
        (b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(), "the answer is no HTTP/1.1"),
    ] {
        let steps = vec![RawStep::Write(bytes), RawStep::Close];
        let server = RawServer::start(steps).await.unwrap();
        let url = format!("http://{}", server.addr());
        let failure = first_line(&url, &Access::default()).await.failure.unwrap();
        assert_eq!(failure.class, FailureClass::NotEventStream);
        assert!(failure.message.contains(said), "{}", failure.message);
    }
}
