//! Many at once: nothing is lost, nothing is doubled, and nobody pays for another's error.

use crate::views::notice;
use crate::world::{World, at, entry, event};
use sayso_core::SpaceId;
use sayso_store::{Error, Result, Store};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

fn append(store: &Store, space: SpaceId, stream: &str, version: u64) -> Result<u64> {
    let event = event(stream, version);
    store.write(move |write| write.append(entry(space, at(1)), std::slice::from_ref(&event)))
}

/// Each stream has all its versions, in order.
fn assert_complete(world: &World, streams: usize, versions: u64) {
    for stream in 0..streams {
        let rows = world.store.read(|read| read.events(&format!("s{stream}"))).unwrap();
        let found: Vec<_> = rows.iter().map(|row| row.version).collect();
        assert_eq!(found, (1..=versions).collect::<Vec<_>>(), "stream {stream}");
    }
    let (events, entries) = world.size();
    assert_eq!((events, entries), (streams * versions as usize, streams * versions as usize));
}

pub(crate) fn many_threads_share_one_writer(world: &World) {
    const THREADS: usize = 32;
    const WRITES: u64 = 50;
    // In memory the group is the store itself, and another store would be another memory.
    let own;
    let store = if world.site.is_shared() {
        own = world.site.create().with_group_commit().unwrap();
        &own
    } else {
        &world.store
    };
    let failures = AtomicUsize::new(0);
    thread::scope(|scope| {
        for stream in 0..THREADS {
            let failures = &failures;
            scope.spawn(move || {
                let name = format!("s{stream}");
                for version in 1..=WRITES {
                    assert!(append(store, world.space, &name, version).unwrap() > 0);
                    // Every few writes somebody fails in the same group, each in another way.
                    let spoilt = match version % 10 {
                        3 => append(store, world.space, &name, version),
                        6 => store.write(|_| Err(Error::Other("no".into()))),
                        9 if version == 9 => store.write(|_| panic!("meant by the test")),
                        _ => continue,
                    };
                    match (version % 10, spoilt) {
                        (3, Err(Error::Conflict)) | (6 | 9, Err(Error::Other(_))) => {}
                        (_, other) => panic!("{name} {version}: {other:?}"),
                    }
                    failures.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(failures.into_inner(), THREADS * 11);
    assert_complete(world, THREADS, WRITES);
}

pub(crate) fn many_stores_write_to_one_place(world: &World) {
    const STORES: usize = 8;
    const WRITES: u64 = 25;
    thread::scope(|scope| {
        for stream in 0..STORES {
            scope.spawn(move || {
                let own = world.site.is_shared().then(|| world.site.create());
                let store = own.as_ref().unwrap_or(&world.store);
                for version in 1..=WRITES {
                    append(store, world.space, &format!("s{stream}"), version).unwrap();
                }
            });
        }
    });
    assert_complete(world, STORES, WRITES);
}

pub(crate) fn two_senders_never_take_the_same_notice(world: &World) {
    const NOTICES: usize = 120;
    let space = world.space;
    let all: Vec<_> = (0..NOTICES).map(|n| notice(world, &format!("n{n:03}"))).collect();
    world.write(move |write| all.iter().try_for_each(|notice| write.add_notice(notice, at(1))));
    let claimed: Vec<Vec<String>> = thread::scope(|scope| {
        let senders: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(move || {
                    let own = world.site.is_shared().then(|| world.site.create());
                    let store = own.as_ref().unwrap_or(&world.store);
                    let mut taken = vec![];
                    loop {
                        let claim = store.write(move |write| {
                            write.claim_notices(space, &["web"], at(2), at(60), 7)
                        });
                        let some = claim.unwrap();
                        // None left, or all that are left are being taken by others right now.
                        if some.is_empty() {
                            return taken;
                        }
                        taken.extend(some.into_iter().map(|notice| notice.id));
                    }
                })
            })
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    let taken: Vec<_> = claimed.into_iter().flatten().collect();
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), taken.len(), "taken twice: {taken:?}");
    assert_eq!(taken.len(), NOTICES);
}
