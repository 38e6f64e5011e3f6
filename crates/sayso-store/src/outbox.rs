//! The outbox: what the world is to be told or to do, kept until it is settled.

use crate::Result;
use crate::query::Query;
use crate::read::{Read, rows_max};
use crate::tx::{Dialect, Row, args};
use crate::write::Write;
use sayso_core::{SpaceId, Timestamp};

/// Something the world is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The same for the same thing, so that it is told once.
    pub id: String,
    /// The space it is about.
    pub space: SpaceId,
    /// The way it goes.
    pub channel: String,
    /// What is told.
    pub body: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// A notice that is not settled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderWay {
    /// What is told.
    pub notice: Notice,
    /// When it may be taken.
    pub due_at: Timestamp,
    /// Why it was not told when it was tried last.
    pub error: Option<String>,
}

/// A notice, and whether it is settled. One that was settled with an error was not told: it was not
/// needed any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// As it was when it was looked at last.
    pub under_way: UnderWay,
    /// Since when it is settled.
    pub settled_at: Option<Timestamp>,
}

/// A notice about a gate begins with its id, which has so many characters.
const GATE_ID_CHARS: usize = 26;

const COLUMNS: &str = "id, space, channel, body, attempts, due_at, error";

impl Read<'_> {
    /// Notices of a space that are not settled, on channels that begin like this, oldest first.
    pub fn notices_under_way(
        &mut self,
        space: SpaceId,
        channels: &str,
        limit: usize,
    ) -> Result<Vec<UnderWay>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM outbox WHERE settled_at IS NULL AND space = ?1 \
             AND channel LIKE ?2 ORDER BY due_at, id LIMIT ?3"
        );
        let (space, like) = (space.to_string(), format!("{channels}%"));
        let rows = self.conn.query(&sql, args![&space, &like, rows_max(limit)])?;
        rows.iter().map(under_way).collect()
    }

    /// One notice, if it is not settled.
    pub fn notice_under_way(&mut self, id: &str) -> Result<Option<UnderWay>> {
        let sql = format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1 AND settled_at IS NULL");
        self.one(&sql, args![id])?.as_ref().map(under_way).transpose()
    }

    /// When the first notice of a space on one of these channels may be taken.
    pub fn next_notice(&mut self, space: SpaceId, channels: &[&str]) -> Result<Option<Timestamp>> {
        if channels.is_empty() {
            return Ok(None);
        }
        let space = space.to_string();
        let sql = "SELECT due_at FROM outbox WHERE settled_at IS NULL";
        let mut query = Query::new(sql, args![]);
        query.and("space = ?", (&space).into());
        query.any("channel", channels);
        let rows = query.run(self.conn, " ORDER BY due_at, id", 1)?;
        Ok(rows.first().map(|row| Timestamp::from_micros(row.int(0))))
    }

    /// Notices of a space that are not settled and are for people, those that are due first before the
    /// others. Channels that are not for people have an `@` in their names.
    pub fn notices_to_people(&mut self, space: SpaceId, limit: usize) -> Result<Vec<UnderWay>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM outbox WHERE settled_at IS NULL AND space = ?1 \
             AND channel NOT LIKE '%@%' ORDER BY due_at, id LIMIT ?2"
        );
        let rows = self.conn.query(&sql, args![&space.to_string(), rows_max(limit)])?;
        rows.iter().map(under_way).collect()
    }

    /// Everything that was to be told under ids that begin like this, settled or not.
    pub fn notices_under(&mut self, beginning: &str, limit: usize) -> Result<Vec<Told>> {
        let (sql, [from, to]) = under(beginning);
        let rows = self.conn.query(&sql, args![&from, &to, rows_max(limit)])?;
        let told = |row: &Row| {
            let settled_at = row.maybe_int(7).map(Timestamp::from_micros);
            Ok(Told { under_way: under_way(row)?, settled_at })
        };
        rows.iter().map(told).collect()
    }

    pub(crate) fn notices_under_early(&mut self, beginning: &str, limit: usize) -> Result<()> {
        let (sql, [from, to]) = under(beginning);
        self.conn.ask_early(&[beginning], &sql, args![&from, &to, rows_max(limit)])
    }
}

/// Finds the notices whose ids begin like this.
fn under(beginning: &str) -> (String, [String; 2]) {
    let sql = format!(
        "SELECT {COLUMNS}, settled_at FROM outbox WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3"
    );
    // Ids are compared byte by byte, so everything that begins like this lies before its successor.
    (sql, [format!("{beginning}/"), format!("{beginning}0")])
}

/// What a notice is about: what its id begins with.
fn beginning(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

impl Write<'_> {
    /// Adds something to tell the world. The same id again is told once.
    pub fn add_notice(&mut self, notice: &Notice, due_at: Timestamp) -> Result<()> {
        let sql = "INSERT INTO outbox (id, space, channel, body, due_at, attempts) \
                   VALUES (?1, ?2, ?3, ?4, ?5, 0) ON CONFLICT (id) DO NOTHING";
        let Notice { id, space, channel, body, .. } = notice;
        let space = space.to_string();
        let args = args![id, &space, channel, body, due_at.as_micros()];
        self.exec_about(&[beginning(id)], sql, args)
    }

    /// Takes notices of a space that are due on one of these channels. They come back at
    /// `lease_until` unless they are settled.
    pub fn claim_notices(
        &mut self,
        space: SpaceId,
        channels: &[&str],
        now: Timestamp,
        lease_until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Notice>> {
        if channels.is_empty() {
            return Ok(vec![]);
        }
        let sql = format!("SELECT {COLUMNS} FROM outbox WHERE settled_at IS NULL");
        let space = space.to_string();
        let mut query = Query::new(&sql, args![]);
        query.and("due_at <= ?", now.as_micros().into());
        query.and("space = ?", (&space).into());
        query.any("channel", channels);
        let order = match self.read.conn.dialect() {
            Dialect::Sqlite => " ORDER BY due_at, id",
            // Several senders take different notices instead of waiting for each other.
            Dialect::Postgres => " ORDER BY due_at, id FOR UPDATE SKIP LOCKED",
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

    /// Takes one notice that is due, for this channel from now on. Says whether it was to be had.
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

    /// A notice was sent.
    pub fn settle_notice(&mut self, id: &str, at: Timestamp) -> Result<()> {
        let sql = "UPDATE outbox SET settled_at = ?2, error = NULL WHERE id = ?1";
        self.exec(sql, args![id, at.as_micros()])
    }

    /// A notice is not needed any more.
    pub fn drop_notice(&mut self, id: &str, why: &str, at: Timestamp) -> Result<()> {
        let sql = "UPDATE outbox SET settled_at = ?2, error = ?3 \
                   WHERE id = ?1 AND settled_at IS NULL";
        self.exec_about(&[beginning(id)], sql, args![id, at.as_micros(), why])
    }

    /// Looks at so many notices behind this id, and takes away those that were settled before a moment, unless their
    /// gate still waits: whoever was told of it is told when it is over. Says how far it came; none at the end.
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

    /// A notice could not be sent; it is tried again at `retry_at`.
    pub fn fail_notice(&mut self, id: &str, error: &str, retry_at: Timestamp) -> Result<()> {
        let sql = "UPDATE outbox SET due_at = ?2, error = ?3 WHERE id = ?1 AND settled_at IS NULL";
        // The error is a stranger's text, and must not keep the notice from being tried again.
        let error = error.replace('\0', "\u{2400}");
        self.exec(sql, args![id, retry_at.as_micros(), &error])
    }
}

fn under_way(row: &Row) -> Result<UnderWay> {
    let notice = Notice {
        id: row.text(0).into(),
        space: crate::read::id(row.text(1))?,
        channel: row.text(2).into(),
        body: row.text(3).into(),
        attempts: row.int(4) as u32,
    };
    let (due_at, error) = (Timestamp::from_micros(row.int(5)), row.maybe_text(6));
    Ok(UnderWay { notice, due_at, error: error.map(str::to_owned) })
}
