//! Passkeys of people (WebAuthn credentials), and the challenges that were issued.

use crate::Result;
use crate::read::{ReadTransaction, rows_max};
use crate::tx::{SqlRow, args};
use crate::write::WriteTransaction;
use sayso_core::{SpaceId, Timestamp};
use serde::{Deserialize, Serialize};

/// A person's passkey. Nothing in it is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyRow {
    pub id: String,
    /// The person it belongs to.
    pub name: String,
    /// The name the person gave it.
    pub label: String,
    /// The stored WebAuthn credential, with which its signatures are verified.
    pub body: String,
    pub added_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// A WebAuthn challenge that was issued and can be used once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChallengeRow {
    pub id: String,
    /// The person who is to respond.
    pub name: String,
    /// The operation it authorises.
    pub about: String,
    /// The state with which the response is verified.
    pub state: String,
    /// The time at which it expires.
    pub expires_at: Timestamp,
}

impl ReadTransaction<'_> {
    /// Returns the passkeys of a person, oldest first.
    pub fn passkeys(
        &mut self,
        space: SpaceId,
        name: &str,
        limit: usize,
    ) -> Result<Vec<PasskeyRow>> {
        let sql = "SELECT id, name, label, body, added_at, used_at FROM passkeys \
                   WHERE space = ?1 AND name = ?2 ORDER BY added_at, id LIMIT ?3";
        let rows = self.conn.query(sql, args![&space.to_string(), name, rows_max(limit)])?;
        Ok(rows.iter().map(passkey).collect())
    }

    /// Returns a passkey, of any person.
    pub fn passkey(&mut self, space: SpaceId, id: &str) -> Result<Option<PasskeyRow>> {
        let sql = "SELECT id, name, label, body, added_at, used_at FROM passkeys \
                   WHERE space = ?1 AND id = ?2";
        Ok(self.one(sql, args![&space.to_string(), id])?.as_ref().map(passkey))
    }
}

fn passkey(row: &SqlRow) -> PasskeyRow {
    PasskeyRow {
        id: row.text(0).into(),
        name: row.text(1).into(),
        label: row.text(2).into(),
        body: row.text(3).into(),
        added_at: Timestamp::from_micros(row.int(4)),
        used_at: row.maybe_int(5).map(Timestamp::from_micros),
    }
}

impl WriteTransaction<'_> {
    /// Stores a new passkey.
    pub fn add_passkey(&mut self, space: SpaceId, passkey: &PasskeyRow) -> Result<()> {
        let sql = "INSERT INTO passkeys (space, id, name, label, body, added_at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let PasskeyRow { id, name, label, body, added_at, .. } = passkey;
        let at = added_at.as_micros();
        self.exec(sql, args![&space.to_string(), id, name, label, body, at])
    }

    /// Stores the state of a passkey after its use.
    pub fn use_passkey(
        &mut self,
        space: SpaceId,
        id: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "UPDATE passkeys SET body = ?3, used_at = ?4 WHERE space = ?1 AND id = ?2";
        self.exec(sql, args![&space.to_string(), id, body, at.as_micros()])
    }

    /// Deletes a person's passkey. Returns true if they had it.
    pub fn drop_passkey(&mut self, space: SpaceId, name: &str, id: &str) -> Result<bool> {
        let sql = "DELETE FROM passkeys WHERE space = ?1 AND name = ?2 AND id = ?3";
        Ok(self.count(sql, args![&space.to_string(), name, id])? > 0)
    }

    /// Stores a challenge, and deletes expired ones.
    pub fn begin_ceremony(
        &mut self,
        space: SpaceId,
        ceremony: &ChallengeRow,
        at: Timestamp,
    ) -> Result<()> {
        self.exec("DELETE FROM ceremonies WHERE expires_at < ?1", args![at.as_micros()])?;
        let sql = "INSERT INTO ceremonies (id, space, name, about, state, expires_at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let ChallengeRow { id, name, about, state, expires_at } = ceremony;
        let until = expires_at.as_micros();
        self.exec(sql, args![id, &space.to_string(), name, about, state, until])
    }

    /// Takes away what was asked for under a name first, where more than so much is under way.
    pub fn drop_older_ceremonies(&mut self, space: SpaceId, name: &str, most: usize) -> Result<()> {
        let sql = "DELETE FROM ceremonies WHERE space = ?1 AND name = ?2 AND id NOT IN \
                   (SELECT id FROM ceremonies WHERE space = ?1 AND name = ?2 \
                   ORDER BY expires_at DESC, id LIMIT ?3)";
        self.exec(sql, args![&space.to_string(), name, rows_max(most)])
    }

    /// Takes a challenge and deletes it, so that it is used once.
    pub fn take_ceremony(&mut self, space: SpaceId, id: &str) -> Result<Option<ChallengeRow>> {
        let sql = "SELECT id, name, about, state, expires_at FROM ceremonies \
                   WHERE space = ?1 AND id = ?2";
        let Some(row) = self.one(sql, args![&space.to_string(), id])? else { return Ok(None) };
        let sql = "DELETE FROM ceremonies WHERE id = ?1";
        // Another process may have taken it first.
        if self.count(sql, args![id])? == 0 {
            return Ok(None);
        }
        Ok(Some(ChallengeRow {
            id: row.text(0).into(),
            name: row.text(1).into(),
            about: row.text(2).into(),
            state: row.text(3).into(),
            expires_at: Timestamp::from_micros(row.int(4)),
        }))
    }
}
