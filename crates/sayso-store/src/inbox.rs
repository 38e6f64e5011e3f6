//! Queries of the inbox: the open gates that share a card, their fair order by asker, and the deliveries that are
//! stalled.

use crate::Result;
use crate::page::ListPage;
use crate::query::SelectBuilder;
use crate::read::{ReadTransaction, id, listed_gate, rows_max};
use crate::tx::{SqlRow, args};
use sayso_core::gate::{Gate, QueuedGate};
use sayso_core::{FlowId, GateId, GateKind, SpaceId, Timestamp};

/// The most gates that one query names.
const IDS_MAX: usize = 500;

impl ReadTransaction<'_> {
    /// Returns the rows that lists show of open gates, oldest first and without the gates themselves: those of one
    /// asker, or of all.
    pub fn queued_gates(
        &mut self,
        space: SpaceId,
        kinds: &[GateKind],
        asker: Option<&str>,
        limit: usize,
    ) -> Result<ListPage<QueuedGate>> {
        let space = space.to_string();
        let columns = "SELECT id, same, task, asker, opened_at, snoozed_until FROM gates";
        let sql = format!("{columns} WHERE space = ?1 AND state = 'open'");
        let mut query = SelectBuilder::new(&sql, args![&space]);
        if let Some(asker) = asker {
            query.and("asker = ?", asker.into());
        }
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        query.any("kind", &kinds);
        let rows = query.run(self.conn, " ORDER BY opened_at, id", limit)?;
        Ok(ListPage::of(rows.iter().map(queued_gates).collect::<Result<_>>()?, limit))
    }

    /// Returns open gates in round-robin order: the oldest of each asker first, then the second of each, and so on,
    /// after the first `skip` of them. So a limit cuts off gates of the askers that have most.
    pub fn queued_gates_round_robin(
        &mut self,
        space: SpaceId,
        kinds: &[GateKind],
        asker: Option<&str>,
        skip: usize,
        limit: usize,
    ) -> Result<ListPage<QueuedGate>> {
        let space = space.to_string();
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        let mut query = round_robin_query(&space, &kinds, asker);
        let columns = "SELECT id, same, task, asker, opened_at, snoozed_until FROM (";
        query.within(columns, ") AS turns WHERE 1 = 1");
        let rows = query.run_behind(self.conn, " ORDER BY turn, opened_at, id", skip, limit)?;
        Ok(ListPage::of(rows.iter().map(queued_gates).collect::<Result<_>>()?, limit))
    }

    /// Counts the open gates that come before this one in round-robin order. The gate itself may have ended.
    pub fn round_robin_position(
        &mut self,
        space: SpaceId,
        kinds: &[GateKind],
        asker: Option<&str>,
        gate: &QueuedGate,
    ) -> Result<usize> {
        let space = space.to_string();
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        let (id, at) = (gate.id.to_string(), gate.opened_at.as_micros());
        let count = |row: Option<&SqlRow>| row.map_or(0, |row| row.int(0));
        let mut own = SelectBuilder::new(COUNT, args![&space]);
        own.and("asker = ?", gate.asker.as_str().into());
        own.any("kind", &kinds);
        own.beyond("(opened_at, id) < (?, ?)", [at.into(), id.as_str().into()]);
        let turn = count(own.run(self.conn, "", 1)?.first()) + 1;
        let mut all = round_robin_query(&space, &kinds, asker);
        all.within("SELECT COUNT(*) FROM (", ") AS turns WHERE 1 = 1");
        all.and("(turn < ? OR (turn = ?", turn.into());
        all.beyond("(opened_at, id) < (?, ?)))", [at.into(), id.as_str().into()]);
        let before = count(all.run(self.conn, "", 1)?.first());
        Ok(usize::try_from(before).unwrap_or_default())
    }

    /// Counts the open gates of each of these askers.
    pub fn count_asked(
        &mut self,
        space: SpaceId,
        kinds: &[GateKind],
        askers: &[&str],
    ) -> Result<Vec<(String, usize)>> {
        let space = space.to_string();
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        let mut found = vec![];
        for some in askers.chunks(IDS_MAX) {
            let sql = "SELECT asker, COUNT(*) FROM gates WHERE space = ?1 AND state = 'open'";
            let mut query = SelectBuilder::new(sql, args![&space]);
            query.any("asker", some);
            query.any("kind", &kinds);
            let rows = query.run(self.conn, " GROUP BY asker", some.len())?;
            let count = |row: &SqlRow| usize::try_from(row.int(1)).unwrap_or_default();
            found.extend(rows.iter().map(|row| (row.text(0).to_owned(), count(row))));
        }
        Ok(found)
    }

    /// Counts the open gates of all other askers.
    pub fn count_asked_by_others(
        &mut self,
        space: SpaceId,
        kinds: &[GateKind],
        askers: &[&str],
    ) -> Result<usize> {
        let space = space.to_string();
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        let mut query = SelectBuilder::new(COUNT, args![&space]);
        query.any("asker NOT", askers);
        query.any("kind", &kinds);
        let rows = query.run(self.conn, "", 1)?;
        Ok(rows.first().and_then(|row| usize::try_from(row.int(0)).ok()).unwrap_or_default())
    }

    /// Returns the row that lists show of a gate, open or not.
    pub fn queued_gate(&mut self, gate: GateId) -> Result<Option<QueuedGate>> {
        let sql = "SELECT id, same, task, asker, opened_at, snoozed_until FROM gates WHERE id = ?1";
        self.one(sql, args![&gate.to_string()])?.map(|row| queued_gates(&row)).transpose()
    }

    /// Returns the gates that ended at the same instant as this one, itself among them.
    pub fn ended_with(&mut self, space: SpaceId, gate: GateId, limit: usize) -> Result<Vec<Gate>> {
        let (space, gate) = (space.to_string(), gate.to_string());
        let sql = "SELECT body, state FROM gates WHERE space = ?1 AND state <> 'open' AND \
                   ended_at = (SELECT ended_at FROM gates WHERE id = ?2)";
        let query = SelectBuilder::new(sql, args![&space, &gate]);
        let rows = query.run(self.conn, " ORDER BY ended_at, id", limit)?;
        rows.iter().map(listed_gate).collect()
    }

    /// Returns the gates that flows wait for, each with its flow.
    pub fn waiting_flows(&mut self, space: SpaceId, limit: usize) -> Result<Vec<(GateId, FlowId)>> {
        let sql = "SELECT gate, id FROM flows \
                   WHERE space = ?1 AND is_over = 0 AND gate IS NOT NULL \
                   ORDER BY started_at, id LIMIT ?2";
        let rows = self.conn.query(sql, args![&space.to_string(), rows_max(limit)])?;
        rows.iter().map(|row| Ok((id(row.text(0))?, id(row.text(1))?))).collect()
    }

    /// Returns the open gates with this dedup key, oldest first.
    pub fn open_gates_with_key(
        &mut self,
        space: SpaceId,
        same: &str,
        limit: usize,
    ) -> Result<ListPage<Gate>> {
        let space = space.to_string();
        let sql = "SELECT body, state FROM gates WHERE space = ?1 AND state = 'open' AND same = ?2";
        let query = SelectBuilder::new(sql, args![&space, same]);
        let rows = query.run(self.conn, " ORDER BY opened_at, id", limit)?;
        Ok(ListPage::of(rows.iter().map(listed_gate).collect::<Result<_>>()?, limit))
    }

    /// Returns these gates, in no particular order.
    pub fn gate_views(&mut self, gates: &[GateId]) -> Result<Vec<Gate>> {
        let mut found = vec![];
        for some in gates.chunks(IDS_MAX) {
            let ids: Vec<_> = some.iter().map(ToString::to_string).collect();
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            let mut query = SelectBuilder::new("SELECT body, state FROM gates WHERE 1 = 1", &[]);
            query.any("id", &ids);
            let rows = query.run(self.conn, "", some.len())?;
            found.extend(rows.iter().map(listed_gate).collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }

    /// Returns the gates whose delivery changed between two times and is not acknowledged yet, newest first.
    pub fn deliveries_between(
        &mut self,
        space: SpaceId,
        from: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<GateId>> {
        let sql = "SELECT gate FROM deliveries WHERE space = ?1 AND state <> 'acknowledged' \
                   AND at > ?2 AND at <= ?3 ORDER BY at DESC, gate DESC LIMIT ?4";
        let (space, from, until) = (space.to_string(), from.as_micros(), until.as_micros());
        let rows = self.conn.query(sql, args![&space, from, until, rows_max(limit)])?;
        rows.iter().map(|row| id(row.text(0))).collect()
    }
}

const COUNT: &str = "SELECT COUNT(*) FROM gates WHERE space = ?1 AND state = 'open'";

/// Builds the query for open gates with their position among those of their asker.
fn round_robin_query<'a>(
    space: &'a str,
    kinds: &[&'a str],
    asker: Option<&'a str>,
) -> SelectBuilder<'a> {
    let sql = "SELECT id, same, task, asker, opened_at, snoozed_until, \
               ROW_NUMBER() OVER (PARTITION BY asker ORDER BY opened_at, id) AS turn \
               FROM gates WHERE space = ?1 AND state = 'open'";
    let mut query = SelectBuilder::new(sql, &[space.into()]);
    if let Some(asker) = asker {
        query.and("asker = ?", asker.into());
    }
    query.any("kind", kinds);
    query
}

fn queued_gates(row: &SqlRow) -> Result<QueuedGate> {
    Ok(QueuedGate {
        id: id(row.text(0))?,
        same: row.maybe_text(1).map(Into::into),
        task: row.maybe_text(2).map(id).transpose()?,
        asker: row.text(3).into(),
        opened_at: Timestamp::from_micros(row.int(4)),
        snoozed_until: row.maybe_int(5).map(Timestamp::from_micros),
        flow: None,
    })
}
