//! The schema: migrations that are only ever added, with the same numbers on both databases.

use crate::tx::{DatabaseConnection, SqlDialect, TransactionKind};
use crate::{Error, Result};

/// The newest schema version of this program.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

struct SchemaMigration {
    common: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

/// Lists the migrations in order, and their files.
macro_rules! migrations {
    ($($name:literal,)*) => {
        /// The files whose checksums are recorded: a released migration is never changed.
        pub const CHECKSUMMED: &[&str] = &[$(
            concat!($name, ".sql"),
            concat!($name, ".sqlite.sql"),
            concat!($name, ".postgres.sql"),
        )*];

        const MIGRATIONS: &[SchemaMigration] = &[$(
            SchemaMigration {
                common: include_str!(concat!("../migrations/", $name, ".sql")),
                sqlite: include_str!(concat!("../migrations/", $name, ".sqlite.sql")),
                postgres: include_str!(concat!("../migrations/", $name, ".postgres.sql")),
            },
        )*];
    };
}

migrations! {
    "0001_spine",
    "0002_time_and_policy",
    "0003_the_same_question",
    "0004_people",
    "0005_replies",
    "0006_passkeys",
    "0007_flows",
    "0008_led_tasks",
    "0009_leave_for_one",
    "0010_one_flow",
}

/// A database that stores its schema version.
pub(crate) trait SchemaVersioned: DatabaseConnection {
    fn version(&mut self) -> Result<i64>;
    fn set_version(&mut self, version: i64) -> Result<()>;
    fn place(&self) -> String;

    /// Prepares the database before the first migration.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Migrates a database, all or nothing. One with a newer schema is left alone.
pub(crate) fn migrate(database: &mut impl SchemaVersioned) -> Result<()> {
    if check(database)? == VERSION {
        return Ok(());
    }
    database.begin(TransactionKind::Write)?;
    match run(database) {
        Ok(()) => database.commit(),
        Err(error) => {
            database.rollback();
            Err(error)
        }
    }
}

fn run(database: &mut impl SchemaVersioned) -> Result<()> {
    database.prepare()?;
    // Read again under the lock: another process may have migrated it meanwhile.
    let found = usize::try_from(check(database)?).unwrap_or_default();
    for migration in &MIGRATIONS[found..] {
        let own = match database.dialect() {
            SqlDialect::Sqlite => migration.sqlite,
            SqlDialect::Postgres => migration.postgres,
        };
        let sql = in_dialect(migration.common, database.dialect());
        database.batch(&sql)?;
        database.batch(own)?;
    }
    database.set_version(VERSION)
}

/// Refuses a schema of a later version. A write checks it in its own transaction, since another process may have
/// migrated the database while this one runs.
pub(crate) fn check(database: &mut impl SchemaVersioned) -> Result<i64> {
    let found = database.version()?;
    if found > VERSION {
        return Err(Error::NewerSchema { place: database.place(), found, known: VERSION });
    }
    Ok(found)
}

fn in_dialect(sql: &str, dialect: SqlDialect) -> String {
    let types = match dialect {
        SqlDialect::Sqlite => [
            ("{int}", "INTEGER"),
            ("{text}", "TEXT"),
            ("{table}", "STRICT"),
            ("{keyed_table}", "STRICT, WITHOUT ROWID"),
        ],
        // Compared bytewise, as SQLite does: handles are looked up by prefix.
        SqlDialect::Postgres => [
            ("{int}", "BIGINT"),
            ("{text}", "TEXT COLLATE \"C\""),
            ("{table}", ""),
            ("{keyed_table}", ""),
        ],
    };
    types.iter().fold(sql.to_owned(), |sql, (name, is)| sql.replace(name, is))
}
