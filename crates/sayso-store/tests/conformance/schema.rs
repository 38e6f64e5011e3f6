//! The schema: made once however many come at once, brought up to date, and never downgraded.

use crate::site::Site;
use crate::world::{World, at, entry, event};
use sayso_core::{AnswerShape, GateKind, SpaceId};
use sayso_store::{Error, Store, StoreLocation, VERSION};
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

fn check_opening_twice(site: Site) {
    let world = World::new(site);
    let space = world.space;
    world.write(move |write| write.append(entry(space, at(1)), &[event("x", 1)]));
    for _ in 0..3 {
        let again = Store::open(world.site.place()).unwrap();
        assert_eq!(again.read(|read| read.events("x")).unwrap().len(), 1);
        assert_eq!(world.site.create().read(|read| read.spaces()).unwrap().len(), 1);
    }
    assert_eq!(world.store.check_file().unwrap(), Vec::<String>::new());
    world.verify();
}

#[test]
fn opening_sqlite_again_changes_nothing() {
    check_opening_twice(Site::sqlite());
}

#[test]
fn opening_postgres_again_changes_nothing() {
    check_opening_twice(Site::postgres());
}

/// Eight come at once to a place where nothing is; each must find its own write there.
fn check_race(site: &Site, open: fn(StoreLocation) -> sayso_store::Result<Store>) {
    const RACERS: u32 = 8;
    let barrier = Barrier::new(RACERS as usize);
    thread::scope(|scope| {
        for racer in 0..RACERS {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                let store = open(site.place()).unwrap();
                let id = SpaceId::mint(at(0), racer.into());
                let name = format!("space {racer}");
                store.write(move |write| write.add_space(id, &name, at(0))).unwrap();
            });
        }
    });
    let spaces = Store::open(site.place()).unwrap().read(|read| read.spaces()).unwrap();
    assert_eq!(spaces.len(), RACERS as usize);
}

#[test]
fn many_make_one_sqlite_database() {
    for _ in 0..10 {
        let site = Site::sqlite();
        check_race(&site, Store::create);
        let StoreLocation::Sqlite(path) = site.place() else { panic!() };
        let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
        let names: BTreeSet<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let ours = ["sayso.db", "sayso.db-shm", "sayso.db-wal"].map(String::from);
        assert!(names.iter().all(|name| ours.contains(name)), "{names:?}");
    }
}

#[test]
fn many_make_one_postgres_schema() {
    for _ in 0..3 {
        check_race(&Site::postgres(), Store::open);
    }
}

fn assert_refused(opened: sayso_store::Result<Store>) {
    let error = opened.err().expect("a newer schema was opened");
    let expected = (VERSION + 1, VERSION);
    assert!(
        matches!(&error, Error::NewerSchema { found, known, .. } if (*found, *known) == expected),
        "{error:?}"
    );
}

#[test]
fn a_newer_sqlite_schema_is_refused() {
    let site = Site::sqlite();
    site.create();
    site.tamper(&format!("PRAGMA user_version = {}", VERSION + 1)).unwrap();
    assert_refused(Store::open(site.place()));
    assert_refused(Store::create(site.place()));
    site.tamper(&format!("PRAGMA user_version = {VERSION}")).unwrap();
    Store::open(site.place()).unwrap();
}

#[test]
fn a_newer_postgres_schema_is_refused() {
    let site = Site::postgres();
    site.create();
    site.tamper(&format!("UPDATE sayso.schema SET version = {}", VERSION + 1)).unwrap();
    assert_refused(Store::open(site.place()));
    assert_refused(Store::create(site.place()));
}

/// Schema 0 has nothing in it but the mark that it is ours.
#[test]
fn an_older_sqlite_schema_is_brought_up_to_date() {
    let site = Site::sqlite();
    let mark = i32::from_be_bytes(*b"SAYS");
    site.tamper(&format!("PRAGMA application_id = {mark}; PRAGMA journal_mode = WAL")).unwrap();
    check_usable(&Store::open(site.place()).unwrap());
    let version: i64 =
        site.sqlite_file().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, VERSION);
}

#[test]
fn an_older_postgres_schema_is_brought_up_to_date() {
    let site = Site::postgres();
    site.tamper("CREATE SCHEMA sayso; CREATE TABLE sayso.schema (version BIGINT NOT NULL)")
        .unwrap();
    check_usable(&Store::open(site.place()).unwrap());
    let rows = site.client().query("SELECT version FROM sayso.schema", &[]).unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, i64>(0)).collect::<Vec<_>>(), [VERSION]);
}

/// A yes or no without a task had the same name whoever asked. Rows of that time lose it, and no others.
fn check_leave_is_for_one(site: Site, before: &str) {
    let world = World::new(site);
    let verdict = world.gate(|o| o.kind = GateKind::Decision);
    let text = world.gate(|o| (o.kind, o.card.shape) = (GateKind::Decision, AnswerShape::Text));
    world.site.tamper(before).unwrap();
    let store = Store::open(world.site.place()).unwrap();
    let same = |id| store.read(move |read| read.queued_gate(id)).unwrap().unwrap().same;
    assert_eq!(same(verdict.opened.id), None);
    assert_eq!(same(text.opened.id).as_deref(), Some("before"));
}

#[test]
fn leave_that_was_asked_for_before_is_for_one_on_sqlite() {
    check_leave_is_for_one(
        Site::sqlite(),
        "UPDATE gates SET same = 'before'; PRAGMA user_version = 8",
    );
}

#[test]
fn leave_that_was_asked_for_before_is_for_one_on_postgres() {
    check_leave_is_for_one(
        Site::postgres(),
        "UPDATE sayso.gates SET same = 'before'; UPDATE sayso.schema SET version = 8",
    );
}

fn check_usable(store: &Store) {
    let space = SpaceId::mint(at(0), 1);
    store.write(move |write| write.add_space(space, "home", at(0))).unwrap();
    store.write(move |write| write.append(entry(space, at(1)), &[event("x", 1)])).unwrap();
}

#[test]
fn both_databases_have_the_same_tables_columns_and_indexes() {
    let (sqlite, postgres) = (Site::sqlite(), Site::postgres());
    sqlite.create();
    postgres.create();
    let file = sqlite.sqlite_file();
    let columns_here = "SELECT t.name || '.' || c.name || ' ' || CASE c.type \
                          WHEN 'INTEGER' THEN 'int' WHEN 'TEXT' THEN 'text' ELSE c.type END \
                          || CASE c.\"notnull\" WHEN 1 THEN ' not null' ELSE '' END \
                        FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'";
    let indexes_here =
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite_%'";
    let columns_there = "SELECT table_name || '.' || column_name || ' ' || CASE data_type \
                           WHEN 'bigint' THEN 'int' WHEN 'text' THEN 'text' ELSE data_type END \
                           || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END \
                         FROM information_schema.columns \
                         WHERE table_schema = 'sayso' AND table_name <> 'schema'";
    let indexes_there = "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'sayso' \
                           AND indexname NOT LIKE '%\\_pkey' AND indexname NOT LIKE '%\\_key'";
    let here = |sql: &str| -> BTreeSet<String> {
        let mut statement = file.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    let there = |sql: &str| -> BTreeSet<String> {
        postgres.client().query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    let (columns, indexes) = (here(columns_here), here(indexes_here));
    assert_eq!(columns, there(columns_there));
    assert_eq!(indexes, there(indexes_there));
    assert!(columns.len() > 80 && indexes.len() > 20, "{} {}", columns.len(), indexes.len());
}
