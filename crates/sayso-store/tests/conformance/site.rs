//! Where a test's store is, and a second way in, past the store.

use sayso_store::{Store, StoreLocation};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// The variable `cargo xtask test` sets.
const SERVER: &str = "SAYSO_TEST_PG";

/// A place of a test's own, gone with it.
pub(crate) struct Site {
    place: StoreLocation,
    _guard: Guard,
}

enum Guard {
    Nothing,
    Folder(#[allow(dead_code, reason = "removed on drop")] TempDir),
    Database(String),
}

impl Site {
    pub(crate) fn memory() -> Self {
        Self { place: StoreLocation::Memory, _guard: Guard::Nothing }
    }

    pub(crate) fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        let place = StoreLocation::Sqlite(folder.path().join("sayso.db"));
        Self { place, _guard: Guard::Folder(folder) }
    }

    /// A fresh database on the tests' server.
    pub(crate) fn postgres() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("conf_{}_{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let server = server();
        let mut client = postgres::Client::connect(&server, postgres::NoTls).unwrap();
        // Nobody is ever connected to this template, so that many can copy it at once.
        client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0")).unwrap();
        let (base, _) = server.rsplit_once('/').unwrap();
        let place = StoreLocation::Postgres(format!("{base}/{name}"));
        Self { place, _guard: Guard::Database(name) }
    }

    pub(crate) fn place(&self) -> StoreLocation {
        self.place.clone()
    }

    /// Makes the store, or opens it once more. In memory that is another store each time.
    pub(crate) fn create(&self) -> Store {
        Store::create(self.place()).unwrap()
    }

    /// Whether several stores can share this place.
    pub(crate) fn is_shared(&self) -> bool {
        self.place != StoreLocation::Memory
    }

    /// Does something past the store, on a connection of its own.
    pub(crate) fn tamper(&self, sql: &str) -> Result<(), String> {
        match &self.place {
            StoreLocation::Memory => Err("there is no second way into memory".into()),
            StoreLocation::Sqlite(_) => {
                self.sqlite_file().execute_batch(sql).map_err(|e| e.to_string())
            }
            StoreLocation::Postgres(_) => {
                self.client().batch_execute(sql).map_err(|e| match e.as_db_error() {
                    Some(said) => said.message().to_owned(),
                    None => e.to_string(),
                })
            }
        }
    }

    pub(crate) fn sqlite_file(&self) -> rusqlite::Connection {
        let StoreLocation::Sqlite(path) = &self.place else { panic!("{} is no file", self.place) };
        rusqlite::Connection::open(path).unwrap()
    }

    pub(crate) fn client(&self) -> postgres::Client {
        let StoreLocation::Postgres(url) = &self.place else {
            panic!("{} is no server", self.place)
        };
        postgres::Client::connect(url, postgres::NoTls).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let Guard::Database(name) = &self._guard else { return };
        // A database that stays is the cluster's to throw away.
        if let Ok(mut client) = postgres::Client::connect(&server(), postgres::NoTls) {
            let _ = client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

fn server() -> String {
    std::env::var(SERVER).unwrap_or_else(|_| {
        panic!("{SERVER} names no PostgreSQL, so nothing was tested: run cargo xtask test")
    })
}
