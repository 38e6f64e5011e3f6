//! Stored responses for idempotency keys: the result of a remote call is kept for a while, and a caller that missed
//! it gets it with a retry.

use crate::Result;
use crate::read::ReadTransaction;
use crate::tx::args;
use crate::write::WriteTransaction;
use sayso_core::{SpaceId, Timestamp};

/// The idempotency key of one write of a remote call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseKey {
    /// The credential of the caller: the response of another caller's request is never returned.
    pub credential: String,
    /// The request ID that the caller chose.
    pub request: String,
    /// The index of the write within the call, from 0.
    pub part: u32,
}

/// The stored response of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// The digest of the request, so that one ID stands for one call.
    pub digest: String,
    /// The response as JSON.
    pub body: String,
}

const REPLY: &str = "SELECT digest, body FROM replies \
                     WHERE space = ?1 AND credential = ?2 AND request = ?3 AND part = ?4";

impl ReadTransaction<'_> {
    /// Returns the stored response of a write, if it was committed.
    pub fn reply(&mut self, space: SpaceId, key: &ResponseKey) -> Result<Option<StoredResponse>> {
        let ResponseKey { credential, request, part } = key;
        let row =
            self.one(REPLY, args![&space.to_string(), credential, request, i64::from(*part)])?;
        Ok(row.map(|row| StoredResponse { digest: row.text(0).into(), body: row.text(1).into() }))
    }

    pub(crate) fn prefetch_reply(&mut self, space: SpaceId, key: &ResponseKey) -> Result<()> {
        let ResponseKey { credential, request, part } = key;
        let space = space.to_string();
        let args = args![&space, credential, request, i64::from(*part)];
        self.conn.prefetch(&[request], REPLY, args)
    }
}

impl WriteTransaction<'_> {
    /// Stores the response of a write, and deletes responses older than `forget`.
    pub fn add_reply(
        &mut self,
        space: SpaceId,
        key: &ResponseKey,
        reply: &StoredResponse,
        at: Timestamp,
        forget: Timestamp,
    ) -> Result<()> {
        let space = space.to_string();
        let sql = "DELETE FROM replies WHERE space = ?1 AND at < ?2";
        // No invalidation is needed: a prefetched response that is deleted here as too old is still true.
        self.exec_about(&[], sql, args![&space, forget.as_micros()])?;
        let sql = "INSERT INTO replies (space, credential, request, part, digest, body, at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let ResponseKey { credential, request, part } = key;
        let StoredResponse { digest, body } = reply;
        let (part, at) = (i64::from(*part), at.as_micros());
        let args = args![&space, credential, request, part, digest, body, at];
        self.exec_about(&[request], sql, args)
    }
}
