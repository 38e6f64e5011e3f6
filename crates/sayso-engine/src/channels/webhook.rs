//! The notification channel that posts to a URL (webhook), signed as Standard Webhooks specify, so that receivers can
//! verify it with an existing library.

use crate::{HttpClient, NetworkScope, NoticeText};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sayso_core::Timestamp;
use sayso_core::text::{sanitize_line, shorten};
use serde_json::Value;
use sha2::Sha256;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The prefix of a secret.
const PREFIX: &str = "whsec_";

/// The allowed lengths of a key in bytes: shorter ones can be guessed, longer ones are a mistake.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The maximum number of bytes read of a file that should hold one line.
const FILE_BYTES_MAX: u64 = 1_024;

pub(crate) fn post(
    url: &str,
    secret: &Path,
    reach: NetworkScope,
    text: &NoticeText,
    message: &Value,
    at: Timestamp,
    timeout: Duration,
) -> Result<(), String> {
    let key = key(secret)?;
    let body = message.to_string();
    let stamp = (at.as_micros() / 1_000_000).to_string();
    let signature = signature(&key, &text.id, &stamp, &body);
    let headers = [
        ("webhook-id", text.id.as_str()),
        ("webhook-timestamp", stamp.as_str()),
        ("webhook-signature", signature.as_str()),
    ];
    let replied = HttpClient::new(reach, timeout).post(url, &headers, &body)?;
    let said = || match shorten(&sanitize_line(&replied.text), 120).as_str() {
        "" => String::new(),
        said => format!(": {said}"),
    };
    match replied.status {
        200..=299 => Ok(()),
        300..=399 => Err(format!(
            "it answered {}, a redirect; redirects are not followed: set the URL it leads to",
            replied.status
        )),
        status => Err(format!("it answered {status}{}", said())),
    }
}

/// Returns `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`.
fn signature(key: &[u8], id: &str, stamp: &str, body: &str) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    for part in [id, ".", stamp, ".", body] {
        mac.update(part.as_bytes());
    }
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Reads the secret from a file that other users cannot read. Read at each send: it may have been changed.
fn key(path: &Path) -> Result<Vec<u8>, String> {
    let name = path.display();
    let file = std::fs::File::open(path).map_err(|e| format!("the secret {name}: {e}"))?;
    let about = file.metadata().map_err(|e| format!("the secret {name}: {e}"))?;
    if !about.is_file() {
        return Err(format!("the secret {name} is not a file"));
    }
    if about.mode() & 0o077 != 0 {
        let mode = about.mode() & 0o777;
        return Err(format!("the secret {name} is open to others ({mode:o}): chmod 600 {name}"));
    }
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|_| format!("the secret {name} is not a text"))?;
    let coded = text.trim().strip_prefix(PREFIX);
    let key = coded.and_then(|coded| STANDARD.decode(coded).ok());
    key.filter(|key| KEY_BYTES.contains(&key.len())).ok_or_else(|| {
        format!("the secret {name} is not {PREFIX} and the base64 of 24 to 64 bytes")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// The example of the specification's own libraries.
    #[test]
    fn it_signs_as_standard_webhooks_do() {
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let (id, stamp) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330");
        let signed = signature(&key, id, stamp, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_one_line_that_nobody_else_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let good = format!("{PREFIX}{}\n", STANDARD.encode([7; 24]));
        let short = format!("{PREFIX}{}", STANDARD.encode([7; 23]));
        let bare = STANDARD.encode([7; 24]);
        for (text, mode, expected) in [
            (good.as_str(), 0o600, ""),
            (&good, 0o400, ""),
            (&good, 0o640, "open to others (640)"),
            (&good, 0o604, "open to others (604)"),
            (&short, 0o600, "is not whsec_"),
            (&bare, 0o600, "is not whsec_"),
            ("whsec_***", 0o600, "is not whsec_"),
            ("", 0o600, "is not whsec_"),
        ] {
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            match key(&path) {
                Ok(key) => assert_eq!((key.len(), expected), (24, ""), "{text:?} {mode:o}"),
                Err(why) => {
                    assert!(!expected.is_empty() && why.contains(expected), "{text:?}: {why}");
                }
            }
        }
        assert!(key(folder.path()).unwrap_err().contains("not a file"));
        assert!(key(&folder.path().join("none")).is_err());
    }
}
