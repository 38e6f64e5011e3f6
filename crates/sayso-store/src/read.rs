//! Queries of gates, event streams, runs, messages, tokens and the audit log. Every query has its index.

use crate::page::{GateFilter, ListPage};
use crate::query::SelectBuilder;
use crate::tx::{DatabaseConnection, SqlArg, SqlDialect, SqlRow, args};
use crate::write::HandleTable;
use crate::{Error, Result};
use sayso_core::audit::{ChainHead, SealedEntry};
use sayso_core::gate::Gate;
use sayso_core::message::AgentMessage;
use sayso_core::run::Run;
use sayso_core::{GateId, Permission, Role, RunId, SpaceId, TaskId, Timestamp, TokenId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A read transaction.
pub struct ReadTransaction<'a> {
    pub(crate) conn: &'a mut dyn DatabaseConnection,
    /// The settings version of a space, cached for this transaction.
    pub(crate) settings: Option<(SpaceId, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceRow {
    pub id: SpaceId,
    pub name: String,
    pub created_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
    /// The end of its audit chain.
    pub head: ChainHead,
}

/// One event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The stream, such as `gate/01ARZ3NDEKTSV4RRFFQ69G5FAV`.
    pub stream: String,
    /// The position in the stream, from 1.
    pub version: u64,
    /// The number of the audit entry it was written with.
    pub audit: u64,
    pub at: Timestamp,
    /// The gate as JSON.
    pub body: String,
}

/// The view of a gate as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRow {
    pub version: u64,
    /// The gate as JSON.
    pub body: String,
}

impl ViewRow {
    pub fn gate(&self) -> Result<Gate> {
        json(&self.body)
    }
}

/// The rows of a gate: events, view and audit entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateRows {
    pub events: Vec<EventRow>,
    pub view: Option<ViewRow>,
    /// Audit entries from the time at which the view says the gate ended: a check of the ending most likely needs one
    /// of these.
    pub entries: Vec<AuditRow>,
}

/// One audit entry as it is stored.
pub type AuditRow = SealedEntry;

/// The gate or task that a handle or ID names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameMatch {
    Gate(GateId),
    Task(TaskId),
}

/// A credential; its secret is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRow {
    pub id: TokenId,
    pub space: SpaceId,
    pub handle: String,
    /// The hash of the secret. It is never serialised.
    #[serde(skip)]
    pub hash: String,
    /// The role of its holder.
    pub role: Role,
    /// The actor who holds it.
    pub name: String,
    /// The task it is bound to.
    pub task: Option<TaskId>,
    /// The run it is bound to.
    pub run: Option<RunId>,
    /// The actor who created it.
    pub launcher: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// The permissions it is limited to, of those of its role.
    #[serde(default)]
    pub scopes: Option<BTreeSet<Permission>>,
}

/// A credential with its records in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRecord {
    pub token: TokenRow,
    /// The time until which its holder has unlocked its terminal.
    pub unlocked_until: Option<Timestamp>,
    /// The event of its creation; none if an older version created it.
    pub minted: Option<EventRow>,
    /// The audit entry which that event names.
    pub entry: Option<AuditRow>,
    /// True if the log says that it was revoked.
    pub is_revoked: bool,
}

macro_rules! token_columns {
    () => {
        "tokens.id, tokens.space, tokens.handle, tokens.hash, tokens.role, tokens.name, tokens.task, \
         tokens.run, tokens.launcher, tokens.created_at, tokens.expires_at, tokens.revoked_at, tokens.scopes"
    };
}

const TOKEN_COLUMNS: &str = token_columns!();

const CREDENTIAL: &str = concat!(
    "SELECT ",
    token_columns!(),
    ", (SELECT until FROM unlocks WHERE space = tokens.space AND name = tokens.name \
       AND terminal = CAST(?2 AS TEXT) || tokens.id), \
     e.audit, e.at, e.body, a.prev, a.hash, a.body, \
     (SELECT max(r.version) FROM events r WHERE r.stream = 'token/' || tokens.id AND r.version > 1) \
     FROM tokens LEFT JOIN events e ON e.stream = 'token/' || tokens.id AND e.version = 1 \
     LEFT JOIN audit a ON a.space = e.space AND a.seq = e.audit WHERE tokens.hash = ?1"
);

const EVENTS: &str =
    "SELECT stream, version, audit, at, body FROM events WHERE stream = ?1 ORDER BY version";

const GATE_ROWS: &str = "\
    SELECT 0, version, 0, 0, body, '', '' FROM gates WHERE id = ?2 UNION ALL \
    SELECT 1, version, audit, at, body, '', '' FROM events WHERE stream = ?1 UNION ALL \
    SELECT 2, a.seq, 0, 0, a.body, a.prev, a.hash FROM gates g \
      JOIN events e ON e.stream = ?1 AND e.at = g.ended_at \
      JOIN audit a ON a.space = e.space AND a.seq = e.audit WHERE g.id = ?2 ORDER BY 1, 2";

impl<'a> ReadTransaction<'a> {
    pub(crate) fn new(conn: &'a mut dyn DatabaseConnection) -> Self {
        Self { conn, settings: None }
    }

    /// Returns the space with this name.
    pub fn space(&mut self, name: &str) -> Result<Option<SpaceRow>> {
        let sql = "SELECT id, name, created_at, deleted_at, seq, hash FROM spaces WHERE name = ?1";
        self.one(sql, args![name])?.map(|row| space(&row)).transpose()
    }

    /// Returns all spaces, by name.
    pub fn spaces(&mut self) -> Result<Vec<SpaceRow>> {
        let sql = "SELECT id, name, created_at, deleted_at, seq, hash FROM spaces ORDER BY name";
        self.conn.query(sql, &[])?.iter().map(space).collect()
    }

    /// Returns the events of a stream, from the first.
    pub fn events(&mut self, stream: &str) -> Result<Vec<EventRow>> {
        Ok(self.conn.query(EVENTS, args![stream])?.iter().map(event).collect())
    }

    /// Returns the total length of the events of a stream.
    pub fn stream_bytes(&mut self, stream: &str) -> Result<usize> {
        let sql =
            "SELECT CAST(COALESCE(SUM(LENGTH(body)), 0) AS BIGINT) FROM events WHERE stream = ?1";
        let row = self.one(sql, args![stream])?;
        Ok(row.and_then(|row| usize::try_from(row.int(0)).ok()).unwrap_or_default())
    }

    /// Returns one event of a stream.
    pub fn event_at(&mut self, stream: &str, version: u64) -> Result<Option<EventRow>> {
        let sql = "SELECT stream, version, audit, at, body FROM events \
                   WHERE stream = ?1 AND version = ?2";
        Ok(self.one(sql, args![stream, version as i64])?.as_ref().map(event))
    }

    /// Returns the handle of the gate, task or flow of a stream.
    pub fn handle_of(&mut self, stream: &str) -> Result<Option<String>> {
        let Some((kind, id)) = stream.split_once('/') else { return Ok(None) };
        let table = match kind {
            "gate" => "gates",
            "task" => "tasks",
            "flow" => "flows",
            _ => return Ok(None),
        };
        let row = self.one(&format!("SELECT handle FROM {table} WHERE id = ?1"), args![id])?;
        Ok(row.map(|row| row.text(0).to_owned()))
    }

    pub(crate) fn prefetch_events(&mut self, stream: &str) -> Result<()> {
        self.conn.prefetch(&[stream], EVENTS, args![stream])
    }

    /// Returns the events of a gate's stream and its view: see [`ReadTransaction::gate_view`]. One statement reads both, so they
    /// are consistent even outside of a transaction.
    pub fn gate_rows(&mut self, stream: &str, id: GateId) -> Result<GateRows> {
        let rows = self.conn.query(GATE_ROWS, args![stream, &id.to_string()])?;
        let mut kept = GateRows::default();
        for row in &rows {
            match row.int(0) {
                0 => kept.view = Some(view(row)),
                1 => kept.events.push(EventRow { stream: stream.to_owned(), ..event(row) }),
                _ => kept.entries.push(entry(row)?),
            }
        }
        Ok(kept)
    }

    pub(crate) fn prefetch_gate_rows(&mut self, stream: &str, id: GateId) -> Result<()> {
        self.conn.prefetch(&[stream], GATE_ROWS, args![stream, &id.to_string()])
    }

    /// Returns events of all streams of a space in key order, after a given one.
    pub fn events_after(
        &mut self,
        space: SpaceId,
        stream: &str,
        version: u64,
        limit: usize,
    ) -> Result<Vec<EventRow>> {
        let sql = "SELECT stream, version, audit, at, body FROM events \
                   WHERE (stream, version) > (?1, ?2) AND space = ?3 \
                   ORDER BY stream, version LIMIT ?4";
        let (space, version) = (space.to_string(), version as i64);
        let rows = self.conn.query(sql, args![stream, version, &space, rows_max(limit)])?;
        Ok(rows.iter().map(event).collect())
    }

    /// Returns the audit entries after `seq`.
    pub fn audit_after(&mut self, space: SpaceId, seq: u64, limit: usize) -> Result<Vec<AuditRow>> {
        let sql = "SELECT seq, prev, hash, body FROM audit WHERE space = ?1 AND seq > ?2 \
                   ORDER BY seq LIMIT ?3";
        let space = space.to_string();
        let rows = self.conn.query(sql, args![&space, seq as i64, rows_max(limit)])?;
        rows.iter().map(sealed).collect()
    }

    /// Returns the last audit entries, newest first.
    pub fn audit_last(&mut self, space: SpaceId, limit: usize) -> Result<Vec<AuditRow>> {
        let sql = "SELECT seq, prev, hash, body FROM audit WHERE space = ?1 \
                   ORDER BY seq DESC LIMIT ?2";
        let space = space.to_string();
        self.conn.query(sql, args![&space, rows_max(limit)])?.iter().map(sealed).collect()
    }

    /// Returns the audit entry at this distance from the end of the chain: 1 is the last one.
    pub fn audit_back(&mut self, space: SpaceId, back: usize) -> Result<Option<AuditRow>> {
        let sql = "SELECT seq, prev, hash, body FROM audit WHERE space = ?1 \
                   ORDER BY seq DESC LIMIT 1 OFFSET ?2";
        let offset = rows_max(back.saturating_sub(1));
        self.one(sql, args![&space.to_string(), offset])?.map(|row| sealed(&row)).transpose()
    }

    /// Returns the view of a gate, as lists show it, with its version.
    pub fn gate_view(&mut self, id: GateId) -> Result<Option<(Gate, u64)>> {
        let row =
            self.one("SELECT body, version FROM gates WHERE id = ?1", args![&id.to_string()])?;
        row.map(|row| Ok((json(row.text(0))?, row.int(1) as u64))).transpose()
    }

    /// Returns one page of gates.
    pub fn gates(&mut self, space: SpaceId, filter: &GateFilter) -> Result<ListPage<Gate>> {
        let space = space.to_string();
        let mut query =
            SelectBuilder::new("SELECT body, state FROM gates WHERE space = ?1", args![&space]);
        let task = filter.task.map(|t| t.to_string());
        let after = filter.after.map(|g| g.to_string());
        let kinds: Vec<_> = filter.kinds.iter().map(|k| k.as_str()).collect();
        let in_order = match (&task, filter.ended) {
            (Some(task), _) => {
                query.and("task = ?", task.into());
                "opened_at"
            }
            (None, false) => {
                query.plain("state = 'open'");
                "opened_at"
            }
            (None, true) => {
                query.plain("state <> 'open'");
                "ended_at"
            }
        };
        if let Some(asker) = &filter.asker {
            query.and("asker = ?", asker.into());
        }
        query.any("kind", &kinds);
        let (direction, beyond) = if filter.ended { ("DESC", "<") } else { ("", ">") };
        if let Some(after) = &after {
            let last = format!("(SELECT {in_order} FROM gates WHERE id = ?)");
            query.and(&format!("({in_order}, id) {beyond} ({last}, ?)"), after.into());
        }
        if let Some(now) = filter.awake_at {
            query.and("(snoozed_until IS NULL OR snoozed_until <= ?)", now.as_micros().into());
        }
        let order = format!(" ORDER BY {in_order} {direction}, id {direction}");
        let rows = query.run(self.conn, &order, filter.limit)?;
        Ok(ListPage::of(rows.iter().map(listed_gate).collect::<Result<_>>()?, filter.limit))
    }

    /// Counts the open gates, up to `most`.
    pub fn count_open_gates(&mut self, space: SpaceId, most: usize) -> Result<usize> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM gates WHERE space = ?1 AND state = 'open' \
                   LIMIT ?2) AS waiting";
        let row = self.one(sql, args![&space.to_string(), rows_max(most)])?;
        Ok(row.map_or(0, |row| row.int(0) as usize))
    }

    /// Counts the open gates that were opened since a time, up to `most`.
    pub fn count_open_since(
        &mut self,
        space: SpaceId,
        since: Timestamp,
        most: usize,
    ) -> Result<usize> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM gates WHERE space = ?1 AND state = 'open' \
                   AND opened_at >= ?2 LIMIT ?3) AS asked";
        let row = self.one(sql, args![&space.to_string(), since.as_micros(), rows_max(most)])?;
        Ok(row.map_or(0, |row| row.int(0) as usize))
    }

    /// Returns gates that ended since a time, newest first.
    pub fn gates_ended_since(
        &mut self,
        space: SpaceId,
        since: Timestamp,
        limit: usize,
    ) -> Result<ListPage<Gate>> {
        let space = space.to_string();
        let sql = "SELECT body, state FROM gates WHERE space = ?1 AND state <> 'open'";
        let mut query = SelectBuilder::new(sql, args![&space]);
        query.and("ended_at >= ?", since.as_micros().into());
        let rows = query.run(self.conn, " ORDER BY ended_at DESC, id DESC", limit)?;
        Ok(ListPage::of(rows.iter().map(listed_gate).collect::<Result<_>>()?, limit))
    }

    /// Gates of a task whose answers their askers have not been handed, in the order in which they were asked.
    pub fn gates_undelivered(&mut self, task: TaskId) -> Result<Vec<Gate>> {
        let sql = "SELECT gates.body, gates.state FROM deliveries JOIN gates ON gates.id = deliveries.gate \
                   WHERE gates.task = ?1 AND gates.state = 'answered' \
                   AND deliveries.state IN ('pending', 'failed') ORDER BY gates.id";
        self.conn.query(sql, args![&task.to_string()])?.iter().map(listed_gate).collect()
    }

    /// Returns a run with its version.
    pub fn run(&mut self, id: RunId) -> Result<Option<(Run, u64)>> {
        let row =
            self.one("SELECT body, version FROM runs WHERE id = ?1", args![&id.to_string()])?;
        row.map(|row| Ok((json(row.text(0))?, row.int(1) as u64))).transpose()
    }

    /// Returns the last runs of a task, newest first. Run IDs grow with time.
    pub fn runs_of(&mut self, task: TaskId, limit: usize) -> Result<Vec<Run>> {
        let sql = "SELECT body FROM runs WHERE task = ?1 ORDER BY id DESC LIMIT ?2";
        let rows = self.conn.query(sql, args![&task.to_string(), rows_max(limit)])?;
        rows.iter().map(|row| json(row.text(0))).collect()
    }

    /// Returns the live runs, those whose lease ends first before the others.
    pub fn live_runs(&mut self, space: SpaceId, limit: usize) -> Result<Vec<Run>> {
        let sql = "SELECT body FROM runs WHERE space = ?1 AND state <> 'ended' \
                   ORDER BY lease_until LIMIT ?2";
        let rows = self.conn.query(sql, args![&space.to_string(), rows_max(limit)])?;
        rows.iter().map(|row| json(row.text(0))).collect()
    }

    /// Finds the gates and tasks with this ID, this handle or a handle with this prefix. Several matches mean that
    /// more characters are needed; the list is cut at eight.
    pub fn find(&mut self, space: SpaceId, name: &str) -> Result<Vec<(NameMatch, String)>> {
        if name.is_empty() {
            return Ok(vec![]);
        }
        // No handle is as long as an ID.
        if name.len() == 26 {
            return self.find_where(space, "id = ?2", &name.to_ascii_uppercase());
        }
        let exact = self.find_where(space, "handle = ?2", name)?;
        if !exact.is_empty() {
            return Ok(exact);
        }
        self.find_where(space, "handle >= ?2 AND handle < ?2 || '~'", name)
    }

    fn find_where(
        &mut self,
        space: SpaceId,
        is: &str,
        name: &str,
    ) -> Result<Vec<(NameMatch, String)>> {
        let is = match self.conn.dialect() {
            SqlDialect::Sqlite => is.to_owned(),
            // In a concatenation PostgreSQL cannot infer the type of a bare parameter.
            SqlDialect::Postgres => is.replace("?2 ||", "CAST(?2 AS TEXT) ||"),
        };
        let sql = format!(
            "SELECT * FROM (SELECT 'g', id, handle FROM gates WHERE space = ?1 AND {is} \
               ORDER BY handle LIMIT 8) AS found_gates \
             UNION ALL SELECT * FROM (SELECT 't', id, handle FROM tasks WHERE space = ?1 AND {is} \
               ORDER BY handle LIMIT 8) AS found_tasks LIMIT 8"
        );
        let rows = self.conn.query(&sql, args![&space.to_string(), name])?;
        rows.iter().map(found).collect()
    }

    /// Returns another space that has this ID or handle, for a helpful refusal.
    pub fn find_in_other_space(&mut self, name: &str) -> Result<Option<String>> {
        // Handles are unique within a space: one index lookup per space.
        let sql = "SELECT s.name FROM spaces s WHERE \
                     EXISTS (SELECT 1 FROM gates WHERE id = ?1 AND space = s.id) OR \
                     EXISTS (SELECT 1 FROM tasks WHERE id = ?1 AND space = s.id) OR \
                     EXISTS (SELECT 1 FROM gates WHERE space = s.id AND handle = ?2) OR \
                     EXISTS (SELECT 1 FROM tasks WHERE space = s.id AND handle = ?2) \
                   ORDER BY s.name LIMIT 1";
        let id = name.to_ascii_uppercase();
        Ok(self.one(sql, args![&id, name])?.map(|row| row.text(0).to_owned()))
    }

    /// True if a handle is in use. `table` is one of ours, never a caller's text.
    pub(crate) fn is_taken(
        &mut self,
        table: HandleTable,
        space: SpaceId,
        handle: &str,
    ) -> Result<bool> {
        Ok(self.one(&table.find(), args![&space.to_string(), handle])?.is_some())
    }

    pub(crate) fn prefetch_is_taken(
        &mut self,
        table: HandleTable,
        space: SpaceId,
        handle: &str,
    ) -> Result<()> {
        self.conn.prefetch(&[handle], &table.find(), args![&space.to_string(), handle])
    }

    /// Returns messages, oldest first: those of one recipient or of all, unread or all, after a given one.
    pub fn messages(
        &mut self,
        space: SpaceId,
        to: Option<&str>,
        unread: bool,
        after: Option<&AgentMessage>,
        limit: usize,
    ) -> Result<ListPage<AgentMessage>> {
        let space = space.to_string();
        let after = after.map(|message| (message.sent_at.as_micros(), message.id.to_string()));
        let mut query =
            SelectBuilder::new("SELECT body FROM messages WHERE space = ?1", args![&space]);
        if let Some(to) = to {
            query.and("recipient = ?", to.into());
        }
        if unread {
            query.plain("read_at IS NULL");
        }
        if let Some((at, id)) = &after {
            query.beyond("(sent_at, id) > (?, ?)", [(*at).into(), id.into()]);
        }
        let rows = query.run(self.conn, " ORDER BY sent_at, id", limit)?;
        let messages = rows.iter().map(|r| json(r.text(0))).collect::<Result<_>>()?;
        Ok(ListPage::of(messages, limit))
    }

    /// Returns the message with this handle or ID.
    pub fn message(&mut self, space: SpaceId, name: &str) -> Result<Option<AgentMessage>> {
        let sql = "SELECT body FROM messages WHERE space = ?1 AND (handle = ?2 OR id = ?3)";
        let id = name.to_ascii_uppercase();
        let row = self.one(sql, args![&space.to_string(), name, &id])?;
        row.map(|row| json(row.text(0))).transpose()
    }

    /// Returns the token whose secret has this hash.
    pub fn token_by_hash(&mut self, hash: &str) -> Result<Option<TokenRow>> {
        let sql = format!("SELECT {TOKEN_COLUMNS} FROM tokens WHERE hash = ?1");
        self.one(&sql, args![hash])?.map(|row| token(&row)).transpose()
    }

    /// Returns the token whose secret has this hash, with its records in the log and the time until which its holder
    /// has unlocked the terminal that `place` and the token name.
    pub fn credential(&mut self, hash: &str, place: &str) -> Result<Option<CredentialRecord>> {
        self.one(CREDENTIAL, args![hash, place])?.map(|row| credential(&row)).transpose()
    }

    /// Prefetches a credential. Every write of credentials invalidates it.
    pub fn prefetch_credential(&mut self, hash: &str, place: &str) -> Result<()> {
        self.conn.prefetch(&[], CREDENTIAL, args![hash, place])
    }

    /// Returns the audit entries about a token, by its stream or its handle; at most 16.
    pub fn entries_of_token(&mut self, token: &TokenRow) -> Result<Vec<AuditRow>> {
        let sql = "SELECT seq, prev, hash, body FROM audit WHERE space = ?1 AND (body LIKE ?2 OR body LIKE ?3) \
                   ORDER BY seq LIMIT 16";
        let stream = format!("%\"token/{}\"%", token.id);
        let handle = format!("%\"object\":\"{}\"%", token.handle);
        let rows = self.conn.query(sql, args![&token.space.to_string(), &stream, &handle])?;
        rows.iter().map(sealed).collect()
    }

    /// Returns the token with this handle.
    pub fn token(&mut self, space: SpaceId, handle: &str) -> Result<Option<TokenRow>> {
        let sql = format!("SELECT {TOKEN_COLUMNS} FROM tokens WHERE space = ?1 AND handle = ?2");
        self.one(&sql, args![&space.to_string(), handle])?.map(|row| token(&row)).transpose()
    }

    /// Returns one page of the tokens of a space, newest first, after a given one.
    pub fn tokens(
        &mut self,
        space: SpaceId,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<ListPage<TokenRow>> {
        let (space, after) = (space.to_string(), after.map(|id| id.to_string()));
        let sql = format!("SELECT {TOKEN_COLUMNS} FROM tokens WHERE space = ?1");
        let mut query = SelectBuilder::new(&sql, args![&space]);
        if let Some(after) = &after {
            query.and("id < ?", after.into());
        }
        let rows = query.run(self.conn, " ORDER BY id DESC", limit)?;
        Ok(ListPage::of(rows.iter().map(token).collect::<Result<_>>()?, limit))
    }

    /// One token.
    pub fn token_by_id(&mut self, space: SpaceId, id: TokenId) -> Result<Option<TokenRow>> {
        let sql = format!("SELECT {TOKEN_COLUMNS} FROM tokens WHERE space = ?1 AND id = ?2");
        let row = self.one(&sql, args![&space.to_string(), &id.to_string()])?;
        row.as_ref().map(token).transpose()
    }

    /// The tokens of one holder, the newest first.
    pub fn tokens_of(&mut self, space: SpaceId, name: &str) -> Result<Vec<TokenRow>> {
        let sql = format!(
            "SELECT {TOKEN_COLUMNS} FROM tokens WHERE space = ?1 AND name = ?2 ORDER BY id DESC"
        );
        self.conn.query(&sql, args![&space.to_string(), name])?.iter().map(token).collect()
    }

    /// Returns the tokens that a launcher made for others, the newest first.
    pub fn tokens_made_by(&mut self, space: SpaceId, launcher: &str) -> Result<Vec<TokenRow>> {
        let sql = format!(
            "SELECT {TOKEN_COLUMNS} FROM tokens WHERE space = ?1 AND launcher = ?2 AND name <> ?2 \
             ORDER BY id DESC"
        );
        self.conn.query(&sql, args![&space.to_string(), launcher])?.iter().map(token).collect()
    }

    /// The tokens of a role that still count, the newest first.
    pub fn tokens_good(
        &mut self,
        space: SpaceId,
        role: Role,
        now: Timestamp,
    ) -> Result<Vec<TokenRow>> {
        let sql = format!(
            "SELECT {TOKEN_COLUMNS} FROM tokens WHERE space = ?1 AND role = ?2 \
             AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3) ORDER BY id DESC"
        );
        let space = space.to_string();
        self.conn
            .query(&sql, args![&space, role.as_str(), now.as_micros()])?
            .iter()
            .map(token)
            .collect()
    }

    /// The names of all who hold, or held, a token of a role.
    pub fn token_names(&mut self, space: SpaceId, role: Role) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT name FROM tokens WHERE space = ?1 AND role = ?2";
        let rows = self.conn.query(sql, args![&space.to_string(), role.as_str()])?;
        Ok(rows.iter().map(|row| row.text(0).to_owned()).collect())
    }

    /// Returns the tokens of a run.
    pub fn tokens_of_run(&mut self, run: RunId) -> Result<Vec<TokenRow>> {
        let sql = format!("SELECT {TOKEN_COLUMNS} FROM tokens WHERE run = ?1 ORDER BY id");
        self.conn.query(&sql, args![&run.to_string()])?.iter().map(token).collect()
    }

    /// Returns the hash of a person's passphrase, if they have one.
    pub fn passphrase(&mut self, space: SpaceId, name: &str) -> Result<Option<String>> {
        let sql = "SELECT hash FROM passphrases WHERE space = ?1 AND name = ?2";
        let row = self.one(sql, args![&space.to_string(), name])?;
        Ok(row.map(|row| row.text(0).to_owned()))
    }

    /// Returns the time until which a person has unlocked this terminal.
    pub fn unlocked_until(
        &mut self,
        space: SpaceId,
        name: &str,
        terminal: &str,
    ) -> Result<Option<Timestamp>> {
        let sql = "SELECT until FROM unlocks WHERE space = ?1 AND name = ?2 AND terminal = ?3";
        let row = self.one(sql, args![&space.to_string(), name, terminal])?;
        Ok(row.map(|row| Timestamp::from_micros(row.int(0))))
    }

    /// Returns the gates whose answer an asker has not acknowledged yet, oldest first.
    pub fn deliveries_under_way(
        &mut self,
        space: SpaceId,
        asker: &str,
        limit: usize,
    ) -> Result<Vec<GateId>> {
        let sql = "SELECT gate FROM deliveries WHERE space = ?1 AND asker = ?2 \
                   AND state <> 'acknowledged' ORDER BY at, gate LIMIT ?3";
        let rows = self.conn.query(sql, args![&space.to_string(), asker, rows_max(limit)])?;
        rows.iter().map(|row| id(row.text(0))).collect()
    }

    /// Returns the unacknowledged deliveries of an asker without those that were abandoned because the task ended.
    pub fn deliveries_to_settle(
        &mut self,
        space: SpaceId,
        asker: &str,
        limit: usize,
    ) -> Result<Vec<GateId>> {
        let sql = "SELECT gate FROM deliveries WHERE space = ?1 AND asker = ?2 \
                   AND state <> 'acknowledged' AND state <> 'never' ORDER BY at, gate LIMIT ?3";
        let rows = self.conn.query(sql, args![&space.to_string(), asker, rows_max(limit)])?;
        rows.iter().map(|row| id(row.text(0))).collect()
    }

    /// Returns the gates whose answer was not delivered to this asker yet, oldest first.
    pub fn deliveries_untold(
        &mut self,
        space: SpaceId,
        asker: &str,
        limit: usize,
    ) -> Result<Vec<GateId>> {
        let sql = "SELECT gate FROM deliveries WHERE space = ?1 AND asker = ?2 \
                   AND state <> 'acknowledged' AND state IN ('pending', 'failed') \
                   ORDER BY at, gate LIMIT ?3";
        let rows = self.conn.query(sql, args![&space.to_string(), asker, rows_max(limit)])?;
        rows.iter().map(|row| id(row.text(0))).collect()
    }

    pub(crate) fn one(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<Option<SqlRow>> {
        Ok(self.conn.query(sql, args)?.into_iter().next())
    }
}

/// Converts a limit for both databases: PostgreSQL rejects a negative one.
pub(crate) fn rows_max(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Parses JSON that this program wrote; a failure means that the row was tampered with or damaged.
pub(crate) fn json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text)
        .map_err(|e| damaged(&format!("a row holds text that is not ours: {e}")))
}

pub(crate) fn id<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| damaged(&format!("a row holds {text:?} where an id must be")))
}

fn damaged(why: &str) -> Error {
    Error::Broken { place: "the database".into(), why: why.into() }
}

/// Parses a gate from its row and checks it against the state column: a gate that reads as open because of a damaged
/// character would wait for ever.
pub(crate) fn listed_gate(row: &SqlRow) -> Result<Gate> {
    let gate: Gate = json(row.text(0))?;
    if gate.state() == row.text(1) {
        Ok(gate)
    } else {
        Err(damaged("a gate is not what its row says"))
    }
}

fn space(row: &SqlRow) -> Result<SpaceRow> {
    Ok(SpaceRow {
        id: id(row.text(0))?,
        name: row.text(1).into(),
        created_at: Timestamp::from_micros(row.int(2)),
        deleted_at: row.maybe_int(3).map(Timestamp::from_micros),
        head: ChainHead { seq: row.int(4) as u64, hash: json(&format!("{:?}", row.text(5)))? },
    })
}

fn event(row: &SqlRow) -> EventRow {
    EventRow {
        stream: row.text(0).into(),
        version: row.int(1) as u64,
        audit: row.int(2) as u64,
        at: Timestamp::from_micros(row.int(3)),
        body: row.text(4).into(),
    }
}

fn view(row: &SqlRow) -> ViewRow {
    ViewRow { version: row.int(1) as u64, body: row.text(4).into() }
}

fn entry(row: &SqlRow) -> Result<AuditRow> {
    Ok(SealedEntry {
        seq: row.int(1) as u64,
        prev: json(&format!("{:?}", row.text(5)))?,
        hash: json(&format!("{:?}", row.text(6)))?,
        body: row.text(4).into(),
    })
}

fn sealed(row: &SqlRow) -> Result<AuditRow> {
    Ok(SealedEntry {
        seq: row.int(0) as u64,
        prev: json(&format!("{:?}", row.text(1)))?,
        hash: json(&format!("{:?}", row.text(2)))?,
        body: row.text(3).into(),
    })
}

fn credential(row: &SqlRow) -> Result<CredentialRecord> {
    let token = token(row)?;
    let minted = row.maybe_text(16).map(|body| EventRow {
        stream: format!("token/{}", token.id),
        version: 1,
        audit: row.int(14) as u64,
        at: Timestamp::from_micros(row.int(15)),
        body: body.to_owned(),
    });
    let entry = row.maybe_text(19).map(|body| {
        Ok::<_, Error>(SealedEntry {
            seq: row.int(14) as u64,
            prev: json(&format!("{:?}", row.text(17)))?,
            hash: json(&format!("{:?}", row.text(18)))?,
            body: body.to_owned(),
        })
    });
    Ok(CredentialRecord {
        token,
        unlocked_until: row.maybe_int(13).map(Timestamp::from_micros),
        minted,
        entry: entry.transpose()?,
        is_revoked: row.maybe_int(20).is_some(),
    })
}

fn found(row: &SqlRow) -> Result<(NameMatch, String)> {
    let what = match row.text(0) {
        "g" => NameMatch::Gate(id(row.text(1))?),
        _ => NameMatch::Task(id(row.text(1))?),
    };
    Ok((what, row.text(2).into()))
}

fn token(row: &SqlRow) -> Result<TokenRow> {
    Ok(TokenRow {
        id: id(row.text(0))?,
        space: id(row.text(1))?,
        handle: row.text(2).into(),
        hash: row.text(3).into(),
        role: json(&format!("{:?}", row.text(4)))?,
        name: row.text(5).into(),
        task: row.maybe_text(6).map(id).transpose()?,
        run: row.maybe_text(7).map(id).transpose()?,
        launcher: row.text(8).into(),
        created_at: Timestamp::from_micros(row.int(9)),
        expires_at: row.maybe_int(10).map(Timestamp::from_micros),
        revoked_at: row.maybe_int(11).map(Timestamp::from_micros),
        scopes: row.maybe_text(12).map(json).transpose()?,
    })
}
