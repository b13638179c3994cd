//! TLS: verified by default, and its failures say why.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use streamgauge_client::{Access, TlsError, Trust};
use streamgauge_schema::{Completion, FailureClass, KernelStamps};
use streamgauge_sim::{SimConfig, ThreadedSim, spawn_thread};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::plan::{lines_with, plan, request};

/// A TLS front before a simulated server, and a file with the authority that signed it.
struct Front {
    port: u16,
    authority: tempfile::NamedTempFile,
    _sim: ThreadedSim,
}

async fn front(name: &str) -> Front {
    let sim =
        spawn_thread(SimConfig::default(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let upstream = sim.addr();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust us hangs up; that is what is tested.
                if let Ok(mut tls) = acceptor.accept(socket).await
                    && let Ok(mut plain) = TcpStream::connect(upstream).await
                {
                    let _ = copy_bidirectional(&mut tls, &mut plain).await;
                }
            });
        }
    });
    let mut authority = tempfile::NamedTempFile::new().unwrap();
    authority.write_all(cert.pem().as_bytes()).unwrap();
    Front { port, authority, _sim: sim }
}

fn access(trust: Trust) -> Access {
    Access { trust: Some(trust), ..Access::default() }
}

#[tokio::test]
async fn a_trusted_server_is_measured_with_kernel_stamps() {
    let front = front("localhost").await;
    let mut plan = plan(&format!("https://localhost:{}", front.port), 4, 2);
    plan.instrument.kernel_stamps = KernelStamps::All;
    let access = access(Trust::file(front.authority.path()).unwrap());
    let (lines, _) = lines_with(&plan, &access, |stage, index| request(stage, index, "")).await;
    for line in lines {
        assert_eq!(line.completion, Completion::Succeeded, "{:?}", line.failure);
        assert!(line.observer_lag_us.is_some_and(|lags| !lags.is_empty()));
    }
}

#[tokio::test]
async fn an_untrusted_server_is_refused_and_the_reason_is_shown() {
    let stranger = front("localhost").await;
    let misnamed = front("elsewhere.example").await;
    for (front, authority, reason) in [
        (&stranger, &misnamed, "invalid peer certificate"),
        (&misnamed, &misnamed, "not valid for name"),
    ] {
        let plan = plan(&format!("https://localhost:{}", front.port), 1, 1);
        let access = access(Trust::file(authority.authority.path()).unwrap());
        let (lines, _) = lines_with(&plan, &access, |stage, index| request(stage, index, "")).await;
        let failure = lines[0].failure.as_ref().unwrap();
        assert_eq!(failure.class, FailureClass::Tls);
        assert!(failure.message.contains(reason), "{}", failure.message);
    }
}

#[test]
fn a_file_without_certificates_is_named() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(Trust::file(empty.path()), Err(TlsError::Empty { .. })));
    assert!(matches!(Trust::file("nowhere.pem".as_ref()), Err(TlsError::File { .. })));
}
