//! A query builder: conditions are added one by one, and placeholders are numbered in that order.

use crate::Result;
use crate::read::rows_max;
use crate::tx::{DatabaseConnection, SqlArg, SqlRow};

/// A SELECT statement under construction.
pub(crate) struct SelectBuilder<'a> {
    sql: String,
    args: Vec<SqlArg<'a>>,
}

impl<'a> SelectBuilder<'a> {
    pub(crate) fn new(sql: &str, args: &[SqlArg<'a>]) -> Self {
        Self { sql: sql.into(), args: args.to_vec() }
    }

    pub(crate) fn plain(&mut self, condition: &str) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
    }

    /// Adds a condition in which every `?` stands for the same value.
    pub(crate) fn and(&mut self, condition: &str, arg: SqlArg<'a>) {
        self.args.push(arg);
        let number = format!("?{}", self.args.len());
        self.plain(&condition.replace('?', &number));
    }

    /// Adds a condition with two values, in order.
    pub(crate) fn beyond(&mut self, condition: &str, values: [SqlArg<'a>; 2]) {
        let mut condition = condition.to_owned();
        for value in values {
            self.args.push(value);
            condition = condition.replacen("?", &format!("${}", self.args.len()), 1);
        }
        self.plain(&condition.replace('$', "?"));
    }

    /// Wraps the query so far as a subquery.
    pub(crate) fn within(&mut self, before: &str, behind: &str) {
        self.sql = format!("{before}{}{behind}", self.sql);
    }

    /// Closes a bracket that a condition left open.
    pub(crate) fn close(&mut self) {
        self.sql.push(')');
    }

    /// Adds `column IN (…)`; an empty list adds nothing.
    pub(crate) fn any(&mut self, column: &str, values: &[&'a str]) {
        if values.is_empty() {
            return;
        }
        let first = self.args.len() + 1;
        self.args.extend(values.iter().map(|v| SqlArg::Text(v)));
        let marks: Vec<_> = (first..=self.args.len()).map(|n| format!("?{n}")).collect();
        self.plain(&format!("{column} IN ({})", marks.join(", ")));
    }

    /// Runs the query with one row more than `limit`, which shows if more follow.
    pub(crate) fn run(
        self,
        conn: &mut dyn DatabaseConnection,
        order: &str,
        limit: usize,
    ) -> Result<Vec<SqlRow>> {
        self.run_behind(conn, order, 0, limit)
    }

    /// Runs the query after the first `skip` rows.
    pub(crate) fn run_behind(
        mut self,
        conn: &mut dyn DatabaseConnection,
        order: &str,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<SqlRow>> {
        self.args.push(SqlArg::Int(rows_max(limit).saturating_add(1)));
        let mut sql = format!("{}{order} LIMIT ?{}", self.sql, self.args.len());
        if skip > 0 {
            self.args.push(SqlArg::Int(rows_max(skip)));
            sql.push_str(&format!(" OFFSET ?{}", self.args.len()));
        }
        conn.query(&sql, &self.args)
    }
}
