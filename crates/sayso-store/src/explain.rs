//! Query plans of the statements of a transaction (`EXPLAIN`), for tests that assert that no statement scans a table.

use crate::Result;
use crate::tx::{DatabaseConnection, SqlArg, SqlDialect, SqlRow, SqlTransaction, TransactionKind};

/// A statement and its query plan, one line for each step.
pub(crate) type QueryPlan = (String, String);

/// A connection that records the query plan of every statement before it runs it.
pub(crate) struct ExplainingConnection<'a> {
    pub(crate) conn: &'a mut dyn DatabaseConnection,
    pub(crate) plans: Vec<QueryPlan>,
}

impl ExplainingConnection<'_> {
    fn explain(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<()> {
        let (word, column) = match self.dialect() {
            SqlDialect::Sqlite => ("EXPLAIN QUERY PLAN", 3),
            SqlDialect::Postgres => ("EXPLAIN", 0),
        };
        let rows = self.conn.query(&format!("{word} {sql}"), args)?;
        let steps: Vec<_> = rows.iter().map(|row| row.text(column)).collect();
        self.plans.push((sql.into(), steps.join("\n")));
        Ok(())
    }
}

impl SqlTransaction for ExplainingConnection<'_> {
    fn dialect(&self) -> SqlDialect {
        self.conn.dialect()
    }

    fn exec(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<u64> {
        self.explain(sql, args)?;
        self.conn.exec(sql, args)
    }

    fn query(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<Vec<SqlRow>> {
        self.explain(sql, args)?;
        self.conn.query(sql, args)
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        self.conn.batch(sql)
    }
}

impl DatabaseConnection for ExplainingConnection<'_> {
    fn begin(&mut self, intent: TransactionKind) -> Result<()> {
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
