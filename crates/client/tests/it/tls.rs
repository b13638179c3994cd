//! TLS: verified by default, and its failures say why and what to do.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use streamgauge_client::{Access, Endpoint, TlsError, Trust, wait_ready};
use streamgauge_schema::{Completion, Dialect, FailureClass, KernelStamps};
use streamgauge_sim::{SimConfig, ThreadedSim, spawn_thread};
use tempfile::NamedTempFile;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::plan::{lines_with, plan, request};

/// A certificate, who signed it, and its key.
pub(crate) struct Identity {
    pub(crate) certificate: Certificate,
    key: KeyPair,
}

/// What a certificate is like.
type Change = fn(&mut CertificateParams);

impl Identity {
    /// A certificate that signed itself.
    pub(crate) fn self_signed(name: &str, change: Change) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    /// A certificate that an authority signed, and that of the authority.
    pub(crate) fn signed(name: &str, authority_name: &str) -> (Self, Certificate) {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.distinguished_name.push(DnType::CommonName, authority_name);
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root_key = KeyPair::generate().unwrap();
        let root = authority.self_signed(&root_key).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &Issuer::new(authority, root_key)).unwrap();
        (Self { certificate, key }, root)
    }

    pub(crate) fn server(&self) -> ServerConfig {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let chain = vec![self.certificate.der().clone()];
        builder().with_no_client_auth().with_single_cert(chain, key).unwrap()
    }
}

fn builder() -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap()
}

fn unchanged(_: &mut CertificateParams) {}

pub(crate) fn saved(pem: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(pem.as_bytes()).unwrap();
    file
}

/// A TLS front before a simulated server.
pub(crate) struct Front {
    pub(crate) port: u16,
    _sim: ThreadedSim,
}

pub(crate) async fn front(config: ServerConfig) -> Front {
    let sim =
        spawn_thread(SimConfig::default(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
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
    Front { port, _sim: sim }
}

fn access(trust: Trust) -> Access {
    Access { trust: Some(trust), ..Access::default() }
}

/// What becomes of a request to a front by whom that trusts.
async fn failure(front: &Front, trust: Trust) -> Option<(FailureClass, String)> {
    let plan = plan(&format!("https://localhost:{}", front.port), 1, 1);
    let (lines, _) =
        lines_with(&plan, &access(trust), |stage, index| request(stage, index, "")).await;
    lines[0].failure.as_ref().map(|failure| (failure.class, failure.message.clone()))
}

#[tokio::test]
async fn a_trusted_server_is_measured_with_kernel_stamps() {
    let (identity, authority) = Identity::signed("localhost", "An authority");
    let authority = saved(&authority.pem());
    let front = front(identity.server()).await;
    let mut plan = plan(&format!("https://localhost:{}", front.port), 4, 2);
    plan.instrument.kernel_stamps = KernelStamps::All;
    let access = access(Trust::file(authority.path()).unwrap());
    let (lines, _) = lines_with(&plan, &access, |stage, index| request(stage, index, "")).await;
    for line in lines {
        assert_eq!(line.completion, Completion::Succeeded, "{:?}", line.failure);
        assert!(line.observer_lag_us.is_some_and(|lags| !lags.is_empty()));
    }
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_refused_with_the_reason_and_what_to_do() {
    let own = |change| Identity::self_signed("localhost", change);
    let (signed, _) = Identity::signed("localhost", "An authority");
    let stranger = Identity::signed("localhost", "Another authority").1.pem();
    let namesake = Identity::signed("localhost", "An authority").1.pem();
    let itself = |identity: &Identity| identity.certificate.pem();
    let plain = own(unchanged);
    let expired = own(|params| params.not_after = date_time_ymd(2020, 1, 1));
    let early = own(|params| params.not_before = date_time_ymd(4000, 1, 1));
    let authority = own(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    let misnamed = Identity::self_signed("elsewhere.example", unchanged);
    for (identity, trusted, reason, advice) in [
        (&signed, stranger.clone(), "nobody who is trusted has signed", "--ca-file"),
        (&signed, namesake, "nobody who is trusted has signed", "--ca-file"),
        (&plain, stranger, "is self-signed", "--ca-file"),
        (&expired, itself(&expired), "has expired", "renewed"),
        (&early, itself(&early), "is not valid yet", "clock"),
        (&authority, itself(&authority), "(CA:TRUE)", "basicConstraints=CA:FALSE"),
        (
            &misnamed,
            itself(&misnamed),
            "is not valid for localhost, only for DnsName(\"elsewhere.example\")",
            "address",
        ),
    ] {
        let front = front(identity.server()).await;
        let trust = Trust::file(saved(&trusted).path()).unwrap();
        let (class, message) = failure(&front, trust.clone()).await.unwrap();
        assert_eq!(class, FailureClass::Tls);
        assert!(message.contains(reason) && message.contains(advice), "{message}");
        // Whoever waits for it learns the same at once, and not that it is not ready.
        let endpoint = Endpoint::parse(&format!("https://localhost:{}", front.port)).unwrap();
        let patience = std::time::Duration::from_secs(600);
        let waited = wait_ready(&endpoint, &access(trust), Dialect::OpenaiChat, patience).await;
        let error = waited.unwrap_err();
        assert_eq!(error.class, FailureClass::Tls);
        assert!(error.message.contains(reason), "{error}");
        // Whoever asks for it gets through.
        assert_eq!(failure(&front, Trust::anybody().unwrap()).await, None);
    }
}

#[tokio::test]
async fn a_client_shows_its_own_certificate_where_it_is_asked_for() {
    let (server, authority) = Identity::signed("localhost", "An authority");
    let own = Identity::self_signed("client", unchanged);
    let mut clients = RootCertStore::empty();
    clients.add(own.certificate.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(clients), provider).build().unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(server.key.serialize_der()));
    let config = builder()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![server.certificate.der().clone()], key)
        .unwrap();
    let front = front(config).await;
    let trust = || Trust::file(saved(&authority.pem()).path()).unwrap();
    let with = |identity: &Identity| {
        let certificate = saved(&identity.certificate.pem());
        let key = saved(&identity.key.serialize_pem());
        trust().with_client_certificate(certificate.path(), key.path()).unwrap()
    };
    assert_eq!(failure(&front, with(&own)).await, None);
    for (trust, advice) in [
        (trust(), "give --client-cert and --client-key"),
        (with(&Identity::self_signed("client", unchanged)), "see --client-cert"),
    ] {
        let (class, message) = failure(&front, trust).await.unwrap();
        assert!(message.contains(advice), "{message}");
        assert_eq!(class, FailureClass::Tls);
    }
}

#[tokio::test]
async fn a_server_that_insists_on_http_2_is_told_apart() {
    let (identity, authority) = Identity::signed("localhost", "An authority");
    let mut config = identity.server();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let front = front(config).await;
    let trust = Trust::file(saved(&authority.pem()).path()).unwrap();
    let (class, message) = failure(&front, trust).await.unwrap();
    assert_eq!(class, FailureClass::Tls);
    assert!(message.contains("switch HTTP/1.1 on there"), "{message}");
}

#[tokio::test]
async fn a_server_without_tls_is_told_apart() {
    let sim = spawn_thread(SimConfig::default(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let sim = sim.unwrap();
    let front = Front { port: sim.addr().port(), _sim: sim };
    let (class, message) = failure(&front, Trust::anybody().unwrap()).await.unwrap();
    assert_eq!(class, FailureClass::Tls);
    assert!(message.contains("is no TLS") || message.contains("no TLS at this port"), "{message}");
}

#[test]
fn a_file_without_what_it_should_hold_is_named() {
    let empty = NamedTempFile::new().unwrap();
    assert!(matches!(Trust::file(empty.path()), Err(TlsError::Empty { .. })));
    assert!(matches!(Trust::file("nowhere.pem".as_ref()), Err(TlsError::File { .. })));
    let [one, other] = ["one", "other"].map(|name| Identity::self_signed(name, unchanged));
    let certificate = saved(&one.certificate.pem());
    let [own, others] = [&one, &other].map(|it| saved(&it.key.serialize_pem()));
    let with = |certificate: &NamedTempFile, key: &NamedTempFile| {
        let trust = Trust::anybody().unwrap();
        trust.with_client_certificate(certificate.path(), key.path()).map(|_| ())
    };
    assert!(with(&certificate, &own).is_ok());
    assert!(matches!(with(&empty, &own), Err(TlsError::Empty { .. })));
    assert!(matches!(with(&certificate, &empty), Err(TlsError::NoKey { .. })));
    assert!(matches!(with(&certificate, &others), Err(TlsError::ClientCertificate { .. })));
}
