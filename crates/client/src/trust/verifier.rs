//! Verifies certificates as rustls does, and tells one that signed itself from one that a stranger
//! signed.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

/// Verifies the certificates of servers, or none.
#[derive(Debug)]
pub(super) struct Verifier {
    /// Who says yes or no; `None` takes every certificate.
    by: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

/// A certificate that nobody else has signed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelfSigned;

impl fmt::Display for SelfSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("self-signed")
    }
}

impl std::error::Error for SelfSigned {}

impl Verifier {
    pub(super) fn by(by: Arc<WebPkiServerVerifier>, provider: Arc<CryptoProvider>) -> Self {
        Self { by: Some(by), provider }
    }

    pub(super) fn of_nobody(provider: Arc<CryptoProvider>) -> Self {
        Self { by: None, provider }
    }

    pub(super) fn provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    pub(super) fn verifies(&self) -> bool {
        self.by.is_some()
    }

    /// Whether a certificate would do if it were trusted itself.
    fn is_self_signed(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> bool {
        let mut own = RootCertStore::empty();
        if own.add(certificate.clone().into_owned()).is_err() {
            return false;
        }
        let provider = Arc::clone(&self.provider);
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(own), provider);
        let Ok(by_itself) = builder.build() else { return false };
        !matches!(
            by_itself.verify_server_cert(certificate, &[], name, &[], now),
            Err(Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::BadSignature
            ))
        )
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(by) = &self.by else { return Ok(ServerCertVerified::assertion()) };
        let verified =
            by.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
                if self.is_self_signed(end_entity, server_name, now) =>
            {
                let fault = CertificateError::Other(OtherError(Arc::new(SelfSigned)));
                Err(Error::InvalidCertificate(fault))
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
