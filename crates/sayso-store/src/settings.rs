//! Settings of a space, the log of policy requests, and the due times of gates.

use crate::read::{ReadTransaction, json, rows_max};
use crate::tx::{SqlRow, args};
use crate::write::WriteTransaction;
use crate::{AuditRow, EventRow, ListPage, Result};
use sayso_core::{GateId, SpaceId, Timestamp, Verdict};
use serde::{Deserialize, Serialize};

/// A setting of a space: a policy, an agent, a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSetting {
    /// The kind of setting.
    pub kind: String,
    /// The name among the settings of that kind.
    pub name: String,
    /// The number of the audit entry it was set with.
    pub seq: u64,
    pub set_by: String,
    pub set_at: Timestamp,
    /// The content; none if the setting was removed.
    pub body: Option<String>,
}

/// A request that the policy ruled on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    /// The request ID; that of the gate, if one was opened for it.
    pub id: String,
    pub at: Timestamp,
    /// The agent that made the request.
    pub agent: String,
    /// The policy decision.
    pub ruling: String,
    /// The verdict of a person, once there is one.
    pub verdict: Option<String>,
    /// The request as JSON.
    pub body: String,
}

/// The counts of an agent's requests and their results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// The number of requests for which a person was to be asked.
    pub asked: u64,
    /// The number of those that a person approved.
    pub approved: u64,
    /// The number of requests that a person or the policy denied.
    pub denied: u64,
}

/// The settings of a space, the last event of each, and the audit entries which those name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingRows {
    /// The rows, by kind and name, with those of removed settings.
    pub settings: Vec<StoredSetting>,
    /// The last event of each setting's stream.
    pub events: Vec<EventRow>,
    /// The entries of those events.
    pub entries: Vec<AuditRow>,
}

/// Selects the number of the last setting: -1 if the log has settings and the table has none.
const LAST_SETTING: &str = "SELECT COALESCE( \
    (SELECT seq FROM settings WHERE space = ?1 ORDER BY seq DESC LIMIT 1), \
    (SELECT CAST(-1 AS BIGINT) FROM events WHERE stream >= ?2 AND stream < ?3 LIMIT 1), 0)";

const SETTING_ROWS: &str = "\
    SELECT 0, kind, name, seq, set_by, set_at, body, 0 FROM settings WHERE space = ?1 UNION ALL \
    SELECT 1, e.stream, '', e.audit, '', e.at, e.body, e.version FROM events e \
      WHERE e.stream >= ?2 AND e.stream < ?3 AND NOT EXISTS (SELECT 1 FROM events x \
        WHERE x.stream = e.stream AND x.version = e.version + 1) UNION ALL \
    SELECT 2, a.prev, a.hash, a.seq, '', 0, a.body, 0 FROM audit a WHERE a.space = ?1 AND a.seq IN ( \
      SELECT e.audit FROM events e WHERE e.stream >= ?2 AND e.stream < ?3 AND NOT EXISTS ( \
        SELECT 1 FROM events x WHERE x.stream = e.stream AND x.version = e.version + 1))";

/// Returns the bounds between which the streams of a space's settings lie.
fn streams(space: SpaceId) -> [String; 2] {
    // '0' is the character after '/'.
    [format!("setting/{space}/"), format!("setting/{space}0")]
}

const COLUMNS: &str = "kind, name, seq, set_by, set_at, body";

impl ReadTransaction<'_> {
    /// Returns the number of the last setting of a space; 0 if there never was one.
    pub fn settings_seq(&mut self, space: SpaceId) -> Result<u64> {
        if let Some((_, seq)) = self.settings.filter(|(of, _)| *of == space) {
            return Ok(seq);
        }
        let [from, to] = streams(space);
        let row = self.one(LAST_SETTING, args![&space.to_string(), &from, &to])?;
        let seq = row.map_or(0, |row| row.int(0) as u64);
        self.settings = Some((space, seq));
        Ok(seq)
    }

    /// No stream is named, so every write of a setting invalidates it: such a write does not say what it touches.
    pub(crate) fn prefetch_settings_seq(&mut self, space: SpaceId) -> Result<()> {
        let [from, to] = streams(space);
        self.conn.prefetch(&[], LAST_SETTING, args![&space.to_string(), &from, &to])
    }

    /// Drops the cached settings version: a setting was written, or another process may have written one.
    pub(crate) fn forget_settings(&mut self) {
        self.settings = None;
    }

    /// Returns all settings that a space ever had, with their records in the log.
    pub fn setting_rows(&mut self, space: SpaceId) -> Result<SettingRows> {
        let [from, to] = streams(space);
        let mut found = SettingRows::default();
        for row in self.conn.query(SETTING_ROWS, args![&space.to_string(), &from, &to])? {
            match row.int(0) {
                0 => found.settings.push(StoredSetting {
                    kind: row.text(1).into(),
                    name: row.text(2).into(),
                    seq: row.int(3) as u64,
                    set_by: row.text(4).into(),
                    set_at: Timestamp::from_micros(row.int(5)),
                    body: row.maybe_text(6).map(str::to_owned),
                }),
                1 => found.events.push(EventRow {
                    stream: row.text(1).into(),
                    version: row.int(7) as u64,
                    audit: row.int(3) as u64,
                    at: Timestamp::from_micros(row.int(5)),
                    body: row.text(6).into(),
                }),
                _ => found.entries.push(AuditRow {
                    seq: row.int(3) as u64,
                    prev: json(&format!("{:?}", row.text(1)))?,
                    hash: json(&format!("{:?}", row.text(2)))?,
                    body: row.text(6).into(),
                }),
            }
        }
        found.settings.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
        Ok(found)
    }

    /// Returns the current settings of a space, by kind and name.
    pub fn settings(&mut self, space: SpaceId, limit: usize) -> Result<Vec<StoredSetting>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM settings WHERE space = ?1 AND body IS NOT NULL \
             ORDER BY kind, name LIMIT ?2"
        );
        let rows = self.conn.query(&sql, args![&space.to_string(), rows_max(limit)])?;
        Ok(rows.iter().map(setting).collect())
    }

    /// Returns one setting, also if it was removed.
    pub fn setting(
        &mut self,
        space: SpaceId,
        kind: &str,
        name: &str,
    ) -> Result<Option<StoredSetting>> {
        let sql =
            format!("SELECT {COLUMNS} FROM settings WHERE space = ?1 AND kind = ?2 AND name = ?3");
        Ok(self.one(&sql, args![&space.to_string(), kind, name])?.as_ref().map(setting))
    }

    /// Returns the open gates whose timer is due, longest overdue first.
    pub fn gates_due(
        &mut self,
        space: SpaceId,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<GateId>> {
        let sql =
            "SELECT id FROM gates WHERE space = ?1 AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3";
        let space = space.to_string();
        let args = args![&space, at.as_micros(), rows_max(limit)];
        self.conn.query(sql, args)?.iter().map(|row| crate::read::id(row.text(0))).collect()
    }

    /// Returns the time at which the next timer of a gate is due.
    pub fn next_due(&mut self, space: SpaceId) -> Result<Option<Timestamp>> {
        let sql = "SELECT due_at FROM gates WHERE space = ?1 AND due_at IS NOT NULL \
                   ORDER BY due_at LIMIT 1";
        let row = self.one(sql, args![&space.to_string()])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map(Timestamp::from_micros))
    }

    /// Returns one page of policy requests since a time, oldest first; `after` is the last one of the page before.
    pub fn requests(
        &mut self,
        space: SpaceId,
        since: Timestamp,
        after: Option<&RequestRow>,
        limit: usize,
    ) -> Result<ListPage<RequestRow>> {
        let sql = "SELECT id, at, agent, ruling, verdict, body FROM requests \
                   WHERE space = ?1 AND (at, id) > (?2, ?3) ORDER BY at, id LIMIT ?4";
        let (at, id) = match after {
            Some(row) => (row.at.as_micros(), row.id.as_str()),
            None => (since.as_micros().saturating_sub(1), "~"),
        };
        // One row more shows if more follow.
        let rows_max = rows_max(limit.saturating_add(1));
        let rows = self.conn.query(sql, args![&space.to_string(), at, id, rows_max])?;
        Ok(ListPage::of(rows.iter().map(request).collect(), limit))
    }

    /// Returns the policy request with this ID.
    pub fn request(&mut self, id: &str) -> Result<Option<RequestRow>> {
        let sql = "SELECT id, at, agent, ruling, verdict, body FROM requests WHERE id = ?1";
        Ok(self.one(sql, args![id])?.as_ref().map(request))
    }

    /// Counts the results of an agent's requests since a time.
    pub fn tally(
        &mut self,
        space: SpaceId,
        agent: &str,
        since: Timestamp,
    ) -> Result<RequestCounts> {
        let sql = "SELECT ruling, verdict, count(*) FROM requests \
                   WHERE space = ?1 AND agent = ?2 AND at >= ?3 AND ruling <> 'allow' \
                   GROUP BY ruling, verdict";
        let rows = self.conn.query(sql, args![&space.to_string(), agent, since.as_micros()])?;
        let mut tally = RequestCounts::default();
        for row in rows {
            let count = row.int(2) as u64;
            let (is_asked, verdict) = (row.text(0) == "ask", row.maybe_text(1));
            tally.asked += count * u64::from(is_asked);
            tally.approved += count * u64::from(is_asked && verdict == Some("approved"));
            tally.denied += count * u64::from(!is_asked || verdict == Some("rejected"));
        }
        Ok(tally)
    }
}

impl WriteTransaction<'_> {
    pub fn put_setting(&mut self, space: SpaceId, setting: &StoredSetting) -> Result<()> {
        let sql = "INSERT INTO settings (space, kind, name, seq, set_by, set_at, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                   ON CONFLICT (space, kind, name) DO UPDATE SET seq = excluded.seq, \
                     set_by = excluded.set_by, set_at = excluded.set_at, body = excluded.body";
        self.forget_settings();
        let StoredSetting { kind, name, seq, set_by, set_at, body } = setting;
        let (space, at) = (space.to_string(), set_at.as_micros());
        let args = args![&space, kind, name, *seq as i64, set_by, at, body.as_deref()];
        self.exec(sql, args)
    }

    /// Records a policy request; the same ID again changes nothing.
    pub fn add_request(&mut self, space: SpaceId, request: &RequestRow) -> Result<()> {
        let sql = "INSERT INTO requests (id, space, at, agent, ruling, verdict, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING";
        let RequestRow { id, at, agent, ruling, verdict, body } = request;
        let (space, at) = (space.to_string(), at.as_micros());
        self.exec_about(&[], sql, args![id, &space, at, agent, ruling, verdict.as_deref(), body])
    }

    /// Records the verdict of a person on a request.
    pub fn settle_request(&mut self, id: &str, verdict: Verdict) -> Result<()> {
        let sql = "UPDATE requests SET verdict = ?2 WHERE id = ?1 AND verdict IS NULL";
        self.exec_about(&[], sql, args![id, verdict.as_str()])
    }
}

fn setting(row: &SqlRow) -> StoredSetting {
    StoredSetting {
        kind: row.text(0).into(),
        name: row.text(1).into(),
        seq: row.int(2) as u64,
        set_by: row.text(3).into(),
        set_at: Timestamp::from_micros(row.int(4)),
        body: row.maybe_text(5).map(str::to_owned),
    }
}

fn request(row: &SqlRow) -> RequestRow {
    RequestRow {
        id: row.text(0).into(),
        at: Timestamp::from_micros(row.int(1)),
        agent: row.text(2).into(),
        ruling: row.text(3).into(),
        verdict: row.maybe_text(4).map(str::to_owned),
        body: row.text(5).into(),
    }
}
