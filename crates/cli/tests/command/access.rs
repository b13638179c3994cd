//! Ways to a server that are not plain HTTP by TCP: TLS, proxies and Unix-domain sockets.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::process::{Finished, finish, only_run, quick, run, server, streamgauge};

/// A front before a server, whose certificate signed itself; its port.
fn tls_front(runtime: &Runtime, upstream: SocketAddr) -> u16 {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(mut tls) = acceptor.accept(socket).await
                    && let Ok(mut plain) = TcpStream::connect(upstream).await
                {
                    let _ = copy_bidirectional(&mut tls, &mut plain).await;
                }
            });
        }
    });
    port
}

/// A small run, which asks for no lengths.
fn measure(url: &str, out: &Path, more: &[&str]) -> Finished {
    let args = ["run", "--base-url", url, "--out", out.to_str().unwrap(), "--no-length-probes"];
    run(args.iter().chain(&["--requests", "20", "--output-tokens", "4"]).chain(more))
}

fn record(folder: &Path) -> (String, Value) {
    let text = fs::read_to_string(only_run(folder).join("record.json")).unwrap();
    let record = serde_json::from_str(&text).unwrap();
    (text, record)
}

fn condition<'a>(record: &'a Value, label: &str) -> Option<&'a str> {
    let mut conditions = record["conditions"].as_array().unwrap().iter();
    conditions.find(|it| it["label"] == label).map(|it| it["value"].as_str().unwrap())
}

#[test]
fn a_server_that_is_not_trusted_is_measured_only_when_asked_and_judged_only_when_allowed() {
    let (sim, _) = server(quick());
    let runtime = Runtime::new().unwrap();
    let url = format!("https://localhost:{}", tls_front(&runtime, sim.addr()));
    let folder = tempfile::tempdir().unwrap();
    for more in [&[][..], &["--wait-ready", "600"]] {
        let refused = measure(&url, folder.path(), more);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(4), ""));
        for said in ["its certificate is self-signed", "--ca-file"] {
            assert!(refused.stderr.contains(said), "{}", refused.stderr);
        }
    }
    let finished = measure(&url, folder.path(), &["--insecure"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("warning: --insecure: "), "{}", finished.stderr);
    let (text, record) = record(folder.path());
    assert!(!text.contains("localhost"), "{text}");
    let trust = condition(&record, "TLS trust");
    assert_eq!(trust, Some("None: the server's certificate was not verified"));
    assert!(text.contains("another server may have answered"), "{text}");

    let dir = only_run(folder.path());
    let dir = dir.to_str().unwrap();
    let refused = run(["compare", dir, dir]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.trim_end().ends_with("--allow-insecure"), "{}", refused.stderr);
    let allowed = run(["compare", dir, dir, "--allow-insecure"]);
    // What the client itself bent passes no gate.
    assert!(matches!(allowed.code, Some(0 | 3)), "{}", allowed.stderr);
    assert!(allowed.prose().contains("a server was not verified (TLS)"), "{}", allowed.stdout);
}

#[test]
fn a_plan_with_an_insecure_arm_says_that_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let plan_only = |head: &str, arm: &str| {
        let text = format!(
            "version = 1\nname = \"x\"\nblocks = 3\n{head}[run]\nrequests = 20\n\
             [baseline]\nbase-url = \"https://127.0.0.1:1\"\n{arm}\
             [candidate]\nbase-url = \"https://127.0.0.1:2\"\n"
        );
        fs::write(&plan, text).unwrap();
        run(["qualify", plan.to_str().unwrap(), "--plan-only"])
    };
    let refused = plan_only("", "insecure = true\n");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("allow_insecure = true"), "{}", refused.stderr);
    let idle = plan_only("allow_insecure = true\n", "");
    assert_eq!(idle.code, Some(2));
    assert!(idle.stderr.contains("line 4"), "{}", idle.stderr);
    let allowed = plan_only("allow_insecure = true\n", "insecure = true\n");
    assert_eq!(allowed.code, Some(0), "{}", allowed.stderr);
    // A key is an arm's own, and what a proxy is told stands nowhere.
    let proxied = plan_only("", "proxy = \"http://ann:s3cret@h:3128\"\n");
    assert_eq!(proxied.code, Some(0), "{}", proxied.stderr);
    assert!(!format!("{proxied:?}").contains("s3cret"), "{proxied:?}");
}

#[test]
fn a_server_behind_a_proxy_is_measured_and_the_record_says_so() {
    let (sim, _) = server(quick());
    let runtime = Runtime::new().unwrap();
    let front = tls_front(&runtime, sim.addr());
    let proxy = connect_proxy(&runtime, SocketAddr::from((Ipv4Addr::LOCALHOST, front)));
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://ann:s3cret@127.0.0.1:{proxy}");
    let finished = measure("https://localhost", folder.path(), &["--insecure", "--proxy", &url]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let (text, record) = record(folder.path());
    assert_eq!(condition(&record, "Proxy"), Some("HTTP, named by the operator"));
    let plan = fs::read_to_string(only_run(folder.path()).join("plan.json")).unwrap();
    assert!(plan.contains(&format!("http://127.0.0.1:{proxy}")), "{plan}");
    for text in [text, plan, finished.stdout, finished.stderr] {
        assert!(!text.contains("s3cret"), "{text}");
    }

    // From the environment: for servers elsewhere only, and not for those that are named.
    let mut command = streamgauge();
    command.env("https_proxy", &url).args(["run", "--base-url", "https://model.invalid"]);
    command.args(["--proxy-from-env", "--requests", "1", "--out", folder.path().to_str().unwrap()]);
    let through = finish(&mut command);
    assert!(through.stderr.contains("self-signed") || through.stderr.contains("not valid for"));
    let past = finish(command.env("no_proxy", ".invalid"));
    assert!(past.stderr.contains("cannot resolve model.invalid"), "{}", past.stderr);
}

/// A proxy whose tunnels all lead to one place; its port.
fn connect_proxy(runtime: &Runtime, upstream: SocketAddr) -> u16 {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await?);
                }
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                let mut server = TcpStream::connect(upstream).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    port
}

#[test]
fn a_server_at_a_unix_domain_socket_is_measured() {
    let (sim, _) = server(quick());
    let upstream = sim.addr();
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hidden.sock");
    let listener = runtime.block_on(async { UnixListener::bind(&path) }).unwrap();
    runtime.spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut server = TcpStream::connect(upstream).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    for (number, prefix) in ["", ":/v1"].into_iter().enumerate() {
        let out = folder.path().join(number.to_string());
        let url = format!("unix://{}{prefix}", path.display());
        let finished = measure(&url, &out, &[]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let (text, record) = record(&out);
        assert!(!text.contains("hidden.sock"), "{text}");
        assert_eq!(condition(&record, "Socket"), Some("Unix domain"));
        assert!(record["instrument"]["observer_lag_ms"].is_null(), "{text}");
    }
}
