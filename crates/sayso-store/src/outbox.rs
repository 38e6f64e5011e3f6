//! The outbox: notices to people and actions for other programs, written with the event and kept until they are
//! settled.

use crate::Result;
use crate::query::SelectBuilder;
use crate::read::{ReadTransaction, rows_max};
use crate::tx::{SqlDialect, SqlRow, args};
use crate::write::WriteTransaction;
use sayso_core::{SpaceId, Timestamp};

/// A message to send to a person or a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxNotice {
    /// The dedup key: equal for the same occasion, so that it is sent once.
    pub id: String,
    pub space: SpaceId,
    /// The channel it is sent on.
    pub channel: String,
    pub body: String,
    /// The number of attempts.
    pub attempts: u32,
}

/// A notice that is not settled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingNotice {
    pub notice: OutboxNotice,
    /// The time from which it may be claimed.
    pub due_at: Timestamp,
    /// The error of the last attempt.
    pub error: Option<String>,
}

/// A notice, settled or not. One that was settled with an error was not sent: it was not needed any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeRecord {
    /// The notice as it was last read.
    pub under_way: PendingNotice,
    /// The time at which it was settled.
    pub settled_at: Option<Timestamp>,
}

/// The length of a gate's ID, with which the ID of a notice about it begins.
const GATE_ID_CHARS: usize = 26;

const COLUMNS: &str = "id, space, channel, body, attempts, due_at, error";

impl ReadTransaction<'_> {
    /// Returns the unsettled notices of a space on channels with this prefix, oldest first.
    pub fn notices_under_way(
        &mut self,
        space: SpaceId,
        channels: &str,
        limit: usize,
    ) -> Result<Vec<PendingNotice>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM outbox WHERE settled_at IS NULL AND space = ?1 \
             AND channel LIKE ?2 ORDER BY due_at, id LIMIT ?3"
        );
        let (space, like) = (space.to_string(), format!("{channels}%"));
        let rows = self.conn.query(&sql, args![&space, &like, rows_max(limit)])?;
        rows.iter().map(under_way).collect()
    }

    /// Returns one notice, if it is not settled.
    pub fn notice_under_way(&mut self, id: &str) -> Result<Option<PendingNotice>> {
        let sql = format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1 AND settled_at IS NULL");
        self.one(&sql, args![id])?.as_ref().map(under_way).transpose()
    }

    /// Returns the time at which the first notice of a space on one of these channels may be claimed.
    pub fn next_notice(&mut self, space: SpaceId, channels: &[&str]) -> Result<Option<Timestamp>> {
        if channels.is_empty() {
            return Ok(None);
        }
        let space = space.to_string();
        let sql = "SELECT due_at FROM outbox WHERE settled_at IS NULL";
        let mut query = SelectBuilder::new(sql, args![]);
        query.and("space = ?", (&space).into());
        query.any("channel", channels);
        let rows = query.run(self.conn, " ORDER BY due_at, id", 1)?;
        Ok(rows.first().map(|row| Timestamp::from_micros(row.int(0))))
    }

    /// Returns the unsettled notices for people, those due first before the others. Channels that are not for people
    /// have an `@` in their names.
    pub fn notices_to_people(
        &mut self,
        space: SpaceId,
        limit: usize,
    ) -> Result<Vec<PendingNotice>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM outbox WHERE settled_at IS NULL AND space = ?1 \
             AND channel NOT LIKE '%@%' ORDER BY due_at, id LIMIT ?2"
        );
        let rows = self.conn.query(&sql, args![&space.to_string(), rows_max(limit)])?;
        rows.iter().map(under_way).collect()
    }

    /// Returns all notices whose ID has this prefix, settled or not.
    pub fn notices_under(&mut self, beginning: &str, limit: usize) -> Result<Vec<NoticeRecord>> {
        let (sql, [from, to]) = under(beginning);
        let rows = self.conn.query(&sql, args![&from, &to, rows_max(limit)])?;
        let told = |row: &SqlRow| {
            let settled_at = row.maybe_int(7).map(Timestamp::from_micros);
            Ok(NoticeRecord { under_way: under_way(row)?, settled_at })
        };
        rows.iter().map(told).collect()
    }

    pub(crate) fn prefetch_notices_under(&mut self, beginning: &str, limit: usize) -> Result<()> {
        let (sql, [from, to]) = under(beginning);
        self.conn.prefetch(&[beginning], &sql, args![&from, &to, rows_max(limit)])
    }
}

/// Builds the query for the notices whose IDs have this prefix.
fn under(beginning: &str) -> (String, [String; 2]) {
    let sql = format!(
        "SELECT {COLUMNS}, settled_at FROM outbox WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3"
    );
    // IDs are compared bytewise, so everything with this prefix lies before its successor.
    (sql, [format!("{beginning}/"), format!("{beginning}0")])
}

/// Returns the prefix of a notice's ID: the gate or task it is about.
fn beginning(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

impl WriteTransaction<'_> {
    /// Adds a notice. The same ID is added once.
    pub fn add_notice(&mut self, notice: &OutboxNotice, due_at: Timestamp) -> Result<()> {
        let sql = "INSERT INTO outbox (id, space, channel, body, due_at, attempts) \
                   VALUES (?1, ?2, ?3, ?4, ?5, 0) ON CONFLICT (id) DO NOTHING";
        let OutboxNotice { id, space, channel, body, .. } = notice;
        let space = space.to_string();
        let args = args![id, &space, channel, body, due_at.as_micros()];
        self.exec_about(&[beginning(id)], sql, args)
    }

    /// Claims notices of a space that are due on one of these channels. They become due again at `lease_until` unless
    /// they are settled.
    pub fn claim_notices(
        &mut self,
        space: SpaceId,
        channels: &[&str],
        now: Timestamp,
        lease_until: Timestamp,
        limit: usize,
    ) -> Result<Vec<OutboxNotice>> {
        if channels.is_empty() {
            return Ok(vec![]);
        }
        let sql = format!("SELECT {COLUMNS} FROM outbox WHERE settled_at IS NULL");
        let space = space.to_string();
        let mut query = SelectBuilder::new(&sql, args![]);
        query.and("due_at <= ?", now.as_micros().into());
        query.and("space = ?", (&space).into());
        query.any("channel", channels);
        let order = match self.read.conn.dialect() {
            SqlDialect::Sqlite => " ORDER BY due_at, id",
            // Several senders take different notices instead of waiting for each other.
            SqlDialect::Postgres => " ORDER BY due_at, id FOR UPDATE SKIP LOCKED",
        };
        let rows = query.run(self.read.conn, order, limit)?;
        let mut taken = vec![];
        for row in rows.iter().take(limit) {
            let mut notice = under_way(row)?.notice;
            notice.attempts += 1;
            self.claim_notice(&notice.id, &notice.channel, now, lease_until)?;
            taken.push(notice);
        }
        Ok(taken)
    }

    /// Claims one notice that is due and moves it to this channel. Returns true if it was free.
    pub fn claim_notice(
        &mut self,
        id: &str,
        channel: &str,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<bool> {
        let sql = "UPDATE outbox SET due_at = ?4, attempts = attempts + 1, channel = ?2 \
                   WHERE id = ?1 AND settled_at IS NULL AND due_at <= ?3";
        let args = args![id, channel, now.as_micros(), lease_until.as_micros()];
        Ok(self.count(sql, args)? > 0)
    }

    /// Marks a notice as sent.
    pub fn settle_notice(&mut self, id: &str, at: Timestamp) -> Result<()> {
        let sql = "UPDATE outbox SET settled_at = ?2, error = NULL WHERE id = ?1";
        self.exec(sql, args![id, at.as_micros()])
    }

    /// Marks a notice as not needed any more.
    pub fn drop_notice(&mut self, id: &str, why: &str, at: Timestamp) -> Result<()> {
        let sql = "UPDATE outbox SET settled_at = ?2, error = ?3 \
                   WHERE id = ?1 AND settled_at IS NULL";
        self.exec_about(&[beginning(id)], sql, args![id, at.as_micros(), why])
    }

    /// Deletes the notices after this ID that were settled before `before`, out of `limit` rows. Those of an open
    /// gate stay: a person who was told that it opened is told that it ended. Returns the last ID that was checked;
    /// none at the end.
    pub fn sweep_notices(
        &mut self,
        behind: &str,
        before: Timestamp,
        limit: usize,
    ) -> Result<Option<String>> {
        let sql = "SELECT id FROM outbox WHERE id > ?1 ORDER BY id LIMIT ?2";
        let rows = self.read.conn.query(sql, args![behind, rows_max(limit)])?;
        let Some(last) = rows.last().map(|row| row.text(0).to_owned()) else { return Ok(None) };
        let sql = format!(
            "DELETE FROM outbox WHERE id > ?1 AND id <= ?2 AND settled_at < ?3 AND NOT EXISTS \
             (SELECT 1 FROM gates WHERE gates.id = substr(outbox.id, 1, {GATE_ID_CHARS}) \
             AND gates.state = 'open')"
        );
        self.exec(&sql, args![behind, &last, before.as_micros()])?;
        Ok((rows.len() >= limit).then_some(last))
    }

    /// Records a failed attempt; the notice is tried again at `retry_at`.
    pub fn fail_notice(&mut self, id: &str, error: &str, retry_at: Timestamp) -> Result<()> {
        let sql = "UPDATE outbox SET due_at = ?2, error = ?3 WHERE id = ?1 AND settled_at IS NULL";
        // The error is foreign text; a NUL in it must not prevent the retry.
        let error = error.replace('\0', "\u{2400}");
        self.exec(sql, args![id, retry_at.as_micros(), &error])
    }
}

fn under_way(row: &SqlRow) -> Result<PendingNotice> {
    let notice = OutboxNotice {
        id: row.text(0).into(),
        space: crate::read::id(row.text(1))?,
        channel: row.text(2).into(),
        body: row.text(3).into(),
        attempts: row.int(4) as u32,
    };
    let (due_at, error) = (Timestamp::from_micros(row.int(5)), row.maybe_text(6));
    Ok(PendingNotice { notice, due_at, error: error.map(str::to_owned) })
}
