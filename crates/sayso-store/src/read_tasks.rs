//! Queries of tasks: lists, ready tasks, descendants of an epic, and cycle checks.

use crate::Result;
use crate::page::{ListPage, TaskFilter, TaskRow};
use crate::query::SelectBuilder;
use crate::read::{ReadTransaction, id, json, rows_max};
use crate::tx::{SqlRow, args};
use sayso_core::task::{Task, TaskStatus};
use sayso_core::{SpaceId, TaskId};

const COLUMNS: &str = "SELECT body, blockers, open_children, version, \
                         (SELECT f.handle FROM flows f WHERE f.task = tasks.id AND f.is_over = 0 \
                            ORDER BY f.started_at DESC LIMIT 1) FROM tasks";

/// The condition of the index `tasks_ready`; a query must use the same words.
const IS_READY: &str = "workable_at IS NOT NULL AND blockers = 0 AND open_children = 0";

/// A live flow decides itself when its task is worked on.
const IS_FREE: &str =
    "NOT EXISTS (SELECT 1 FROM flows f WHERE f.task = tasks.id AND f.is_over = 0)";

impl ReadTransaction<'_> {
    /// Returns a task with its version.
    pub fn task(&mut self, id: TaskId) -> Result<Option<(TaskRow, u64)>> {
        let row = self.one(&format!("{COLUMNS} WHERE id = ?1"), args![&id.to_string()])?;
        row.map(|row| Ok((task_row(&row)?, row.int(3) as u64))).transpose()
    }

    /// Returns one page of tasks, by priority and then by age.
    pub fn tasks(&mut self, space: SpaceId, filter: &TaskFilter) -> Result<ListPage<TaskRow>> {
        let space = space.to_string();
        let under = filter.under.map(|t| t.to_string());
        let parent = filter.parent.map(|t| t.to_string());
        let after = filter.after.map(|t| t.to_string());
        let statuses: Vec<_> = filter.statuses.iter().map(|s| s.as_str()).collect();
        let mut query = SelectBuilder::new(&format!("{COLUMNS} WHERE space = ?1"), args![&space]);
        if let Some(under) = &under {
            query.and(UNDER, under.into());
        }
        if let Some(now) = filter.ready_at {
            query.plain(IS_READY);
            query.plain(IS_FREE);
            query.and("workable_at <= ?", now.as_micros().into());
        } else if filter.all {
            query.plain("status <> 'deleted'");
        } else if statuses.is_empty() {
            query.plain("is_over = 0");
        }
        query.any("status", &statuses);
        let kinds: Vec<_> = filter.awaiting.iter().flatten().map(|k| k.as_str()).collect();
        if filter.awaiting.is_some() {
            query.plain("waiting > 0");
        }
        if !kinds.is_empty() {
            query.plain("id IN (SELECT task FROM gates WHERE space = ?1 AND state = 'open'");
            query.any("kind", &kinds);
            query.close();
        }
        if filter.blocked {
            query.plain("blockers > 0 AND is_over = 0");
        }
        if let Some(label) = &filter.label {
            query.and("id IN (SELECT task FROM labels WHERE label = ?)", label.into());
        }
        if let Some(sort) = &filter.sort {
            query.and("sort = ?", sort.into());
        }
        if let Some(priority) = filter.priority {
            query.and("priority = ?", i64::from(priority).into());
        }
        if let Some(parent) = &parent {
            query.and("parent = ?", parent.into());
        }
        if let Some(after) = &after {
            query.and(
                "(priority, created_at, id) > (SELECT priority, created_at, id FROM tasks WHERE id = ?)",
                after.into(),
            );
        }
        let rows = query.run(self.conn, " ORDER BY priority, created_at, id", filter.limit)?;
        Ok(ListPage::of(rows.iter().map(task_row).collect::<Result<_>>()?, filter.limit))
    }

    /// Returns the open children of a task.
    pub fn open_children(&mut self, parent: TaskId) -> Result<Vec<TaskId>> {
        let sql = "SELECT id FROM tasks WHERE parent = ?1 AND is_over = 0 ORDER BY created_at";
        let rows = self.conn.query(sql, args![&parent.to_string()])?;
        rows.iter().map(|row| id(row.text(0))).collect()
    }

    /// Returns the tasks that depend on this one, at most `limit`.
    pub fn waiting_on(&mut self, task: TaskId, limit: usize) -> Result<Vec<TaskId>> {
        let sql = "SELECT task FROM dependencies WHERE on_task = ?1 ORDER BY task LIMIT ?2";
        let rows = self.conn.query(sql, args![&task.to_string(), rows_max(limit)])?;
        rows.iter().map(|row| id(row.text(0))).collect()
    }

    /// True if `task` would depend on itself if it depended on `on`.
    pub fn would_cycle(&mut self, task: TaskId, on: TaskId) -> Result<bool> {
        if task == on {
            return Ok(true);
        }
        let sql = "WITH RECURSIVE behind(id) AS ( \
                     SELECT on_task FROM dependencies WHERE task = ?1 \
                     UNION SELECT d.on_task FROM dependencies d JOIN behind ON d.task = behind.id) \
                   SELECT 1 FROM behind WHERE id = ?2 LIMIT 1";
        Ok(self.one(sql, args![&on.to_string(), &task.to_string()])?.is_some())
    }

    /// True if `task` is `parent` or one of its ancestors, so that making it a child of `parent` would close a cycle.
    pub fn is_above(&mut self, task: TaskId, parent: TaskId) -> Result<bool> {
        if task == parent {
            return Ok(true);
        }
        let sql = "WITH RECURSIVE above(id) AS ( \
                     SELECT parent FROM tasks WHERE id = ?1 \
                     UNION SELECT t.parent FROM tasks t JOIN above ON t.id = above.id) \
                   SELECT 1 FROM above WHERE id = ?2 LIMIT 1";
        Ok(self.one(sql, args![&parent.to_string(), &task.to_string()])?.is_some())
    }

    /// Returns the handles and states of some tasks, for lists of dependencies.
    pub fn task_names(
        &mut self,
        space: SpaceId,
        ids: &[TaskId],
    ) -> Result<Vec<(TaskId, String, TaskStatus)>> {
        let mut names = vec![];
        for id in ids {
            let found = self.task(*id)?.map(|(row, _)| row.task);
            if let Some(task) = found.filter(|task| task.space == space) {
                names.push((*id, task.handle, task.status));
            }
        }
        Ok(names)
    }
}

const UNDER: &str = "id IN (WITH RECURSIVE under(id) AS ( \
                       SELECT id FROM tasks WHERE parent = ? \
                       UNION SELECT t.id FROM tasks t JOIN under ON t.parent = under.id) \
                     SELECT id FROM under)";

fn task_row(row: &SqlRow) -> Result<TaskRow> {
    let task: Task = json(row.text(0))?;
    let (blockers, open_children) = (row.int(1) as u64, row.int(2) as u64);
    Ok(TaskRow { task, blockers, open_children, flow: row.maybe_text(4).map(str::to_owned) })
}
