//! Figures for those who watch a space from afar. Each is counted up to a limit.

use crate::Result;
use crate::read::{Query, Read, listed_gate, rows_max};
use crate::tx::args;
use sayso_core::gate::Gate;
use sayso_core::{GateId, SpaceId, Timestamp};

/// What waits, of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingGates {
    /// Which kind.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// Since when the oldest waits.
    pub oldest: Timestamp,
}

/// What is to be told on one channel and is not settled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingNotices {
    /// Which channel.
    pub channel: String,
    /// How many notices.
    pub pending: u64,
    /// How many of them were tried in vain.
    pub failing: u64,
}

impl Read<'_> {
    /// What waits in a space, by kind.
    pub fn waiting_gates(&mut self, space: SpaceId, most: usize) -> Result<Vec<WaitingGates>> {
        let sql = "SELECT kind, count(*), min(opened_at) FROM (SELECT kind, opened_at FROM gates \
                   WHERE space = ?1 AND state = 'open' LIMIT ?2) AS waiting GROUP BY kind";
        let rows = self.conn.query(sql, args![&space.to_string(), rows_max(most)])?;
        let waiting = rows.iter().map(|row| WaitingGates {
            kind: row.text(0).to_owned(),
            count: row.int(1) as u64,
            oldest: Timestamp::from_micros(row.int(2)),
        });
        Ok(waiting.collect())
    }

    /// What people of a space are still to be told, by channel.
    pub fn waiting_notices(&mut self, space: SpaceId, most: usize) -> Result<Vec<WaitingNotices>> {
        let sql = "SELECT channel, count(*), count(error) FROM (SELECT channel, error FROM outbox \
                   WHERE settled_at IS NULL AND space = ?1 AND channel NOT LIKE '%@%' LIMIT ?2) \
                   AS waiting GROUP BY channel";
        let rows = self.conn.query(sql, args![&space.to_string(), rows_max(most)])?;
        let waiting = rows.iter().map(|row| WaitingNotices {
            channel: row.text(0).to_owned(),
            pending: row.int(1) as u64,
            failing: row.int(2) as u64,
        });
        Ok(waiting.collect())
    }

    /// Gates that ended, in the order in which they did, behind a given one.
    pub fn gates_ended_after(
        &mut self,
        space: SpaceId,
        after: Option<(Timestamp, GateId)>,
        limit: usize,
    ) -> Result<Vec<Gate>> {
        let space = space.to_string();
        let after = after.map(|(at, id)| (at.as_micros(), id.to_string()));
        let sql = "SELECT body, state FROM gates WHERE space = ?1 AND state <> 'open'";
        let mut query = Query::new(sql, args![&space]);
        if let Some((at, id)) = &after {
            query.beyond("(ended_at, id) > (?, ?)", [(*at).into(), id.into()]);
        }
        let rows = query.run(self.conn, " ORDER BY ended_at, id", limit)?;
        rows.iter().take(limit).map(listed_gate).collect()
    }
}
