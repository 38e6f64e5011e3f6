//! TLS to PostgreSQL: `sslmode` and `sslrootcert` of a database URL, and certificate verification. If the URL demands
//! TLS, there is no fallback to plain text.

use crate::postgres::silent;
use crate::{Error, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::str::FromStr;
use std::sync::Arc;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The connection settings of a database URL.
pub(crate) struct ConnectSettings {
    pub(crate) config: Config,
    /// None without encryption.
    pub(crate) tls: Option<MakeRustlsConnect>,
}

/// The TLS mode of a URL, in PostgreSQL's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TlsMode {
    Plain,
    /// Encryption if the server supports it, without verification of the server.
    Prefer,
    /// Encryption without verification of the server: on this machine only.
    Require,
    /// Encryption, and the server's certificate is verified by a trusted authority.
    Verify,
}

/// Parses a URL. The library knows neither `sslmode=verify-full` nor `sslrootcert`.
pub(crate) fn parse_url(url: &str) -> Result<ConnectSettings> {
    let (rest, asked, authorities) = split_parameters(url);
    let mut config =
        Config::from_str(&rest).map_err(|e| silent(format!("the address is not valid: {e}")))?;
    let mode = mode(asked.as_deref(), is_here(&config), authorities.is_some())?;
    config.ssl_mode(match mode {
        TlsMode::Plain => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::Verify => SslMode::Require,
    });
    let tls = match mode {
        TlsMode::Plain => None,
        TlsMode::Prefer | TlsMode::Require => Some(unverified_config()?),
        TlsMode::Verify => Some(verifying_config(authorities.as_deref())?),
    };
    Ok(ConnectSettings { config, tls: tls.map(MakeRustlsConnect::new) })
}

/// Returns the URL without the two parameters that we handle, and their values.
fn split_parameters(url: &str) -> (String, Option<String>, Option<String>) {
    let (mut mode, mut authorities) = (None, None);
    let Some((address, parameters)) = url.rsplit_once('?') else {
        return (url.into(), mode, authorities);
    };
    let rest: Vec<_> = parameters
        .split('&')
        .filter(|parameter| match parameter.split_once('=') {
            Some(("sslmode", value)) => {
                mode = Some(decoded(value));
                false
            }
            Some(("sslrootcert", value)) => {
                authorities = Some(decoded(value));
                false
            }
            _ => true,
        })
        .collect();
    (format!("{address}?{}", rest.join("&")), mode, authorities)
}

/// Decodes percent-encoding, such as `%2F`.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (vec![], 0);
    while let Some(byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let coded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        plain.push(coded.unwrap_or(*byte));
        at += if coded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Returns the TLS mode. Beyond this machine, required encryption is verified, too: a man in the middle could
/// otherwise do the encrypting.
fn mode(asked: Option<&str>, is_here: bool, has_authorities: bool) -> Result<TlsMode> {
    match asked {
        None if has_authorities => Ok(TlsMode::Verify),
        None if is_here => Ok(TlsMode::Plain),
        None | Some("prefer") => Ok(TlsMode::Prefer),
        Some("disable") => Ok(TlsMode::Plain),
        Some("require") if is_here && !has_authorities => Ok(TlsMode::Require),
        Some("require" | "verify-full") => Ok(TlsMode::Verify),
        Some(_) => Err(silent(
            "the address is not valid: sslmode is disable, prefer, require or verify-full",
        )),
    }
}

/// True if all hosts are on this machine.
fn is_here(config: &Config) -> bool {
    let is_loopback = |name: &str| {
        name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    let hosts = config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => is_loopback(name),
        Host::Unix(_) => true,
    });
    hosts && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>> {
    let provider = Arc::new(crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::Other(format!("TLS to PostgreSQL: {e}")))
}

/// Builds a TLS configuration that trusts the authorities in the file, or else the public ones.
fn verifying_config(authorities: Option<&str>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None | Some("system") => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let wrong = |why: String| silent(format!("sslrootcert {path}: {why}"));
            let all = CertificateDer::pem_file_iter(path).map_err(|e| wrong(e.to_string()))?;
            for certificate in all {
                let certificate = certificate.map_err(|e| wrong(e.to_string()))?;
                roots.add(certificate).map_err(|e| wrong(e.to_string()))?;
            }
            if roots.is_empty() {
                return Err(wrong("there is no certificate in it".into()));
            }
        }
    }
    Ok(builder()?.with_root_certificates(roots).with_no_client_auth())
}

/// Builds a TLS configuration that trusts any server. This protects from passive listeners only.
fn unverified_config() -> Result<ClientConfig> {
    let verifier = Arc::new(AcceptAnyServer(crypto::ring::default_provider()));
    let config = builder()?.dangerous().with_custom_certificate_verifier(verifier);
    Ok(config.with_no_client_auth())
}

#[derive(Debug)]
struct AcceptAnyServer(CryptoProvider);

impl ServerCertVerifier for AcceptAnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn asked(url: &str) -> Option<TlsMode> {
        let (rest, asked, authorities) = split_parameters(url);
        let config = Config::from_str(&rest).unwrap();
        mode(asked.as_deref(), is_here(&config), authorities.is_some()).ok()
    }

    #[test]
    fn what_an_address_asks_for() {
        for (url, expected) in [
            ("postgres://a@127.0.0.1/x", Some(TlsMode::Plain)),
            ("postgres://a@localhost:5432/x?sslmode=disable", Some(TlsMode::Plain)),
            ("postgres:///x?host=/run/postgresql", Some(TlsMode::Plain)),
            ("postgres://a@db.example/x", Some(TlsMode::Prefer)),
            ("postgres://a@127.0.0.1/x?sslmode=prefer", Some(TlsMode::Prefer)),
            ("postgres://a@[::1]/x?sslmode=require", Some(TlsMode::Require)),
            ("postgres://a@db.example/x?sslmode=require", Some(TlsMode::Verify)),
            // One of the hosts is remote, or the name only looks like one of this machine.
            ("postgres://a@localhost,db.example/x?sslmode=require", Some(TlsMode::Verify)),
            ("postgres://a@localhost/x?sslmode=require&hostaddr=192.0.2.1", Some(TlsMode::Verify)),
            ("postgres://a@localhost/x?sslmode=require&sslrootcert=/ca.pem", Some(TlsMode::Verify)),
            ("postgres://a@localhost/x?sslrootcert=%2Fca.pem", Some(TlsMode::Verify)),
            ("postgres://a@db/x?connect_timeout=3&sslmode=verify-full", Some(TlsMode::Verify)),
            ("postgres://a@db/x?sslmode=verify-ca", None),
            ("postgres://a@db/x?sslmode=REQUIRE", None),
            ("postgres://a@db/x?sslmode=", None),
        ] {
            assert_eq!(asked(url), expected, "{url}");
        }
    }

    #[test]
    fn parameters_are_taken_out_whole() {
        let url = "postgres://a:b%3Fc@db/x?sslmode=verify-full&user=z&sslrootcert=%2Fa%20b.pem";
        let (rest, mode, authorities) = split_parameters(url);
        assert_eq!(rest, "postgres://a:b%3Fc@db/x?user=z");
        assert_eq!(mode.as_deref(), Some("verify-full"));
        assert_eq!(authorities.as_deref(), Some("/a b.pem"));
    }
}
