//! The rows of the views, column by column: their content is defined once, for writing a row and for checking that it
//! still matches the events.

use crate::Result;
use crate::read::{ReadTransaction, rows_max};
use crate::tx::{SqlArg, SqlCell, SqlRow, args};
use crate::write::text;
use sayso_core::flow::Flow;
use sayso_core::gate::Gate;
use sayso_core::run::{self, Run};
use sayso_core::task::Task;
use sayso_core::{Digest, SpaceId, Timestamp};
use serde::de::DeserializeOwned;

/// A table of views that are derived from events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViewTable {
    Flows,
    Gates,
    Runs,
    Tasks,
}

impl ViewTable {
    /// All of them, in the order of their streams.
    pub const ALL: [ViewTable; 4] =
        [ViewTable::Flows, ViewTable::Gates, ViewTable::Runs, ViewTable::Tasks];

    /// Returns the prefix of the streams of this table.
    pub const fn stream(self) -> &'static str {
        match self {
            ViewTable::Flows => "flow",
            ViewTable::Gates => "gate",
            ViewTable::Runs => "run",
            ViewTable::Tasks => "task",
        }
    }

    /// Returns the table name and the columns, with the body last.
    const fn columns(self) -> (&'static str, &'static str) {
        match self {
            ViewTable::Flows => (
                "flows",
                "id, space, handle, workflow, standing, is_over, gate, held_until, started_at, task, \
                 version, body",
            ),
            ViewTable::Gates => (
                "gates",
                "id, space, handle, kind, state, task, asker, opened_at, snoozed_until, ended_at, due_at, \
                 same, version, body",
            ),
            ViewTable::Runs => ("runs", "id, space, task, state, lease_until, version, body"),
            ViewTable::Tasks => (
                "tasks",
                "id, space, handle, status, sort, priority, parent, is_over, waiting, workable_at, \
                 created_at, updated_at, version, body",
            ),
        }
    }
}

/// The cells of a view row, stored or expected.
#[derive(Debug, Clone)]
pub struct ViewCells(Vec<SqlCell>);

impl ViewCells {
    /// Builds the row of a gate.
    pub fn of_gate(gate: &Gate, version: u64) -> Result<Self> {
        let opened = &gate.opened;
        let same = gate.is_open().then(|| gate.dedup_key()).flatten();
        Ok(Self(vec![
            written(&opened.id),
            written(&opened.space),
            written(&opened.handle),
            written(&opened.kind.as_str()),
            written(&gate.state()),
            opened.task.as_ref().map_or(SqlCell::Null, written),
            written(&opened.lineage.asker),
            moment(gate.opened_at),
            maybe(gate.snoozed_until),
            maybe(gate.ended_at()),
            maybe(gate.next_due().map(|(at, _)| at)),
            same.as_ref().map_or(SqlCell::Null, |same| written(&Digest::as_str(same))),
            number(version),
            SqlCell::Text(text(gate)?),
        ]))
    }

    /// Builds the row of a task.
    pub fn of_task(task: &Task, version: u64) -> Result<Self> {
        Ok(Self(vec![
            written(&task.id),
            written(&task.space),
            written(&task.handle),
            written(&task.status.as_str()),
            written(&task.sort),
            SqlCell::Int(task.priority.into()),
            task.parent.as_ref().map_or(SqlCell::Null, written),
            SqlCell::Int(task.status.is_over().into()),
            SqlCell::Int(task.waits_for.len() as i64),
            maybe(task.workable_from()),
            moment(task.created_at),
            moment(task.updated_at),
            number(version),
            SqlCell::Text(text(task)?),
        ]))
    }

    /// Builds the row of a run.
    pub fn of_run(run: &Run, version: u64) -> Result<Self> {
        let state = match run.state {
            run::RunState::Running => "running",
            run::RunState::Ended { .. } => "ended",
        };
        Ok(Self(vec![
            written(&run.started.id),
            written(&run.started.space),
            written(&run.started.task),
            written(&state),
            moment(run.lease_until),
            number(version),
            SqlCell::Text(text(run)?),
        ]))
    }

    /// Builds the row of a flow.
    pub fn of_flow(flow: &Flow, version: u64) -> Result<Self> {
        let started = &flow.started;
        let gate = flow.waits_for().next().map(|(_, gate)| gate);
        Ok(Self(vec![
            written(&started.id),
            written(&started.space),
            written(&started.handle),
            written(&started.workflow),
            written(&flow.basic_status()),
            SqlCell::Int((!flow.is_live()).into()),
            gate.as_ref().map_or(SqlCell::Null, written),
            maybe(flow.hold.as_ref().map(|hold| hold.until)),
            moment(flow.started_at),
            started.task.as_ref().map_or(SqlCell::Null, written),
            number(version),
            SqlCell::Text(text(flow)?),
        ]))
    }

    /// Returns the ID in the first column.
    pub fn id(&self) -> &str {
        self.text(0)
    }

    /// True if this row, as it was read, matches the expected one. The body may be that of an older version that
    /// parses to the same `T`, and an older version may have left out the dedup key of a gate.
    pub fn is<T: DeserializeOwned + PartialEq>(&self, view: ViewTable, expected: &Self) -> bool {
        let last = self.0.len().saturating_sub(1);
        let is_same = |at: usize, mine: &SqlCell, theirs: &SqlCell| {
            let is_left_out = view == ViewTable::Gates && at == SAME && *mine == SqlCell::Null;
            at == last || is_left_out || mine == theirs
        };
        let columns = self.0.iter().zip(&expected.0).enumerate();
        let are_same = columns.clone().all(|(at, (mine, theirs))| is_same(at, mine, theirs));
        let [mine, theirs] = [self, expected].map(|row| row.text(last));
        let read = |text: &str| serde_json::from_str::<T>(text).ok();
        let is_text = || mine == theirs || read(mine).is_some_and(|it| read(theirs) == Some(it));
        self.0.len() == expected.0.len() && are_same && is_text()
    }

    pub(crate) fn args(&self) -> Vec<SqlArg<'_>> {
        let arg = |cell| match cell {
            &SqlCell::Null => SqlArg::Null,
            &SqlCell::Int(value) => SqlArg::Int(value),
            SqlCell::Text(text) => SqlArg::Text(text),
        };
        self.0.iter().map(arg).collect()
    }

    fn text(&self, at: usize) -> &str {
        match self.0.get(at) {
            Some(SqlCell::Text(text)) => text,
            Some(SqlCell::Null | SqlCell::Int(_)) | None => "",
        }
    }
}

/// The column of a gate's dedup key.
const SAME: usize = 11;

fn written(value: &impl ToString) -> SqlCell {
    SqlCell::Text(value.to_string())
}

fn moment(at: Timestamp) -> SqlCell {
    SqlCell::Int(at.as_micros())
}

fn maybe(at: Option<Timestamp>) -> SqlCell {
    at.map_or(SqlCell::Null, moment)
}

fn number(value: u64) -> SqlCell {
    SqlCell::Int(value as i64)
}

impl ReadTransaction<'_> {
    /// Returns the rows of a view of a space after an ID, in ID order.
    pub fn view_rows(
        &mut self,
        view: ViewTable,
        space: SpaceId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<ViewCells>> {
        let (table, columns) = view.columns();
        let sql = format!(
            "SELECT {columns} FROM {table} WHERE space = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
        );
        let rows = self.conn.query(&sql, args![&space.to_string(), after, rows_max(limit)])?;
        Ok(rows.into_iter().map(|SqlRow(cells)| ViewCells(cells)).collect())
    }

    /// Returns a task whose counts of blockers or open children do not match the other tasks.
    pub fn miscounted_task(&mut self, space: SpaceId) -> Result<Option<String>> {
        let sql = "SELECT t.id FROM tasks t WHERE t.space = ?1 AND ( \
                     t.blockers <> (SELECT count(*) FROM dependencies d JOIN tasks b ON b.id = d.on_task \
                                    WHERE d.task = t.id AND b.is_over = 0) OR \
                     t.open_children <> (SELECT count(*) FROM tasks c \
                                         WHERE c.parent = t.id AND c.is_over = 0)) LIMIT 1";
        Ok(self.one(sql, args![&space.to_string()])?.map(|row| row.text(0).to_owned()))
    }

    /// Returns the labels and dependencies of all tasks of a space: the task's ID, and the label or the other ID.
    pub fn task_links(&mut self, space: SpaceId) -> Result<Vec<(String, String)>> {
        let sql = "SELECT l.task, l.label FROM labels l JOIN tasks t ON t.id = l.task WHERE t.space = ?1 \
                   UNION ALL SELECT d.task, d.on_task FROM dependencies d JOIN tasks t ON t.id = d.task \
                   WHERE t.space = ?1";
        let rows = self.conn.query(sql, args![&space.to_string()])?;
        Ok(rows.iter().map(|row| (row.text(0).to_owned(), row.text(1).to_owned())).collect())
    }

    /// Returns the state of every delivery of a space: the gate, its asker and the state.
    pub fn delivery_rows(&mut self, space: SpaceId) -> Result<Vec<(String, String, String)>> {
        let sql = "SELECT gate, asker, state FROM deliveries WHERE space = ?1";
        let rows = self.conn.query(sql, args![&space.to_string()])?;
        let three =
            |row: &SqlRow| (row.text(0).to_owned(), row.text(1).to_owned(), row.text(2).to_owned());
        Ok(rows.iter().map(three).collect())
    }
}
