//! Readiness: a server says that it is ready when its store takes writes, and not while it does not.

use super::disk::Disk;
use super::furnish;
use crate::api::Server;
use crate::harness::{Backend, Space, on_both};
use std::time::{Duration, Instant};

/// How long a server may take to notice, either way.
const NOTICED_WITHIN: Duration = Duration::from_secs(30);

/// The longest one look may take.
const LOOK_MAX: Duration = Duration::from_secs(8);

/// Whether the server says that it is ready, and the code it gives if not.
#[track_caller]
fn look(server: &Server) -> Result<(), String> {
    let began = Instant::now();
    let reply = server.raw(&server.request("GET", "/health/ready", None, None));
    assert!(began.elapsed() < LOOK_MAX, "{:?}", began.elapsed());
    match reply.status {
        200 => Ok(()),
        _ => {
            let problem = reply.json();
            // Whoever asks has shown nothing of themselves, and learns no path.
            assert!(!reply.body.contains('/') || !reply.body.contains("sayso.db"), "{problem}");
            Err(problem["code"].as_str().unwrap().to_owned())
        }
    }
}

/// Waits until it says so.
#[track_caller]
pub(super) fn until(server: &Server, expected: Result<(), &str>) {
    let began = Instant::now();
    loop {
        let found = look(server);
        if found.as_ref().map_err(String::as_str).copied() == expected {
            return;
        }
        assert!(began.elapsed() < NOTICED_WITHIN, "{found:?}, and not {expected:?}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

on_both! {
    /// It is ready, and to look again and again changes nothing.
    fn it_is_ready(space: &Space) {
        let server = Server::of(space);
        let before = crate::reliability::entries(space);
        for _ in 0..5 {
            assert_eq!(look(&server), Ok(()));
        }
        assert_eq!(crate::reliability::entries(space), before);
        space.verify();
    }
}

#[test]
fn a_full_disk_is_not_ready() {
    let space = Space::empty();
    let Some(_disk) = Disk::mount(&space.path().join(".sayso"), 8_192) else { return };
    furnish(&space);
    let server = Server::of(&space);
    until(&server, Ok(()));
    let ballast = space.path().join(".sayso/ballast");
    // It fails when the disk is full, and that is what it is for.
    let _ = std::fs::write(&ballast, vec![0; 8_192 * 1_024]);
    until(&server, Err("SAY024"));
    std::fs::remove_file(&ballast).unwrap();
    until(&server, Ok(()));
    space.verify();
}

#[test]
fn a_read_only_store_is_not_ready() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    until(&server, Ok(()));
    let Some(view) = Disk::read_only_view(&space.path().join(".sayso")) else { return };
    until(&server, Err("SAY025"));
    drop(view);
    until(&server, Ok(()));
    space.verify();
}

#[test]
fn a_locked_postgresql_is_not_ready() {
    let space = Space::new(Backend::Postgres);
    let server = Server::of(&space);
    until(&server, Ok(()));
    let url = space.store.as_ref().unwrap();
    let mut holder = postgres::Client::connect(url, postgres::NoTls).unwrap();
    let mut held = holder.transaction().unwrap();
    held.query("SELECT id FROM sayso.spaces FOR UPDATE", &[]).unwrap();
    until(&server, Err("SAY026"));
    drop(held);
    until(&server, Ok(()));
    space.verify();
}

#[test]
fn a_locked_store_is_not_ready() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    until(&server, Ok(()));
    let mut holder = rusqlite::Connection::open(space.file()).unwrap();
    let held = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    until(&server, Err("SAY026"));
    drop(held);
    until(&server, Ok(()));
    space.verify();
}
