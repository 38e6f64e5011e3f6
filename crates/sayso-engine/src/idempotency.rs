//! Idempotency keys for remote calls: the response is stored in the transaction that wrote it. A caller that lost the
//! connection retries with the same key, gets the stored response, and nothing is written twice.

use crate::{LocalDesk, Result};
use sayso_core::{Code, Digest, Refusal, SpaceId, Timestamp, TokenId};
use sayso_store::{ResponseKey, StoredResponse, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The retention of stored responses: longer than any program keeps retrying.
const KEPT_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// The maximum length of an idempotency key.
const NAME_BYTES_MAX: usize = 200;

/// The idempotency key of a remote call.
pub(crate) struct IdempotencyKey {
    credential: String,
    request: String,
    digest: String,
    /// The number of writes that the call has made so far.
    parts: AtomicU32,
}

/// One write of a call with an idempotency key.
#[derive(Clone)]
pub(crate) struct KeyedWrite {
    key: ResponseKey,
    digest: String,
}

impl LocalDesk {
    /// Returns the desk for one remote call: `request` is the caller's idempotency key, `what` the name and the
    /// arguments of the call. A key that was used before for another call is refused.
    pub fn with_idempotency_key(
        &self,
        credential: TokenId,
        request: &str,
        what: &[&str],
    ) -> Result<Self> {
        if request.is_empty() || request.len() > NAME_BYTES_MAX {
            let message = format!("the name of a request has 1 to {NAME_BYTES_MAX} bytes");
            return Err(Refusal::new(Code::BadValue, message).into());
        }
        let errand = IdempotencyKey {
            credential: credential.to_string(),
            request: request.to_owned(),
            digest: Digest::of_bytes(what.join("\n").as_bytes()).as_str().to_owned(),
            parts: AtomicU32::new(0),
        };
        Ok(Self { errand: Some(Arc::new(errand)), ..self.clone() })
    }

    /// Returns the key of the next write of this call. None without an idempotency key.
    pub(crate) fn next_keyed_write(&self) -> Option<KeyedWrite> {
        let errand = self.errand.as_ref()?;
        let (credential, request) = (errand.credential.clone(), errand.request.clone());
        let part = errand.parts.fetch_add(1, Ordering::Relaxed);
        Some(KeyedWrite {
            key: ResponseKey { credential, request, part },
            digest: errand.digest.clone(),
        })
    }
}

impl KeyedWrite {
    pub(crate) fn key(&self) -> &ResponseKey {
        &self.key
    }

    /// Reads the stored response of this write, if it was made before.
    pub(crate) fn before<T: DeserializeOwned>(
        &self,
        space: SpaceId,
        write: &mut WriteTransaction<'_>,
    ) -> sayso_store::Result<Option<std::result::Result<T, Refusal>>> {
        let Some(reply) = write.reply(space, &self.key)? else { return Ok(None) };
        if reply.digest != self.digest {
            return Ok(Some(Err(another_call(&self.key.request))));
        }
        let value = serde_json::from_str(&reply.body).map_err(|e| unreadable(&e))?;
        Ok(Some(Ok(value)))
    }

    /// Stores the response of this write, and removes responses that are older than the retention.
    pub(crate) fn keep<T: Serialize>(
        &self,
        space: SpaceId,
        write: &mut WriteTransaction<'_>,
        value: &T,
        at: Timestamp,
    ) -> sayso_store::Result<()> {
        let body = serde_json::to_string(value).map_err(|e| unreadable(&e))?;
        let reply = StoredResponse { digest: self.digest.clone(), body };
        write.add_reply(space, &self.key, &reply, at, at.plus_micros(-KEPT_MICROS))
    }
}

fn another_call(request: &str) -> Refusal {
    Refusal::new(Code::Clash, format!("the request {request:?} was another call before"))
        .hint("give each call a name of its own, and the same name only to the same call")
}

fn unreadable(error: &serde_json::Error) -> sayso_store::Error {
    sayso_store::Error::Other(format!("what came of a call cannot be kept or read: {error}"))
}
