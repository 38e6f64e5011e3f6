//! Dependents of tasks: the tasks that depend on them and the epics they are part of, at any depth, by a recursive
//! query.
//!
//! The query starts at the given tasks and walks outward, so its cost grows with the number of dependents and not
//! with the size of the store.

use crate::Result;
use crate::read::{ReadTransaction, id, rows_max};
use crate::tx::{SqlDialect, args};
use sayso_core::TaskId;
use sayso_core::gate::TaskDependents;
use std::collections::BTreeSet;

/// The most pairs of a task and a dependent that are read. With more of them people lack time, not order.
const PAIRS_MAX: usize = 20_000;

/// Joins the open tasks that depend on a task directly.
const BY_DEPENDENCY: &str = "dependencies d ON d.on_task = held.task \
                             JOIN tasks t ON t.id = d.task AND t.is_over = 0";
const BY_PART: &str = "tasks c ON c.id = held.task \
                       JOIN tasks t ON t.id = c.parent AND t.is_over = 0";

impl ReadTransaction<'_> {
    /// Returns the open tasks that wait for each of these tasks, at any depth.
    pub fn dependents(&mut self, tasks: &[TaskId]) -> Result<TaskDependents> {
        // Most tasks hold up no other: so one query looks for direct dependents of all of them, and only if there are
        // some, a second one walks on to the end.
        let mut pairs = self.pairs(tasks, false)?;
        let near: BTreeSet<_> = pairs.iter().map(|(_, waits)| *waits).collect();
        if !near.is_empty() {
            pairs.extend(self.pairs(&Vec::from_iter(near), true)?);
        }
        Ok(pairs.into_iter().collect())
    }

    /// Reads the pairs of one of these tasks and a task that waits for it; with `all_the_way` also those of the
    /// dependents, at any depth.
    fn pairs(&mut self, tasks: &[TaskId], all_the_way: bool) -> Result<Vec<(TaskId, TaskId)>> {
        if tasks.is_empty() {
            return Ok(vec![]);
        }
        let names: Vec<_> = tasks.iter().map(|task| format!("\"{task}\"")).collect();
        let names = format!("[{}]", names.join(","));
        let sql = match self.conn.dialect() {
            SqlDialect::Sqlite => sqlite(all_the_way),
            SqlDialect::Postgres => postgres(all_the_way),
        };
        let rows = self.conn.query(&sql, args![&names, rows_max(PAIRS_MAX)])?;
        rows.iter().map(|row| Ok((id(row.text(0))?, id(row.text(1))?))).collect()
    }
}

fn sqlite(all_the_way: bool) -> String {
    // SQLite keeps the join order of a CROSS JOIN, so `held` is scanned first.
    let further = if all_the_way {
        format!(
            "UNION SELECT t.id FROM held CROSS JOIN {BY_DEPENDENCY} \
             UNION SELECT t.id FROM held CROSS JOIN {BY_PART} LIMIT ?2"
        )
    } else {
        String::new()
    };
    format!(
        "WITH RECURSIVE held(task) AS (SELECT value FROM json_each(?1) {further}) \
         SELECT held.task, t.id FROM held CROSS JOIN {BY_DEPENDENCY} \
         UNION ALL SELECT held.task, t.id FROM held CROSS JOIN {BY_PART} LIMIT ?2"
    )
}

fn postgres(all_the_way: bool) -> String {
    // With LATERAL each task is looked up by its index.
    let near = format!(
        "CROSS JOIN LATERAL (SELECT t.id FROM {} UNION ALL SELECT t.id FROM {}) AS near",
        BY_DEPENDENCY.replacen(" ON d.on_task = held.task", "", 1).replacen(
            "AND t.is_over = 0",
            "AND t.is_over = 0 WHERE d.on_task = held.task",
            1
        ),
        BY_PART.replacen(" ON c.id = held.task", "", 1).replacen(
            "AND t.is_over = 0",
            "AND t.is_over = 0 WHERE c.id = held.task",
            1
        ),
    );
    // IDs are compared bytewise, as in the tables.
    let named = "SELECT value COLLATE \"C\" \
                 FROM json_array_elements_text(CAST(CAST(?1 AS TEXT) AS json))";
    let further =
        if all_the_way { format!("UNION SELECT near.id FROM held {near}") } else { String::new() };
    format!(
        "WITH RECURSIVE held(task) AS ({named} {further}) \
         SELECT held.task, near.id FROM (SELECT task FROM held LIMIT ?2) AS held {near} LIMIT ?2"
    )
}
