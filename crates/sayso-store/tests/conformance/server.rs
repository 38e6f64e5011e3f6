//! What a server can do to a store: be away, go away, and come back.

use crate::site::Site;
use crate::world::{World, actor, at, entry, event};
use sayso_core::gate::GateCommand;
use sayso_core::{Code, Role};
use sayso_store::{Error, Store, StoreLocation, WatchTopic};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

/// Ends the connections of this database whose last statement was like `sql`.
fn cut(world: &World, sql: &str) -> usize {
    let ended = world.site.client().query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE $1",
        &[&sql],
    );
    ended.unwrap().len()
}

fn assert_unreachable(opened: sayso_store::Result<Store>) {
    let error = opened.err().expect("it was reached");
    assert!(matches!(error, Error::Unreachable(_)), "{error:?}");
    assert_eq!(error.code(), Code::Unreachable);
}

#[test]
fn a_server_that_is_away_is_unreachable() {
    let begun = Instant::now();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("postgres://ann:secret@127.0.0.1:{port}/x");
    assert_unreachable(Store::open(StoreLocation::Postgres(url.clone())));
    let error = Store::open(StoreLocation::Postgres(url)).err().unwrap();
    assert!(!error.to_string().contains("secret"), "{error}");
    assert_unreachable(Store::open(StoreLocation::Postgres("nonsense".into())));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_server_that_says_nothing_is_unreachable() {
    let begun = Instant::now();
    // It takes connections and never says a word.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_unreachable(Store::open(StoreLocation::Postgres(format!(
        "postgres://ann@127.0.0.1:{port}/x"
    ))));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn lost_connections_are_made_again() {
    let world = World::new(Site::postgres());
    let space = world.space;
    let group = world.site.create().with_group_commit().unwrap();
    let mut cuts = 0;
    for version in 1..=5 {
        let even = version * 2;
        world.write(move |write| write.append(entry(space, at(1)), &[event("x", even - 1)]));
        group.write(move |write| write.append(entry(space, at(1)), &[event("x", even)])).unwrap();
        assert_eq!(group.read(|read| read.events("x")).unwrap().len() as u64, even);
        cuts += cut(&world, "%");
    }
    assert!(cuts >= 10, "{cuts}");
    assert_eq!(world.size(), (10, 10));
    world.verify();
}

#[test]
fn a_connection_lost_in_a_write_undoes_it() {
    let world = World::new(Site::postgres());
    let space = world.space;
    for store in [world.site.create(), world.site.create().with_group_commit().unwrap()] {
        let StoreLocation::Postgres(url) = world.site.place() else { panic!() };
        let outcome = store.write(move |write| {
            write.append(entry(space, at(1)), &[event("x", 1)])?;
            let mut other = postgres::Client::connect(&url, postgres::NoTls).unwrap();
            let ended = other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
                 WHERE datname = current_database() AND state = 'idle in transaction'",
                &[],
            );
            assert_eq!(ended.unwrap(), 1);
            Ok(())
        });
        assert!(matches!(outcome, Err(Error::Unreachable(_))), "{outcome:?}");
        assert_eq!(store.read(|read| read.events("x")).unwrap(), []);
    }
    assert_eq!(world.size(), (0, 0));
}

#[test]
fn a_waiter_outlives_its_listen() {
    let world = World::new(Site::postgres());
    let gate = world.gate(|_| ()).opened.id;
    let mut watch = world.store.watch(&[WatchTopic::Gate(gate)]).unwrap();
    let version = || world.store.read(|read| read.gate_view(gate)).unwrap().unwrap().1;
    let mut wait_for = |wanted: u64| {
        let begun = Instant::now();
        let mut looks = 0;
        while version() < wanted {
            watch.wait(Duration::from_secs(10));
            looks += 1;
        }
        (begun.elapsed(), looks)
    };
    let mut cuts = 0;
    for round in 0..3 {
        cuts += cut(&world, "LISTEN%");
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(1_500));
                world.on_gate(gate, GateCommand::Remind, actor(Role::Operator, "timer"));
            });
            let (waited, looks) = wait_for(2 + round);
            assert!(waited < Duration::from_secs(4), "{waited:?}");
            // It neither slept on a dead line nor looked without a pause.
            assert!((2..20).contains(&looks), "{looks} looks in {waited:?}");
        });
    }
    assert_eq!(cuts, 3, "the waiter listens again each time");
}

#[test]
fn notices_about_others_do_not_put_off_the_next_look() {
    let world = World::new(Site::postgres());
    let gate = world.gate(|_| ()).opened.id;
    let mut watch = world.store.watch(&[WatchTopic::Gate(gate)]).unwrap();
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20 {
                world.gate(|_| ());
                thread::sleep(Duration::from_millis(100));
            }
        });
        watch.wait(Duration::from_secs(10));
        let waited = begun.elapsed();
        assert!(waited > Duration::from_millis(900), "woken by others after {waited:?}");
        assert!(waited < Duration::from_millis(1_600), "{waited:?}");
    });
}
