//! Remote users of a space: invitation codes, members, and failed login attempts.

use crate::Result;
use crate::read::{ReadTransaction, rows_max};
use crate::tx::{SqlRow, args};
use crate::write::WriteTransaction;
use sayso_core::{SpaceId, Timestamp};
use serde::{Deserialize, Serialize};

/// An invitation code that lets a person join, once. Only its hash is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationRow {
    pub hash: String,
    pub space: SpaceId,
    /// The person it is for; none lets them choose a name.
    pub name: Option<String>,
    pub is_admin: bool,
    pub invited_by: String,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// A person who joined the space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceMember {
    pub name: String,
    pub is_admin: bool,
    /// The time at which they first joined.
    pub joined_at: Timestamp,
}

/// The failed passphrase attempts under one key, and the time until which further ones are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedLogins {
    pub failures: u32,
    /// The time at which the next attempt is accepted.
    pub until: Timestamp,
}

impl FailedLogins {
    /// No failed attempts.
    pub const NONE: Self = Self { failures: 0, until: Timestamp::from_micros(0) };
}

impl ReadTransaction<'_> {
    /// Returns the people who joined a space, by name.
    pub fn people(&mut self, space: SpaceId, limit: usize) -> Result<Vec<SpaceMember>> {
        let sql = "SELECT name, is_admin, joined_at FROM people WHERE space = ?1 \
                   ORDER BY name LIMIT ?2";
        let rows = self.conn.query(sql, args![&space.to_string(), rows_max(limit)])?;
        Ok(rows.iter().map(known).collect())
    }

    /// One person, if they were let in.
    pub fn person(&mut self, space: SpaceId, name: &str) -> Result<Option<SpaceMember>> {
        let sql = "SELECT name, is_admin, joined_at FROM people WHERE space = ?1 AND name = ?2";
        Ok(self.one(sql, args![&space.to_string(), name])?.as_ref().map(known))
    }

    /// The people who look after the space, by name.
    pub fn admins(&mut self, space: SpaceId) -> Result<Vec<String>> {
        let sql = "SELECT name FROM people WHERE space = ?1 AND is_admin <> 0 ORDER BY name";
        let rows = self.conn.query(sql, args![&space.to_string()])?;
        Ok(rows.iter().map(|row| row.text(0).to_owned()).collect())
    }

    /// Returns the hashes of all passphrases of a space, by name.
    pub fn passphrases(&mut self, space: SpaceId) -> Result<Vec<(String, String)>> {
        let sql = "SELECT name, hash FROM passphrases WHERE space = ?1 ORDER BY name";
        let rows = self.conn.query(sql, args![&space.to_string()])?;
        Ok(rows.iter().map(|row| (row.text(0).to_owned(), row.text(1).to_owned())).collect())
    }

    /// Returns the invitation with this hash.
    pub fn invitation(&mut self, hash: &str) -> Result<Option<InvitationRow>> {
        let sql = "SELECT hash, space, name, is_admin, invited_by, expires_at, used_at \
                   FROM invitations WHERE hash = ?1";
        self.one(sql, args![hash])?.as_ref().map(invitation).transpose()
    }

    /// All invitations of a space that are kept.
    pub fn invitations(&mut self, space: SpaceId) -> Result<Vec<InvitationRow>> {
        let sql = "SELECT hash, space, name, is_admin, invited_by, expires_at, used_at \
                   FROM invitations WHERE space = ?1";
        self.conn.query(sql, args![&space.to_string()])?.iter().map(invitation).collect()
    }

    /// Returns the people who introduced a person, with the times: by an invitation that was used, or by a credential
    /// made for them.
    pub fn introductions(
        &mut self,
        space: SpaceId,
        name: &str,
    ) -> Result<Vec<(String, Timestamp)>> {
        let sql = "SELECT invited_by, used_at FROM invitations \
                   WHERE space = ?1 AND name = ?2 AND used_at IS NOT NULL \
                   UNION SELECT launcher, created_at FROM tokens \
                   WHERE space = ?1 AND name = ?2 AND role = 'human' AND launcher <> ?2";
        let rows = self.conn.query(sql, args![&space.to_string(), name])?;
        let row = |row: &SqlRow| (row.text(0).to_owned(), Timestamp::from_micros(row.int(1)));
        Ok(rows.iter().map(row).collect())
    }

    /// Returns the failed attempts under a key. The key names the person and the origin of the attempts.
    pub fn guesses(&mut self, space: SpaceId, key: &str) -> Result<FailedLogins> {
        let sql = "SELECT failures, until FROM guesses WHERE space = ?1 AND name = ?2";
        let row = self.one(sql, args![&space.to_string(), key])?;
        Ok(row.map_or(FailedLogins::NONE, |row| FailedLogins {
            failures: row.int(0) as u32,
            until: Timestamp::from_micros(row.int(1)),
        }))
    }
}

impl WriteTransaction<'_> {
    /// Records that a person joined. An admin stays admin.
    pub fn put_person(&mut self, space: SpaceId, person: &SpaceMember) -> Result<()> {
        let sql = "INSERT INTO people (space, name, is_admin, joined_at) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT (space, name) DO UPDATE SET \
                   is_admin = CASE WHEN people.is_admin > excluded.is_admin \
                   THEN people.is_admin ELSE excluded.is_admin END";
        let SpaceMember { name, is_admin, joined_at } = person;
        let (is_admin, at) = (i64::from(*is_admin), joined_at.as_micros());
        self.exec(sql, args![&space.to_string(), name, is_admin, at])
    }

    /// Removes a person: revokes their credentials and deletes passphrase, unlocks, passkeys and challenges. Returns
    /// true if the person was there.
    pub fn drop_person(&mut self, space: SpaceId, name: &str, at: Timestamp) -> Result<bool> {
        let space = space.to_string();
        self.exec("DELETE FROM passphrases WHERE space = ?1 AND name = ?2", args![&space, name])?;
        self.exec("DELETE FROM unlocks WHERE space = ?1 AND name = ?2", args![&space, name])?;
        self.exec("DELETE FROM passkeys WHERE space = ?1 AND name = ?2", args![&space, name])?;
        self.exec("DELETE FROM ceremonies WHERE space = ?1 AND name = ?2", args![&space, name])?;
        // The person must not return by an older code, or let another in by one.
        let sql = "DELETE FROM invitations WHERE space = ?1 AND used_at IS NULL \
                   AND (name = ?2 OR invited_by = ?2)";
        self.exec(sql, args![&space, name])?;
        let sql = "UPDATE tokens SET revoked_at = ?3 WHERE space = ?1 AND name = ?2 \
                   AND role <> 'agent' AND revoked_at IS NULL";
        self.exec(sql, args![&space, name, at.as_micros()])?;
        let sql = "DELETE FROM people WHERE space = ?1 AND name = ?2";
        Ok(self.count(sql, args![&space, name])? > 0)
    }

    pub fn add_invitation(&mut self, invitation: &InvitationRow) -> Result<()> {
        let sql = "INSERT INTO invitations (hash, space, name, is_admin, invited_by, expires_at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let InvitationRow { hash, space, name, is_admin, invited_by, expires_at, .. } = invitation;
        let space = space.to_string();
        let args = args![
            hash,
            &space,
            name.as_deref(),
            i64::from(*is_admin),
            invited_by,
            expires_at.as_micros()
        ];
        self.exec(sql, args)
    }

    /// Marks an invitation as used. Returns true if it was unused.
    pub fn use_invitation(&mut self, hash: &str, at: Timestamp) -> Result<bool> {
        let sql = "UPDATE invitations SET used_at = ?2 WHERE hash = ?1 AND used_at IS NULL";
        Ok(self.count(sql, args![hash, at.as_micros()])? > 0)
    }

    /// Deletes the failed attempts whose pause ended before this time.
    pub fn forget_guesses(&mut self, space: SpaceId, before: Timestamp) -> Result<()> {
        let sql = "DELETE FROM guesses WHERE space = ?1 AND until < ?2";
        self.exec(sql, args![&space.to_string(), before.as_micros()])
    }

    /// Stores the failed attempts under a key.
    pub fn put_guesses(&mut self, space: SpaceId, key: &str, guesses: FailedLogins) -> Result<()> {
        let sql = "INSERT INTO guesses (space, name, failures, until) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT (space, name) DO UPDATE SET \
                   failures = excluded.failures, until = excluded.until";
        let (failures, until) = (i64::from(guesses.failures), guesses.until.as_micros());
        self.exec(sql, args![&space.to_string(), key, failures, until])
    }
}

fn invitation(row: &SqlRow) -> Result<InvitationRow> {
    Ok(InvitationRow {
        hash: row.text(0).into(),
        space: crate::read::id(row.text(1))?,
        name: row.maybe_text(2).map(str::to_owned),
        is_admin: row.int(3) != 0,
        invited_by: row.text(4).into(),
        expires_at: Timestamp::from_micros(row.int(5)),
        used_at: row.maybe_int(6).map(Timestamp::from_micros),
    })
}

fn known(row: &SqlRow) -> SpaceMember {
    SpaceMember {
        name: row.text(0).into(),
        is_admin: row.int(1) != 0,
        joined_at: Timestamp::from_micros(row.int(2)),
    }
}
