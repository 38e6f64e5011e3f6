//! Query plans of the statements of a transaction (`EXPLAIN`), for tests that assert that no statement scans a table.

use crate::Result;
use crate::tx::{Arg, Conn, Dialect, Intent, Row, Tx};

/// A statement and its query plan, one line for each step.
pub(crate) type Plan = (String, String);

/// A connection that records the query plan of every statement before it runs it.
pub(crate) struct Explaining<'a> {
    pub(crate) conn: &'a mut dyn Conn,
    pub(crate) plans: Vec<Plan>,
}

impl Explaining<'_> {
    fn explain(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<()> {
        let (word, column) = match self.dialect() {
            Dialect::Sqlite => ("EXPLAIN QUERY PLAN", 3),
            Dialect::Postgres => ("EXPLAIN", 0),
        };
        let rows = self.conn.query(&format!("{word} {sql}"), args)?;
        let steps: Vec<_> = rows.iter().map(|row| row.text(column)).collect();
        self.plans.push((sql.into(), steps.join("\n")));
        Ok(())
    }
}

impl Tx for Explaining<'_> {
    fn dialect(&self) -> Dialect {
        self.conn.dialect()
    }

    fn exec(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64> {
        self.explain(sql, args)?;
        self.conn.exec(sql, args)
    }

    fn query(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>> {
        self.explain(sql, args)?;
        self.conn.query(sql, args)
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        self.conn.batch(sql)
    }
}

impl Conn for Explaining<'_> {
    fn begin(&mut self, intent: Intent) -> Result<()> {
        self.conn.begin(intent)
    }

    fn commit(&mut self) -> Result<()> {
        self.conn.commit()
    }

    fn rollback(&mut self) {
        self.conn.rollback();
    }

    fn check_schema(&mut self) -> Result<()> {
        self.conn.check_schema()
    }

    fn commit_before(&mut self, database_micros: i64) {
        self.conn.commit_before(database_micros);
    }

    fn is_alive(&self) -> bool {
        self.conn.is_alive()
    }
}
