//! Queries and writes of flows, as lists show them.

use crate::query::SelectBuilder;
use crate::read::json;
use crate::tx::{SqlDialect, args};
use crate::{
    FlowFilter, ListPage, ReadTransaction, ReadyFilter, Result, ViewCells, WriteTransaction,
};
use sayso_core::flow::Flow;
use sayso_core::{FlowId, SpaceId};

impl ReadTransaction<'_> {
    /// Returns the view of a flow, with its version.
    pub fn flow_view(&mut self, id: FlowId) -> Result<Option<(Flow, u64)>> {
        let sql = "SELECT body, version FROM flows WHERE id = ?1";
        let row = self.one(sql, args![&id.to_string()])?;
        row.map(|row| Ok((json(row.text(0))?, row.int(1) as u64))).transpose()
    }

    /// Returns one page of flows, newest first.
    pub fn flows(&mut self, space: SpaceId, filter: &FlowFilter) -> Result<ListPage<Flow>> {
        let space = space.to_string();
        let after = filter.after.map(|flow| flow.to_string());
        let mut query =
            SelectBuilder::new("SELECT body FROM flows WHERE space = ?1", args![&space]);
        if let Some(workflow) = &filter.workflow {
            query.and("workflow = ?", workflow.into());
        }
        match (filter.over, filter.all) {
            (true, _) => query.plain("is_over = 1"),
            (false, true) => {}
            (false, false) => query.plain("is_over = 0"),
        }
        if let Some(after) = &after {
            let last = "(SELECT started_at FROM flows WHERE id = ?)";
            query.and(&format!("(started_at, id) < ({last}, ?)"), after.into());
        }
        let rows = query.run(self.conn, " ORDER BY started_at DESC, id DESC", filter.limit)?;
        let flows = rows.iter().map(|row| json(row.text(0))).collect::<Result<_>>()?;
        Ok(ListPage::of(flows, filter.limit))
    }

    /// Returns one page of flows that are ready to advance, oldest first: their gate has ended. Stuck flows are left
    /// out, so that they do not block the page for others.
    pub fn ready_flows(&mut self, space: SpaceId, filter: &ReadyFilter) -> Result<ListPage<Flow>> {
        let space = space.to_string();
        let after = filter.after.map(|flow| flow.to_string());
        let sql = "SELECT f.body FROM flows f LEFT JOIN gates g ON g.id = f.gate \
                   WHERE f.space = ?1 AND f.is_over = 0 AND (f.gate IS NULL OR g.state <> 'open')";
        let mut query = SelectBuilder::new(sql, args![&space]);
        let why_stuck = match self.conn.dialect() {
            SqlDialect::Sqlite => "json_extract(f.body, '$.stuck.why')",
            SqlDialect::Postgres => "f.body::json #>> '{stuck,why}'",
        };
        // A gate that has ended since is a reason to advance, even if the flow was stuck before.
        query.plain(&if filter.stuck {
            format!("f.gate IS NULL AND {why_stuck} IS NOT NULL")
        } else {
            format!("(f.gate IS NOT NULL OR {why_stuck} IS NULL)")
        });
        if let Some(workflow) = &filter.workflow {
            query.and("f.workflow = ?", workflow.into());
        }
        if let Some(after) = &after {
            let last = "(SELECT started_at FROM flows WHERE id = ?)";
            query.and(&format!("(f.started_at, f.id) > ({last}, ?)"), after.into());
        }
        let rows = query.run(self.conn, " ORDER BY f.started_at, f.id", filter.limit)?;
        let flows = rows.iter().map(|row| json(row.text(0))).collect::<Result<_>>()?;
        Ok(ListPage::of(flows, filter.limit))
    }

    /// Returns the flows whose handle begins with `name`, with their handles; at most eight.
    pub fn find_flows(&mut self, space: SpaceId, name: &str) -> Result<Vec<(FlowId, String)>> {
        let (space, end) = (space.to_string(), format!("{name}~"));
        let sql = "SELECT id, handle FROM flows WHERE space = ?1 AND handle >= ?2 AND handle < ?3 \
                   ORDER BY handle LIMIT 8";
        let rows = self.conn.query(sql, args![&space, name, &end])?;
        let found =
            |row: &crate::tx::SqlRow| Ok((crate::read::id(row.text(0))?, row.text(1).to_owned()));
        rows.iter().map(found).collect()
    }
}

impl WriteTransaction<'_> {
    /// Writes the view of a flow.
    pub fn put_flow(&mut self, flow: &Flow, version: u64) -> Result<()> {
        let sql = "INSERT INTO flows (id, space, handle, workflow, standing, is_over, gate, held_until, \
                     started_at, task, version, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
                   ON CONFLICT (id) DO UPDATE SET standing = excluded.standing, \
                     is_over = excluded.is_over, gate = excluded.gate, \
                     held_until = excluded.held_until, version = excluded.version, \
                     body = excluded.body";
        let about = format!("flow/{}", flow.started.id);
        let row = ViewCells::of_flow(flow, version)?;
        self.exec_about(&[&about, &flow.started.handle], sql, &row.args())
    }
}
