//! An authority of a test's own, and certificates it made.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Somebody who vouches for servers.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    pub pem: String,
}

/// A certificate in PEM, and its key.
pub struct Certificate {
    pub pem: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for a server that is called so.
    pub fn certify(&self, names: &[&str]) -> Certificate {
        let key = KeyPair::generate().unwrap();
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap();
        Certificate { pem: made.pem(), key: key.serialize_pem() }
    }
}

impl Certificate {
    /// Writes the two files, as they are to be.
    pub fn write(&self, folder: &Path) -> [PathBuf; 2] {
        let files = [folder.join("cert.pem"), folder.join("key.pem")];
        std::fs::write(&files[0], &self.pem).unwrap();
        std::fs::write(&files[1], &self.key).unwrap();
        std::fs::set_permissions(&files[1], Permissions::from_mode(0o600)).unwrap();
        files
    }
}
