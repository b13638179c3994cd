//! Whom to trust over TLS, as whom to come, and what to say when it fails.
//!
//! Invariant: nothing but HTTP/1.1 is offered, and a certificate goes unverified only where that was
//! asked for by name.

mod verifier;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};

use crate::error::TlsError;
use crate::files::read_regular;
use verifier::{SelfSigned, Verifier};

/// Longest file of certificates: the platform's own bundles have a few hundred kilobytes.
const MOST_PEM_BYTES: u64 = 16 << 20;

/// The one protocol that is offered. One read of HTTP/2 serves many streams, so that the arrivals of
/// each could not be told apart.
const ALPN: &[u8] = b"http/1.1";

/// How to trust a TLS server.
#[derive(Clone)]
pub struct Trust {
    verifier: Arc<Verifier>,
    config: Arc<ClientConfig>,
}

impl Trust {
    /// Trusts the platform's certificate authorities.
    ///
    /// # Errors
    /// When the platform has none.
    pub fn platform() -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(TlsError::NoRoots);
        }
        Self::with_roots(roots)
    }

    /// Trusts the certificate authorities of a PEM file and no others.
    ///
    /// # Errors
    /// When the file cannot be read or holds no certificate.
    pub fn file(path: &Path) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(certificates(path)?);
        if added == 0 {
            return Err(TlsError::Empty { path: path.to_owned() });
        }
        Self::with_roots(roots)
    }

    /// Trusts whoever answers: nobody knows then which server was measured, and who read the keys.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn anybody() -> Result<Self, TlsError> {
        Self::with_verifier(Verifier::of_nobody(provider()))
    }

    /// The same, and comes with a certificate of its own: both files in PEM, the certificate first and
    /// then those that it was signed by.
    ///
    /// # Errors
    /// When a file cannot be read or does not hold what it should, or the two do not belong together.
    pub fn with_client_certificate(self, certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = certificates(certificate)?;
        if chain.is_empty() {
            return Err(TlsError::Empty { path: certificate.to_owned() });
        }
        let pem = read(key)?;
        let secret = PrivateKeyDer::from_pem_slice(&pem)
            .map_err(|_| TlsError::NoKey { path: key.to_owned() })?;
        let mut config =
            unfinished(&self.verifier)?.with_client_auth_cert(chain, secret).map_err(|source| {
                TlsError::ClientCertificate {
                    certificate: certificate.to_owned(),
                    key: key.to_owned(),
                    source,
                }
            })?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self { config: Arc::new(config), ..self })
    }

    /// Whether a server's certificate is verified.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verifier.verifies()
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    fn with_roots(roots: RootCertStore) -> Result<Self, TlsError> {
        let provider = provider();
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let by = builder.build().map_err(|error| rustls::Error::General(error.to_string()))?;
        Self::with_verifier(Verifier::by(by, provider))
    }

    fn with_verifier(verifier: Verifier) -> Result<Self, TlsError> {
        let verifier = Arc::new(verifier);
        let mut config = unfinished(&verifier)?.with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self { verifier, config: Arc::new(config) })
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("is_verified", &self.is_verified()).finish_non_exhaustive()
    }
}

/// A configuration that only lacks what the client shows of itself.
fn unfinished(
    verifier: &Arc<Verifier>,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(verifier.provider()));
    let verifier = Arc::clone(verifier);
    Ok(builder
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = read(path)?;
    Ok(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    read_regular(path, MOST_PEM_BYTES)
        .map_err(|source| TlsError::File { path: path.to_owned(), source })
}

/// What is said of a server that does not speak HTTP/1.1.
pub(crate) const HTTP_2_ALONE: &str = "the server speaks no HTTP/1.1, but HTTP/2 alone, by which \
    arrivals cannot be told apart; switch HTTP/1.1 on there, or measure what stands behind it";

/// Names of a certificate that are shown.
const MOST_NAMES: usize = 3;

/// What is wrong, and what to do about it.
pub(crate) fn explained(error: &rustls::Error) -> String {
    use rustls::Error::{AlertReceived, InvalidCertificate, InvalidMessage, NoApplicationProtocol};
    let text = match error {
        InvalidCertificate(fault) => return of_certificate(fault),
        AlertReceived(AlertDescription::NoApplicationProtocol) | NoApplicationProtocol => {
            HTTP_2_ALONE
        }
        AlertReceived(AlertDescription::CertificateRequired) => {
            "the server asks for a certificate of the client; give --client-cert and --client-key"
        }
        AlertReceived(
            AlertDescription::AccessDenied
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::DecryptError
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate,
        ) => "the server does not accept the certificate of the client; see --client-cert",
        AlertReceived(AlertDescription::UnrecognisedName) => {
            "the server does not know the name in the address"
        }
        AlertReceived(AlertDescription::ProtocolVersion) => {
            "the server speaks neither TLS 1.2 nor 1.3; switch one of them on there"
        }
        InvalidMessage(_) => {
            "what the server says is no TLS; perhaps its address begins with http://"
        }
        other => return other.to_string(),
    };
    text.to_owned()
}

fn of_certificate(fault: &CertificateError) -> String {
    let text = match fault {
        // By the name of an authority that is trusted, with another key.
        CertificateError::BadSignature | CertificateError::UnknownIssuer => {
            "nobody who is trusted has signed its certificate; name the file of the authority that \
             did with --ca-file"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; have it renewed, or set this machine's clock"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; set this machine's clock"
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().take(MOST_NAMES).map(String::as_str).collect();
            return format!(
                "its certificate is not valid for {}, only for {}; write a name in the address that \
                 it is valid for",
                expected.to_str(),
                if names.is_empty() { "no name".to_owned() } else { names.join(", ") },
            );
        }
        CertificateError::Other(other) if other.0.is::<SelfSigned>() => {
            "its certificate is self-signed; if it is the server's own, name its file with --ca-file"
        }
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is marked as an authority's (CA:TRUE), and no server's; make one with \
             basicConstraints=CA:FALSE"
        }
        other => return format!("its certificate is refused: {other}"),
    };
    text.to_owned()
}
