//! Statistics for monitoring a space: open gates by kind and pending notices by channel. Each is counted up to a
//! limit.

use crate::Result;
use crate::query::SelectBuilder;
use crate::read::{ReadTransaction, listed_gate, rows_max};
use crate::tx::args;
use sayso_core::gate::Gate;
use sayso_core::{GateId, SpaceId, Timestamp};
use std::collections::BTreeMap;

/// The open gates of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingGates {
    pub kind: String,
    pub count: u64,
    /// The time at which the oldest of them was opened.
    pub oldest: Timestamp,
}

/// The unsettled notices of one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingNotices {
    pub channel: String,
    /// The number of unsettled notices.
    pub pending: u64,
    /// The number of them whose last attempt failed.
    pub failing: u64,
}

impl ReadTransaction<'_> {
    /// Counts the open gates of a space by kind. They are grouped here, because the database would sort its result to
    /// group it.
    pub fn waiting_gates(&mut self, space: SpaceId, most: usize) -> Result<Vec<WaitingGates>> {
        let sql = "SELECT kind, opened_at FROM gates WHERE space = ?1 AND state = 'open' LIMIT ?2";
        let rows = self.conn.query(sql, args![&space.to_string(), rows_max(most)])?;
        let mut by_kind: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
        for row in &rows {
            let (count, oldest) = by_kind.entry(row.text(0)).or_insert((0, i64::MAX));
            *count += 1;
            *oldest = row.int(1).min(*oldest);
        }
        let waiting = by_kind.into_iter().map(|(kind, (count, oldest))| WaitingGates {
            kind: kind.to_owned(),
            count,
            oldest: Timestamp::from_micros(oldest),
        });
        Ok(waiting.collect())
    }

    /// Counts the unsettled notices for people of a space by channel.
    pub fn waiting_notices(&mut self, space: SpaceId, most: usize) -> Result<Vec<WaitingNotices>> {
        let sql = "SELECT channel, error FROM outbox WHERE settled_at IS NULL AND space = ?1 \
                   AND channel NOT LIKE '%@%' ORDER BY due_at, id LIMIT ?2";
        let rows = self.conn.query(sql, args![&space.to_string(), rows_max(most)])?;
        let mut by_channel: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for row in &rows {
            let (pending, failing) = by_channel.entry(row.text(0)).or_default();
            *pending += 1;
            *failing += u64::from(row.maybe_text(1).is_some());
        }
        let waiting = by_channel.into_iter().map(|(channel, (pending, failing))| WaitingNotices {
            channel: channel.to_owned(),
            pending,
            failing,
        });
        Ok(waiting.collect())
    }

    /// Returns gates that ended after a given one, in the order of their endings.
    pub fn gates_ended_after(
        &mut self,
        space: SpaceId,
        after: Option<(Timestamp, GateId)>,
        limit: usize,
    ) -> Result<Vec<Gate>> {
        let space = space.to_string();
        let after = after.map(|(at, id)| (at.as_micros(), id.to_string()));
        let sql = "SELECT body, state FROM gates WHERE space = ?1 AND state <> 'open'";
        let mut query = SelectBuilder::new(sql, args![&space]);
        if let Some((at, id)) = &after {
            query.beyond("(ended_at, id) > (?, ?)", [(*at).into(), id.into()]);
        }
        let rows = query.run(self.conn, " ORDER BY ended_at, id", limit)?;
        rows.iter().take(limit).map(listed_gate).collect()
    }
}
