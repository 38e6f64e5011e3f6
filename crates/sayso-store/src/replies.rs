//! What came of calls from elsewhere, kept for a while for whoever did not hear it.

use crate::Result;
use crate::read::Read;
use crate::tx::args;
use crate::write::Write;
use sayso_core::{SpaceId, Timestamp};

/// By what a reply is found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyKey {
    /// By which credential it was asked for: nobody hears what came of another's call.
    pub credential: String,
    /// What the caller named the call.
    pub request: String,
    /// Which of the writes of the call it is, from 0 on.
    pub part: u32,
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What was asked for, so that one name stands for one call.
    pub digest: String,
    /// What came of it.
    pub body: String,
}

const REPLY: &str = "SELECT digest, body FROM replies \
                     WHERE space = ?1 AND credential = ?2 AND request = ?3 AND part = ?4";

impl Read<'_> {
    /// What came of a write, if it counted.
    pub fn reply(&mut self, space: SpaceId, key: &ReplyKey) -> Result<Option<Reply>> {
        let ReplyKey { credential, request, part } = key;
        let row =
            self.one(REPLY, args![&space.to_string(), credential, request, i64::from(*part)])?;
        Ok(row.map(|row| Reply { digest: row.text(0).into(), body: row.text(1).into() }))
    }

    pub(crate) fn reply_early(&mut self, space: SpaceId, key: &ReplyKey) -> Result<()> {
        let ReplyKey { credential, request, part } = key;
        let space = space.to_string();
        let args = args![&space, credential, request, i64::from(*part)];
        self.conn.ask_early(&[request], REPLY, args)
    }
}

impl Write<'_> {
    /// Keeps what came of a write, and forgets what is older than `forget`.
    pub fn add_reply(
        &mut self,
        space: SpaceId,
        key: &ReplyKey,
        reply: &Reply,
        at: Timestamp,
        forget: Timestamp,
    ) -> Result<()> {
        let space = space.to_string();
        let sql = "DELETE FROM replies WHERE space = ?1 AND at < ?2";
        // Whoever was told so early what came of a call from so long ago may go by it: it did come of it.
        self.exec_about(&[], sql, args![&space, forget.as_micros()])?;
        let sql = "INSERT INTO replies (space, credential, request, part, digest, body, at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let ReplyKey { credential, request, part } = key;
        let Reply { digest, body } = reply;
        let (part, at) = (i64::from(*part), at.as_micros());
        let args = args![&space, credential, request, part, digest, body, at];
        self.exec_about(&[request], sql, args)
    }
}
