//! TLS of the server itself: handshakes run side by side, and a slow one holds up no other. A certificate that was
//! renewed is used without a restart.

use super::connection_limit::{ConnectionLimiter, accept};
use super::connection_server::set_nodelay;
use axum::serve::Listener;
use sayso_core::{Code, Refusal};
use sayso_engine::Result;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

/// The time limit for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The most handshakes at one time. One more ends the oldest: an honest client is done long before.
const HANDSHAKES_MAX: usize = 512;

/// The least time between two checks whether the certificate was renewed.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The most that is read of a file with a certificate or a key.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A certificate and its key, as files in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those between it and the authority.
    pub certificate: PathBuf,
    /// Its key, which no other account can read.
    pub key: PathBuf,
}

/// Builds the TLS acceptor. An error in the files is reported now, not to the first client.
pub(super) fn acceptor(files: TlsFiles) -> Result<TlsAcceptor> {
    let provider = Arc::new(default_provider());
    let resolver = Arc::new(RenewingCertificate::open(files, LOOK_EVERY)?);
    let versions =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let versions = versions.map_err(|e| Refusal::new(Code::Failure, format!("TLS: {e}")))?;
    let mut config = versions.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

type TlsConnection = (TlsStream<TcpStream>, SocketAddr);

/// A listener whose connections have done their handshake when they are handed out.
pub(super) struct TlsListener {
    socket: TcpListener,
    acceptor: TlsAcceptor,
    connections: Arc<ConnectionLimiter>,
    handshakes: JoinSet<Option<TlsConnection>>,
    oldest_first: VecDeque<AbortHandle>,
}

impl TlsListener {
    pub(super) fn new(
        socket: TcpListener,
        acceptor: TlsAcceptor,
        connections: Arc<ConnectionLimiter>,
    ) -> Self {
        let (handshakes, oldest_first) = Default::default();
        Self { socket, acceptor, connections, handshakes, oldest_first }
    }

    fn shake_hands(&mut self, stream: TcpStream, from: SocketAddr) {
        if self.oldest_first.len() >= HANDSHAKES_MAX {
            self.oldest_first.retain(|handshake| !handshake.is_finished());
        }
        if self.oldest_first.len() >= HANDSHAKES_MAX
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            oldest.abort();
        }
        let accept = self.acceptor.accept(stream);
        self.oldest_first.push_back(self.handshakes.spawn(async move {
            // A client that cannot do it, or takes too long, is one that we know nothing of.
            let shaken = tokio::time::timeout(HANDSHAKE, accept).await.ok()?.ok()?;
            Some((shaken, from))
        }));
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> TlsConnection {
        loop {
            tokio::select! {
                (stream, from) = accept(&self.socket, &self.connections) => {
                    set_nodelay(&stream);
                    self.shake_hands(stream, from);
                }
                done = self.handshakes.join_next(), if !self.handshakes.is_empty() => {
                    if let Some(Ok(Some(shaken))) = done {
                        return shaken;
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// The certificate as it is in its files, checked again now and then.
#[derive(Debug)]
struct RenewingCertificate {
    files: TlsFiles,
    look_every: Duration,
    kept: Mutex<LoadedCertificate>,
}

#[derive(Debug)]
struct LoadedCertificate {
    key: Arc<CertifiedKey>,
    looked_at: Instant,
    stamp: FileStamps,
}

/// The metadata that tells whether the files were replaced.
type FileStamps = [Option<(u64, i64, i64, u64)>; 2];

impl RenewingCertificate {
    fn open(files: TlsFiles, look_every: Duration) -> Result<Self> {
        let stamp = stamp(&files);
        let key = Arc::new(load(&files)?);
        let kept = Mutex::new(LoadedCertificate { key, looked_at: Instant::now(), stamp });
        Ok(Self { files, look_every, kept })
    }

    fn current(&self) -> Arc<CertifiedKey> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.looked_at.elapsed() < self.look_every {
            return kept.key.clone();
        }
        kept.looked_at = Instant::now();
        let found = stamp(&self.files);
        if found != kept.stamp {
            match load(&self.files) {
                Ok(key) => {
                    (kept.key, kept.stamp) = (Arc::new(key), found);
                    tracing::info!("the certificate was renewed");
                }
                // Perhaps only one of the two files is there yet: they are checked again.
                Err(error) => {
                    tracing::error!(%error, "the new certificate cannot be used; the old one stays");
                }
            }
        }
        kept.key.clone()
    }
}

impl ResolvesServerCert for RenewingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

fn stamp(files: &TlsFiles) -> FileStamps {
    [&files.certificate, &files.key].map(|path| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.ino(), about.mtime(), about.mtime_nsec(), about.len()))
    })
}

fn load(files: &TlsFiles) -> Result<CertifiedKey> {
    let TlsFiles { certificate, key } = files;
    let chain: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&read("certificate", certificate)?).collect();
    let chain = chain.map_err(|e| wrong("certificate", certificate, &e))?;
    if chain.is_empty() {
        return Err(wrong("certificate", certificate, &"there is none in it").into());
    }
    check_is_private(key)?;
    let secret = PrivateKeyDer::from_pem_slice(&read("key", key)?);
    // Not the library's words: they may quote what is in the file.
    let secret = secret.map_err(|_| wrong("key", key, &"there is no private key in it"))?;
    CertifiedKey::from_der(chain, secret, &default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            let why = format!("it is not the key of the certificate {}", certificate.display());
            wrong("key", key, &why).into()
        }
        error => wrong("certificate", certificate, &error).into(),
    })
}

fn read(what: &str, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
    read.map_err(|error| wrong(what, path, &error))?;
    Ok(bytes)
}

/// Checks that no other account can read the key: its holder can pass for this server.
fn check_is_private(key: &Path) -> Result<()> {
    let about = std::fs::metadata(key).map_err(|error| wrong("key", key, &error))?;
    match about.mode() & 0o077 {
        0 => Ok(()),
        _ => {
            let why = format!("others can read it ({:o})", about.mode() & 0o777);
            Err(wrong("key", key, &why).hint(format!("chmod 600 {}", key.display())).into())
        }
    }
}

fn wrong(what: &str, path: &Path, why: &dyn std::fmt::Display) -> Refusal {
    let message = format!("the {what} {} cannot be used: {why}", path.display());
    Refusal::new(Code::BadConfig, message)
        .hint("--tls-cert and --tls-key name a certificate with its chain and its key, both in PEM")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    fn files(folder: &Path) -> TlsFiles {
        TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") }
    }

    fn put(files: &TlsFiles) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        write(&files.certificate, made.cert.pem()).unwrap();
        write(&files.key, made.signing_key.serialize_pem()).unwrap();
        set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn a_renewed_certificate_counts_and_a_half_renewed_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        put(&files);
        let renewing = RenewingCertificate::open(files.clone(), Duration::ZERO).unwrap();
        let first = renewing.current();
        assert!(Arc::ptr_eq(&first, &renewing.current()));
        let (certificate, key) =
            (std::fs::read(&files.certificate).unwrap(), std::fs::read(&files.key).unwrap());
        put(&files);
        let second = renewing.current();
        assert_ne!(first.cert, second.cert);
        write(&files.certificate, certificate).unwrap();
        assert_eq!(second.cert, renewing.current().cert);
        write(&files.key, key).unwrap();
        assert_eq!(first.cert, renewing.current().cert);
        let patient = RenewingCertificate::open(files.clone(), LOOK_EVERY).unwrap();
        put(&files);
        assert_eq!(first.cert, patient.current().cert);
    }
}
