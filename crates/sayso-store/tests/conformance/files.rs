//! What can be wrong with a file, and what each of it is called.

use crate::site::Site;
use crate::world::{World, at, entry, event};
use sayso_core::Code;
use sayso_store::{Error, Store, StoreLocation};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

fn at_path(path: &Path) -> StoreLocation {
    StoreLocation::Sqlite(path.into())
}

/// Opening and making both fail so, and neither leaves a trace.
fn check_refused(path: &Path, expected: impl Fn(&Error) -> bool) {
    let before = fs::read(path).ok();
    for opened in [Store::open(at_path(path)), Store::create(at_path(path))] {
        let error = opened.err().expect("it was opened");
        assert!(expected(&error), "{}: {error:?}", path.display());
    }
    assert_eq!(fs::read(path).ok(), before);
}

fn is_broken(error: &Error) -> bool {
    matches!(error, Error::Broken { .. }) && error.code() == Code::BrokenStore
}

#[test]
fn links_are_refused() {
    let folder = TempDir::new().unwrap();
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    let file = real.join("sayso.db");
    Store::create(at_path(&file)).unwrap();
    let is_link = |error: &Error| matches!(error, Error::Symlink(_));
    let file_link = folder.path().join("sayso.db");
    symlink(&file, &file_link).unwrap();
    check_refused(&file_link, is_link);
    let folder_link = folder.path().join("link");
    symlink(&real, &folder_link).unwrap();
    check_refused(&folder_link.join("sayso.db"), is_link);
    // A new database must not be made behind a link either.
    check_refused(&folder_link.join("new.db"), is_link);
    let nowhere = folder.path().join("nowhere.db");
    symlink(folder.path().join("missing"), &nowhere).unwrap();
    check_refused(&nowhere, is_link);
    assert!(!folder.path().join("missing").exists() && !real.join("new.db").exists());
}

#[test]
fn what_is_no_database_of_ours_is_refused() {
    let folder = TempDir::new().unwrap();
    let mut refused = 0;
    for (name, bytes) in [
        ("empty", vec![]),
        ("short", b"short".to_vec()),
        ("garbage", (0..20_000_u32).map(|n| (n * 7 % 251) as u8).collect()),
        ("text", b"SQLite format 3 is what this is not\n".repeat(300)),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        check_refused(&path, is_broken);
        refused += 1;
    }
    assert_eq!(refused, 4);
    let foreign = folder.path().join("foreign");
    let other = rusqlite::Connection::open(&foreign).unwrap();
    other.execute_batch("CREATE TABLE gates (x); PRAGMA user_version = 1").unwrap();
    drop(other);
    check_refused(&foreign, is_broken);
}

#[test]
fn damage_is_found_and_not_served() {
    let world = World::new(Site::sqlite());
    let space = world.space;
    for version in 1..=200 {
        world.write(move |write| write.append(entry(space, at(1)), &[event("x", version)]));
    }
    world.site.tamper("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let StoreLocation::Sqlite(path) = world.site.place() else { panic!() };
    let mut bytes = fs::read(&path).unwrap();
    let pages = bytes.len() / 4096;
    assert!(pages > 20, "{pages}");
    for page in 1..pages {
        bytes[page * 4096..page * 4096 + 64].fill(0xa5);
    }
    fs::write(&path, bytes).unwrap();
    let read = Store::open(world.site.place()).and_then(|store| {
        store.read(|read| read.events("x"))?;
        store.read(|read| read.spaces())
    });
    assert!(matches!(&read, Err(Error::Broken { .. })), "{read:?}");
}

#[test]
fn a_view_that_is_not_ours_is_damage() {
    let world = World::new(Site::sqlite());
    let gate = world.gate(|_| ()).opened.id;
    world.site.tamper("UPDATE gates SET body = '{}'").unwrap();
    let read = world.store.read(|read| read.gate_view(gate));
    assert!(matches!(&read, Err(Error::Broken { .. })), "{read:?}");
}

#[test]
fn what_is_missing_is_missing() {
    let folder = TempDir::new().unwrap();
    for path in ["sayso.db", "no/such/folder/sayso.db"] {
        let path = folder.path().join(path);
        let error = Store::open(at_path(&path)).err().unwrap();
        assert!(matches!(error, Error::Missing(_)), "{error:?}");
        assert!(!path.exists());
    }
}

#[test]
fn where_nothing_can_be_written_is_read_only() {
    let is_read_only =
        |error: &Error| matches!(error, Error::ReadOnly(_)) && error.code() == Code::ReadOnly;
    let folder = TempDir::new().unwrap();
    // A folder stands where the file should be.
    let standing = folder.path().join("standing");
    fs::create_dir(&standing).unwrap();
    check_refused(&standing, is_read_only);
    // Not even root makes a file here.
    if cfg!(target_os = "linux") {
        let error = Store::create(at_path(Path::new("/proc/sayso.db"))).err().unwrap();
        assert!(is_read_only(&error), "{error:?}");
    }
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    let file = closed.join("sayso.db");
    Store::create(at_path(&file)).unwrap();
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    allow(&file, 0o444).unwrap();
    allow(&closed, 0o555).unwrap();
    let is_root = fs::write(closed.join("probe"), "").is_ok();
    if !is_root {
        let opened = Store::open(at_path(&file));
        let written = opened.and_then(|store| {
            store.write(|write| write.add_space(sayso_core::SpaceId::mint(at(0), 1), "home", at(0)))
        });
        assert!(written.as_ref().is_err_and(is_read_only), "{written:?}");
        let made = Store::create(at_path(&closed.join("new.db"))).err().unwrap();
        assert!(is_read_only(&made), "{made:?}");
    }
    allow(&closed, 0o755).unwrap();
}
