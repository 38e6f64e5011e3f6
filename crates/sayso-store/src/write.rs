//! Write transactions: events, their audit entry, views, deliveries and notices, committed together.

use crate::prefetch::{InvalidationScope, PrefetchPlan};
use crate::read::ReadTransaction;
use crate::tx::{DatabaseConnection, SqlArg, SqlDialect, args};
use crate::watch::{WatchTopic, payload};
use crate::{Result, SpaceRow, TokenRow, ViewCells};
use sayso_core::audit::{self, ChainEntry, ChainHead, EventReference};
use sayso_core::gate::Gate;
use sayso_core::message::AgentMessage;
use sayso_core::run::Run;
use sayso_core::task::Task;
use sayso_core::{GateId, SpaceId, TaskId, Timestamp, TokenId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// A write transaction. It can read, and sees its own writes.
pub struct WriteTransaction<'a> {
    pub(crate) read: ReadTransaction<'a>,
    topics: Vec<WatchTopic>,
    /// The spaces it has locked.
    turns: BTreeMap<SpaceId, SpaceLock>,
    /// The time at which the first of its callers stops waiting.
    expires: Option<Instant>,
    /// The server's clock, in microseconds, and the local time at which it was read.
    clock: Option<(i64, Instant)>,
}

/// A locked space: no other transaction changes it.
struct SpaceLock {
    /// The end of its audit chain.
    head: ChainHead,
    has_moved: bool,
    is_deleted: bool,
    /// The time of its newest entry, where clocks are checked against that.
    newest: Option<Timestamp>,
}

/// The delivery of an answer to an asker.
#[derive(Debug, Clone)]
pub struct DeliveryRow<'a> {
    pub gate: GateId,
    pub asker: &'a str,
    pub state: &'a str,
}

/// Locks a space on PostgreSQL, and reads the server's clock.
const TURN: &str = "SELECT seq, hash, deleted_at, \
                      CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) \
                    FROM spaces WHERE id = ?1 FOR UPDATE";

/// The longest time between a space's lock and the commit. After it, a write whose connection was lost can no longer
/// be committed.
const COMMIT_MAX: Duration = Duration::from_secs(60);

impl<'a> Deref for WriteTransaction<'a> {
    type Target = ReadTransaction<'a>;
    fn deref(&self) -> &ReadTransaction<'a> {
        &self.read
    }
}

impl<'a> DerefMut for WriteTransaction<'a> {
    fn deref_mut(&mut self) -> &mut ReadTransaction<'a> {
        &mut self.read
    }
}

impl<'a> WriteTransaction<'a> {
    pub(crate) fn new(conn: &'a mut dyn DatabaseConnection) -> Self {
        let (topics, turns) = (vec![], BTreeMap::new());
        Self { read: ReadTransaction::new(conn), topics, turns, expires: None, clock: None }
    }

    /// Sets the time at which the caller stops waiting. The write is not committed after it.
    pub fn expires(&mut self, at: Instant) {
        self.expires = Some(self.expires.map_or(at, |earliest| earliest.min(at)));
    }

    /// Returns the time of the database server when the space was locked; none where it is this machine's clock.
    pub fn database_clock(&self) -> Option<Timestamp> {
        self.clock.map(|(micros, _)| Timestamp::from_micros(micros))
    }

    /// Returns the time of the newest entry of a locked space; none where the server's clock is known.
    pub fn newest_entry(&self, space: SpaceId) -> Option<Timestamp> {
        self.turns.get(&space).and_then(|turn| turn.newest)
    }

    /// Refuses a write whose caller has stopped waiting, and lets the server do the same.
    fn check_expiry(&mut self) -> Result<()> {
        if self.expires.is_some_and(|at| Instant::now() >= at) {
            return Err(crate::Error::Expired);
        }
        if let Some((micros, read_at)) = self.clock {
            let latest = read_at + COMMIT_MAX;
            let until = self.expires.map_or(latest, |at| at.min(latest));
            let left = until.saturating_duration_since(read_at).as_micros();
            let left = i64::try_from(left).unwrap_or(i64::MAX);
            self.read.conn.commit_before(micros.saturating_add(left));
        }
        Ok(())
    }

    /// Writes the new ends of the audit chains, sends the NOTIFY where the transaction does that, and returns the
    /// topics.
    pub(crate) fn close(mut self) -> Result<Vec<WatchTopic>> {
        self.check_expiry()?;
        for (space, SpaceLock { head, has_moved, .. }) in std::mem::take(&mut self.turns) {
            if has_moved {
                let sql = "UPDATE spaces SET seq = ?2, hash = ?3 WHERE id = ?1";
                self.exec_about(
                    &[],
                    sql,
                    args![&space.to_string(), head.seq as i64, head.hash.as_str()],
                )?;
            }
        }
        self.topics.sort_unstable();
        self.topics.dedup();
        if self.read.conn.dialect() == SqlDialect::Postgres && !self.topics.is_empty() {
            let channel = crate::postgres::CHANNEL;
            let payload = payload(&self.topics);
            self.exec_about(&[], "SELECT pg_notify(?1, ?2)", args![channel, &payload])?;
        }
        Ok(self.topics)
    }

    /// Prefetches the queries of the writes: first the locks of their spaces, because a read counts only after the
    /// lock.
    pub(crate) fn prefetch_all<'f>(
        &mut self,
        all: impl Iterator<Item = &'f PrefetchPlan>,
    ) -> Result<()> {
        if self.read.conn.dialect() == SqlDialect::Sqlite {
            return Ok(());
        }
        let all: Vec<_> = all.collect();
        // In a fixed order, so that two transactions that lock the same spaces do not deadlock.
        let spaces: BTreeSet<_> = all.iter().filter_map(|foresight| foresight.space).collect();
        for space in spaces {
            self.read.conn.prefetch(&[], TURN, args![&space.to_string()])?;
        }
        all.iter().try_for_each(|foresight| foresight.ask(&mut self.read))
    }

    /// Queues a statement; it runs at the latest with the commit, and invalidates all prefetched results.
    pub(crate) fn exec(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<()> {
        self.read.conn.exec_deferred(InvalidationScope::Anything, sql, args)
    }

    /// Queues a statement that invalidates only the prefetched results about these streams or keys: see
    /// [`PrefetchPlan`].
    pub(crate) fn exec_about(
        &mut self,
        about: &[&str],
        sql: &str,
        args: &[SqlArg<'_>],
    ) -> Result<()> {
        self.read.conn.exec_deferred(InvalidationScope::These(about), sql, args)
    }

    /// Runs a statement at once and returns the number of rows it changed.
    pub(crate) fn count(&mut self, sql: &str, args: &[crate::tx::SqlArg<'_>]) -> Result<u64> {
        self.read.conn.exec(sql, args)
    }

    pub fn add_space(&mut self, id: SpaceId, name: &str, at: Timestamp) -> Result<SpaceRow> {
        let head = ChainHead::genesis(id);
        let sql = "INSERT INTO spaces (id, name, created_at, seq, hash) VALUES (?1, ?2, ?3, 0, ?4)";
        self.exec(sql, args![&id.to_string(), name, at.as_micros(), head.hash.as_str()])?;
        Ok(SpaceRow { id, name: name.into(), created_at: at, deleted_at: None, head })
    }

    /// Marks a space as deleted. Its log and audit stay.
    pub fn delete_space(&mut self, id: SpaceId, at: Timestamp) -> Result<()> {
        if let Some(turn) = self.turns.get_mut(&id) {
            turn.is_deleted = true;
        }
        let sql = "UPDATE spaces SET deleted_at = ?2 WHERE id = ?1 AND deleted_at IS NULL";
        self.exec(sql, args![&id.to_string(), at.as_micros()])
    }

    /// Locks a space: until the commit no other transaction writes in it. Read the facts of a decision after this,
    /// and they cannot change before it is committed.
    pub fn lock(&mut self, space: SpaceId) -> Result<ChainHead> {
        if let Some(turn) = self.turns.get(&space) {
            return Ok(turn.head.clone());
        }
        let sql = match self.read.conn.dialect() {
            // The transaction holds the lock of the whole file already.
            SqlDialect::Sqlite => {
                "SELECT seq, hash, deleted_at, NULL, (SELECT json_extract(a.body, '$.at') FROM audit a \
                   WHERE a.space = spaces.id AND a.seq = spaces.seq) FROM spaces WHERE id = ?1"
            }
            SqlDialect::Postgres => TURN,
        };
        let row = self.read.one(sql, args![&space.to_string()])?;
        let row = row.ok_or_else(|| crate::Error::Missing(format!("space {space}")))?;
        let hash = crate::read::json(&format!("{:?}", row.text(1)))?;
        let head = ChainHead { seq: row.int(0) as u64, hash };
        let is_deleted = row.maybe_int(2).is_some();
        if let Some(micros) = row.maybe_int(3) {
            self.clock = Some((micros, Instant::now()));
        }
        // A value cached before the lock may be stale.
        self.read.settings = None;
        let newest = row.maybe_int(4).map(Timestamp::from_micros);
        let turn = SpaceLock { head: head.clone(), has_moved: false, is_deleted, newest };
        self.turns.insert(space, turn);
        Ok(head)
    }

    /// True if a space was deleted, read under its lock.
    pub fn is_deleted(&mut self, space: SpaceId) -> Result<bool> {
        self.lock(space)?;
        Ok(self.turns.get(&space).is_none_or(|turn| turn.is_deleted))
    }

    /// Appends events and the audit entry that covers them. `events` are `(stream, version, body)`, with versions
    /// that continue those of the streams.
    pub fn append(
        &mut self,
        mut entry: ChainEntry,
        events: &[(String, u64, String)],
    ) -> Result<u64> {
        let space = entry.space;
        let head = self.lock(space)?;
        entry.events = events.iter().map(|(s, v, body)| EventReference::of(s, *v, body)).collect();
        let at = entry.at.as_micros();
        let sealed = audit::seal(&head, entry);
        let (id, seq) = (space.to_string(), sealed.seq as i64);
        for (stream, version, body) in events {
            let sql = "INSERT INTO events (stream, version, space, audit, at, body) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            self.exec_about(&[stream], sql, args![stream, *version as i64, &id, seq, at, body])?;
            self.topics.extend(topic_of(stream));
        }
        let sql = "INSERT INTO audit (space, seq, prev, hash, body) VALUES (?1, ?2, ?3, ?4, ?5)";
        let (prev, hash) = (sealed.prev.as_str(), sealed.hash.as_str());
        self.exec_about(&[], sql, args![&id, seq, prev, hash, &sealed.body])?;
        self.topics.push(WatchTopic::Space(space));
        let seq = sealed.seq;
        if let Some(turn) = self.turns.get_mut(&space) {
            (turn.head, turn.has_moved) = (ChainHead { seq, hash: sealed.hash }, true);
        }
        Ok(seq)
    }

    /// Writes the view of a gate.
    pub fn put_gate(&mut self, gate: &Gate, version: u64) -> Result<()> {
        let opened = &gate.opened;
        let sql = "INSERT INTO gates (id, space, handle, kind, state, task, asker, opened_at, \
                     snoozed_until, ended_at, due_at, same, version, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
                   ON CONFLICT (id) DO UPDATE SET state = excluded.state, \
                     snoozed_until = excluded.snoozed_until, ended_at = excluded.ended_at, \
                     version = excluded.version, body = excluded.body, due_at = excluded.due_at, \
                     same = excluded.same";
        let about = format!("gate/{}", opened.id);
        let row = ViewCells::of_gate(gate, version)?;
        self.exec_about(&[&about, &opened.handle], sql, &row.args())
    }

    /// Writes the state of a delivery.
    pub fn put_delivery(
        &mut self,
        space: SpaceId,
        delivery: &DeliveryRow<'_>,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO deliveries (gate, asker, space, state, at) \
                   VALUES (?1, ?2, ?3, ?4, ?5) \
                   ON CONFLICT (gate, asker) DO UPDATE SET state = excluded.state, at = excluded.at";
        let DeliveryRow { gate, asker, state } = delivery;
        let (gate, space) = (gate.to_string(), space.to_string());
        self.exec_about(&[], sql, args![&gate, *asker, &space, *state, at.as_micros()])
    }

    /// Writes the view of a task, and updates the tasks whose readiness depends on it.
    pub fn put_task(&mut self, task: &Task, version: u64) -> Result<()> {
        let id = task.id.to_string();
        let before = self.read.task(task.id)?.map(|(row, _)| row.task);
        let sql = "INSERT INTO tasks (id, space, handle, status, sort, priority, parent, is_over, \
                     waiting, blockers, open_children, workable_at, created_at, updated_at, \
                     version, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, ?10, ?11, ?12, ?13, ?14) \
                   ON CONFLICT (id) DO UPDATE SET status = excluded.status, sort = excluded.sort, \
                     priority = excluded.priority, parent = excluded.parent, \
                     is_over = excluded.is_over, waiting = excluded.waiting, \
                     workable_at = excluded.workable_at, updated_at = excluded.updated_at, \
                     version = excluded.version, body = excluded.body";
        let row = ViewCells::of_task(task, version)?;
        self.exec_about(&[&format!("task/{id}"), &task.handle], sql, &row.args())?;
        self.put_labels(task, before.as_ref())?;
        self.put_dependencies(task, before.as_ref())?;
        self.refresh_neighbours(task, before.as_ref())
    }

    fn put_labels(&mut self, task: &Task, before: Option<&Task>) -> Result<()> {
        if before.map_or(task.labels.is_empty(), |b| b.labels == task.labels) {
            return Ok(());
        }
        let id = task.id.to_string();
        self.exec_about(&[], "DELETE FROM labels WHERE task = ?1", args![&id])?;
        for label in &task.labels {
            self.exec_about(
                &[],
                "INSERT INTO labels (label, task) VALUES (?1, ?2)",
                args![label, &id],
            )?;
        }
        Ok(())
    }

    fn put_dependencies(&mut self, task: &Task, before: Option<&Task>) -> Result<()> {
        if before.map_or(task.blocked_by.is_empty(), |b| b.blocked_by == task.blocked_by) {
            return Ok(());
        }
        let id = task.id.to_string();
        self.exec_about(&[], "DELETE FROM dependencies WHERE task = ?1", args![&id])?;
        for on in &task.blocked_by {
            let sql = "INSERT INTO dependencies (task, on_task) VALUES (?1, ?2)";
            self.exec_about(&[], sql, args![&id, &on.to_string()])?;
        }
        self.count_blockers("id = ?1", task.id)
    }

    /// Updates the counts that decide if tasks are ready. A task may be written after its dependents or its children,
    /// as when views are rebuilt from the log.
    fn refresh_neighbours(&mut self, task: &Task, before: Option<&Task>) -> Result<()> {
        let was_over = before.is_some_and(|b| b.status.is_over());
        let turned = before.is_none() || was_over != task.status.is_over();
        if turned {
            self.count_blockers(
                "id IN (SELECT task FROM dependencies WHERE on_task = ?1)",
                task.id,
            )?;
        }
        let parent_before = before.and_then(|b| b.parent);
        if turned || parent_before != task.parent {
            let itself = before.is_none().then_some(task.id);
            for parent in [parent_before, task.parent, itself].into_iter().flatten() {
                self.count_children(parent)?;
            }
        }
        Ok(())
    }

    fn count_children(&mut self, parent: TaskId) -> Result<()> {
        let sql = "UPDATE tasks SET open_children = (SELECT count(*) FROM tasks c \
                     WHERE c.parent = ?1 AND c.is_over = 0) WHERE id = ?1";
        self.exec_about(&[], sql, args![&parent.to_string()])
    }

    fn count_blockers(&mut self, whose: &str, task: TaskId) -> Result<()> {
        let sql = format!(
            "UPDATE tasks SET blockers = (SELECT count(*) FROM dependencies d \
               JOIN tasks b ON b.id = d.on_task WHERE d.task = tasks.id AND b.is_over = 0) \
             WHERE {whose}"
        );
        self.exec_about(&[], &sql, args![&task.to_string()])
    }

    /// Writes the view of a run.
    pub fn put_run(&mut self, run: &Run, version: u64) -> Result<()> {
        let sql = "INSERT INTO runs (id, space, task, state, lease_until, version, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                   ON CONFLICT (id) DO UPDATE SET state = excluded.state, \
                     lease_until = excluded.lease_until, version = excluded.version, \
                     body = excluded.body";
        self.exec(sql, &ViewCells::of_run(run, version)?.args())
    }

    pub fn put_message(&mut self, message: &AgentMessage) -> Result<()> {
        let sql = "INSERT INTO messages (id, space, handle, recipient, sent_at, read_at, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                   ON CONFLICT (id) DO UPDATE SET read_at = excluded.read_at, body = excluded.body";
        self.exec(
            sql,
            args![
                &message.id.to_string(),
                &message.space.to_string(),
                &message.handle,
                &message.to,
                message.sent_at.as_micros(),
                message.read_at.map(Timestamp::as_micros),
                &text(message)?,
            ],
        )
    }

    pub fn add_token(&mut self, token: &TokenRow) -> Result<()> {
        let sql = "INSERT INTO tokens (id, space, handle, hash, role, name, task, run, launcher, \
                     created_at, expires_at, scopes) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let (task, run) = (token.task.map(|t| t.to_string()), token.run.map(|r| r.to_string()));
        let scopes = token.scopes.as_ref().map(serde_json::to_string).transpose();
        let scopes = scopes.map_err(|e| crate::Error::Other(e.to_string()))?;
        self.exec(
            sql,
            args![
                &token.id.to_string(),
                &token.space.to_string(),
                &token.handle,
                &token.hash,
                token.role.as_str(),
                &token.name,
                task.as_deref(),
                run.as_deref(),
                &token.launcher,
                token.created_at.as_micros(),
                token.expires_at.map(Timestamp::as_micros),
                scopes.as_deref(),
            ],
        )
    }

    pub fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<()> {
        let sql = "UPDATE tokens SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        self.exec(sql, args![&id.to_string(), at.as_micros()])
    }

    /// Revokes the credentials of a run.
    pub fn revoke_tokens_of(&mut self, run: sayso_core::RunId, at: Timestamp) -> Result<()> {
        let sql = "UPDATE tokens SET revoked_at = ?2 WHERE run = ?1 AND revoked_at IS NULL";
        self.exec(sql, args![&run.to_string(), at.as_micros()])
    }

    /// Revokes every credential of an agent.
    pub fn revoke_tokens_for(&mut self, space: SpaceId, agent: &str, at: Timestamp) -> Result<()> {
        let sql = "UPDATE tokens SET revoked_at = ?3 \
                   WHERE space = ?1 AND name = ?2 AND role = 'agent' AND revoked_at IS NULL";
        self.exec(sql, args![&space.to_string(), agent, at.as_micros()])
    }

    /// Sets the hash of a person's passphrase.
    pub fn put_passphrase(&mut self, space: SpaceId, name: &str, hash: &str) -> Result<()> {
        let sql = "INSERT INTO passphrases (space, name, hash) VALUES (?1, ?2, ?3) \
                   ON CONFLICT (space, name) DO UPDATE SET hash = excluded.hash";
        self.exec(sql, args![&space.to_string(), name, hash])
    }

    /// Records that a person unlocked a terminal; a time in the past locks it.
    pub fn put_unlock(
        &mut self,
        space: SpaceId,
        name: &str,
        terminal: &str,
        until: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO unlocks (space, name, terminal, until) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT (space, name, terminal) DO UPDATE SET until = excluded.until";
        self.exec(sql, args![&space.to_string(), name, terminal, until.as_micros()])
    }

    /// Returns an unused handle: as short as possible, and longer if that is taken.
    pub fn free_handle(
        &mut self,
        table: HandleTable,
        space: SpaceId,
        of_length: impl Fn(usize) -> String,
    ) -> Result<String> {
        use sayso_core::id::{HANDLE_LEN_MAX, HANDLE_LEN_MIN};
        for len in HANDLE_LEN_MIN..HANDLE_LEN_MAX {
            let handle = of_length(len);
            if !self.read.is_taken(table, space, &handle)? {
                return Ok(handle);
            }
        }
        Ok(of_length(HANDLE_LEN_MAX))
    }
}

/// The tables whose rows have handles.
#[derive(Debug, Clone, Copy)]
pub enum HandleTable {
    Gates,
    Tasks,
    Messages,
    Tokens,
    Flows,
}

impl HandleTable {
    /// Builds the query for the row with a handle.
    pub(crate) fn find(self) -> String {
        format!("SELECT 1 FROM {} WHERE space = ?1 AND handle = ?2", self.name())
    }

    const fn name(self) -> &'static str {
        match self {
            HandleTable::Gates => "gates",
            HandleTable::Tasks => "tasks",
            HandleTable::Messages => "messages",
            HandleTable::Tokens => "tokens",
            HandleTable::Flows => "flows",
        }
    }
}

fn topic_of(stream: &str) -> Option<WatchTopic> {
    stream.strip_prefix("gate/").and_then(|id| id.parse().ok()).map(WatchTopic::Gate)
}

pub(crate) fn text<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|e| crate::Error::Other(format!("cannot be written: {e}")))
}
