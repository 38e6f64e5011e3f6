//! A call from elsewhere that may come twice, since its caller did not hear what came of it. What it wrote
//! is kept in the transaction that wrote it; when it comes again, that is the reply and nothing is written.

use crate::{LocalDesk, Result};
use sayso_core::{Code, Digest, Refusal, SpaceId, Timestamp, TokenId};
use sayso_store::{Reply, ReplyKey, Write};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How long a call may come again: longer than any program keeps trying.
const KEPT_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// The longest name of a call.
const NAME_BYTES_MAX: usize = 200;

/// A call, by the name its caller gave it.
pub(crate) struct Errand {
    credential: String,
    request: String,
    digest: String,
    /// How many writes it has come to.
    parts: AtomicU32,
}

/// One write of it.
#[derive(Clone)]
pub(crate) struct Part {
    key: ReplyKey,
    digest: String,
}

impl LocalDesk {
    /// The desk for one call of somebody from elsewhere: `request` is their name for it, `what` all that
    /// the call is made of. Under one name, one thing is done once.
    pub fn on_errand(&self, credential: TokenId, request: &str, what: &[&str]) -> Result<Self> {
        if request.is_empty() || request.len() > NAME_BYTES_MAX {
            let message = format!("the name of a request has 1 to {NAME_BYTES_MAX} bytes");
            return Err(Refusal::new(Code::BadValue, message).into());
        }
        let errand = Errand {
            credential: credential.to_string(),
            request: request.to_owned(),
            digest: Digest::of_bytes(what.join("\n").as_bytes()).as_str().to_owned(),
            parts: AtomicU32::new(0),
        };
        Ok(Self { errand: Some(Arc::new(errand)), ..self.clone() })
    }

    /// The next write of the call the desk is for.
    pub(crate) fn next_part(&self) -> Option<Part> {
        let errand = self.errand.as_ref()?;
        let (credential, request) = (errand.credential.clone(), errand.request.clone());
        let part = errand.parts.fetch_add(1, Ordering::Relaxed);
        Some(Part { key: ReplyKey { credential, request, part }, digest: errand.digest.clone() })
    }
}

impl Part {
    /// By what it is found again.
    pub(crate) fn key(&self) -> &ReplyKey {
        &self.key
    }

    /// What came of it when it was done before.
    pub(crate) fn before<T: DeserializeOwned>(
        &self,
        space: SpaceId,
        write: &mut Write<'_>,
    ) -> sayso_store::Result<Option<std::result::Result<T, Refusal>>> {
        let Some(reply) = write.reply(space, &self.key)? else { return Ok(None) };
        if reply.digest != self.digest {
            return Ok(Some(Err(another_call(&self.key.request))));
        }
        let value = serde_json::from_str(&reply.body).map_err(|e| unreadable(&e))?;
        Ok(Some(Ok(value)))
    }

    /// Keeps what came of it.
    pub(crate) fn keep<T: Serialize>(
        &self,
        space: SpaceId,
        write: &mut Write<'_>,
        value: &T,
        at: Timestamp,
    ) -> sayso_store::Result<()> {
        let body = serde_json::to_string(value).map_err(|e| unreadable(&e))?;
        let reply = Reply { digest: self.digest.clone(), body };
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
