//! Spaces, the log and its audit chain: together or not at all.

use crate::site::Site;
use crate::world::{World, at, entry, event};
use sayso_core::audit::ChainHead;
use sayso_core::gate::Gate;
use sayso_core::{SpaceId, TaskId};
use sayso_store::{DeliveryRow, Error, OutboxNotice, Result, WriteTransaction};

pub(crate) fn a_space_is_found_by_its_name(world: &World) {
    let read = |name: &'static str| world.store.read(|read| read.space(name)).unwrap();
    let home = read("home").unwrap();
    assert_eq!((home.id, home.created_at, home.deleted_at), (world.space, at(0), None));
    assert_eq!(home.head, ChainHead::genesis(world.space));
    assert_eq!(read("Home"), None);
    assert_eq!(read("hom_"), None);
    let other = SpaceId::mint(at(1), 8);
    world.write(move |write| write.add_space(other, "abroad", at(1)));
    let spaces = world.store.read(|read| read.spaces()).unwrap();
    let names: Vec<_> = spaces.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["abroad", "home"]);
    let again = world.store.write(|write| write.add_space(SpaceId::mint(at(2), 9), "home", at(2)));
    assert!(matches!(again, Err(Error::Conflict)), "{again:?}");
}

pub(crate) fn a_deleted_space_stays_to_be_seen(world: &World) {
    let space = world.space;
    world.write(move |write| {
        write.append(entry(space, at(1)), &[event("x", 1)])?;
        write.delete_space(space, at(5))?;
        write.delete_space(space, at(6))
    });
    let home = world.store.read(|read| read.space("home")).unwrap().unwrap();
    assert_eq!(home.deleted_at, Some(at(5)));
    assert_eq!(home.head.seq, 1);
    assert_eq!(world.size(), (1, 1));
}

pub(crate) fn an_append_moves_the_head(world: &World) {
    let space = world.space;
    let seq = world.write(move |write| {
        write.append(entry(space, at(1)), &[event("a", 1), event("a", 2), event("b", 1)])
    });
    assert_eq!(seq, 1);
    // A refusal is an entry, too, and has no event.
    assert_eq!(world.write(move |write| write.append(entry(space, at(2)), &[])), 2);
    let (home, last, events) = world
        .store
        .read(|read| {
            Ok((read.space("home")?.unwrap(), read.audit_last(space, 1)?, read.events("a")?))
        })
        .unwrap();
    assert_eq!(home.head, ChainHead { seq: 2, hash: last[0].hash.clone() });
    assert_eq!(last[0].seq, 2);
    let seen: Vec<_> = events.iter().map(|e| (e.version, e.audit, e.at)).collect();
    assert_eq!(seen, [(1, 1, at(1)), (2, 1, at(1))]);
    assert_eq!(world.write(move |write| write.lock(space)), home.head);
}

pub(crate) fn streams_and_the_chain_are_read_in_pages(world: &World) {
    let space = world.space;
    let other = SpaceId::mint(at(1), 8);
    world.write(move |write| {
        write.add_space(other, "abroad", at(1))?;
        write.append(entry(other, at(1)), &[event("s1/foreign", 1)])
    });
    for n in 1..=10 {
        let stream = format!("s{}", n % 3);
        let version = (n + 2) / 3;
        world.write(move |write| {
            write.append(entry(space, at(n)), &[event(&stream, version as u64)])
        });
    }
    let (mut events, mut entries) = (vec![], vec![]);
    world
        .store
        .read(|read| {
            let (mut stream, mut version, mut seq) = (String::new(), 0, 0);
            loop {
                let page = read.events_after(space, &stream, version, 3)?;
                let audit = read.audit_after(space, seq, 3)?;
                let Some(last) = page.last() else { break };
                (stream, version) = (last.stream.clone(), last.version);
                seq = audit.last().map_or(seq, |a| a.seq);
                events.extend(page.into_iter().map(|e| (e.stream, e.version)));
                entries.extend(audit.into_iter().map(|a| a.seq));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(entries, (1..=10).collect::<Vec<_>>());
    assert_eq!(events.len(), 10);
    assert!(events.is_sorted(), "{events:?}");
    assert!(events.iter().all(|(stream, _)| stream != "s1/foreign"));
}

/// Everything a write can touch, and then a version that is taken.
fn touch_everything(
    write: &mut WriteTransaction<'_>,
    space: SpaceId,
    gate: &Gate,
    task: TaskId,
    version: u64,
) -> Result<()> {
    let gate_id = gate.opened.id;
    let mut row = write.task(task)?.unwrap().0.task;
    row.title = "Changed".into();
    row.labels.insert("changed".into());
    write.put_task(&row, 99)?;
    let mut gate = gate.clone();
    gate.reminders = 99;
    write.put_gate(&gate, 99)?;
    write.put_delivery(
        space,
        &DeliveryRow { gate: gate_id, asker: "bot", state: "pending" },
        at(9),
    )?;
    let notice = OutboxNotice {
        id: "n".into(),
        space,
        channel: "web".into(),
        body: "{}".into(),
        attempts: 0,
    };
    write.add_notice(&notice, at(0))?;
    write.put_passphrase(space, "ann", "hash")?;
    write.append(entry(space, at(9)), &[event("fresh", 1)])?;
    write.append(entry(space, at(9)), &[event("other", 1), event("taken", version)]).map(drop)
}

fn assert_untouched(world: &World, gate: &Gate, task: TaskId, before: (usize, usize)) {
    assert_eq!(world.size(), before);
    let space = world.space;
    let (view, passphrase, under_way) = world
        .store
        .read(|read| {
            let view = read.gate_view(gate.opened.id)?.unwrap();
            let under_way = read.deliveries_under_way(space, "bot", 9)?;
            Ok((view, read.passphrase(space, "ann")?, under_way))
        })
        .unwrap();
    assert_eq!(view, (gate.clone(), 1));
    assert_eq!(world.row(task).task.title, "Do it");
    assert_eq!(passphrase, None);
    assert_eq!(under_way, []);
    assert_eq!(
        world.write(move |write| write.claim_notices(space, &["web"], at(99), at(100), 9)),
        []
    );
}

pub(crate) fn a_version_that_is_taken_leaves_nothing_behind(world: &World) {
    let space = world.space;
    world.write(move |write| write.append(entry(space, at(1)), &[event("taken", 1)]));
    let (gate, task) = (world.gate(|_| ()), world.task(|_| ()).id);
    let before = world.size();
    let shown = gate.clone();
    let outcome = world.store.write(move |write| touch_everything(write, space, &shown, task, 1));
    assert!(matches!(outcome, Err(Error::Conflict)), "{outcome:?}");
    assert_untouched(world, &gate, task, before);
}

pub(crate) fn an_error_undoes_the_whole_write(world: &World) {
    let space = world.space;
    let (gate, task) = (world.gate(|_| ()), world.task(|_| ()).id);
    let before = world.size();
    let shown = gate.clone();
    let outcome = world.store.write(move |write| -> Result<()> {
        touch_everything(write, space, &shown, task, 1)?;
        Err(Error::Other("a refusal".into()))
    });
    assert!(matches!(&outcome, Err(Error::Other(why)) if why == "a refusal"), "{outcome:?}");
    assert_untouched(world, &gate, task, before);
}

/// PostgreSQL would answer such a COMMIT with "yes" and roll back.
pub(crate) fn an_error_that_was_passed_over_is_not_committed(world: &World) {
    let space = world.space;
    world.write(move |write| write.append(entry(space, at(1)), &[event("taken", 1)]));
    let (gate, task) = (world.gate(|_| ()), world.task(|_| ()).id);
    let before = world.size();
    let shown = gate.clone();
    let outcome = world.store.write(move |write| {
        let _ = touch_everything(write, space, &shown, task, 1);
        Ok("done")
    });
    assert!(matches!(outcome, Err(Error::Conflict)), "{outcome:?}");
    // The same without a word to those who wait, which would fail by itself.
    let outcome = world.store.write(move |write| {
        write.put_passphrase(space, "ann", "hash")?;
        let _ = write.add_space(SpaceId::mint(at(2), 9), "home", at(2));
        Ok("done")
    });
    assert!(matches!(outcome, Err(Error::Conflict)), "{outcome:?}");
    assert_untouched(world, &gate, task, before);
}

pub(crate) fn a_panic_undoes_the_write_and_nothing_else(world: &World) {
    let space = world.space;
    let (gate, task) = (world.gate(|_| ()), world.task(|_| ()).id);
    let before = world.size();
    let shown = gate.clone();
    let outcome = world.store.write(move |write| -> Result<()> {
        touch_everything(write, space, &shown, task, 1)?;
        panic!("meant by the test")
    });
    assert!(matches!(outcome, Err(Error::Other(_))), "{outcome:?}");
    let read = || world.store.read(|_| -> Result<()> { panic!("meant by the test") });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).is_err());
    assert_untouched(world, &gate, task, before);
}

pub(crate) fn only_the_space_that_is_there_is_written_to(world: &World) {
    let nowhere = SpaceId::mint(at(3), 99);
    let outcome = world.store.write(move |write| write.append(entry(nowhere, at(1)), &[]));
    assert!(matches!(outcome, Err(Error::Missing(_))), "{outcome:?}");
    assert_eq!(world.size(), (0, 0));
}

/// Not even whoever holds the file changes the log by mistake.
fn check_append_only(site: Site, schema: &str) {
    let world = World::new(site);
    let space = world.space;
    world.write(move |write| write.append(entry(space, at(1)), &[event("x", 1)]));
    let mut refused = 0;
    for table in ["events", "audit"] {
        for sql in [
            format!("UPDATE {schema}{table} SET body = 'forged'"),
            format!("DELETE FROM {schema}{table}"),
        ] {
            let said = world.site.tamper(&sql).unwrap_err();
            assert!(said.contains("append-only"), "{sql}: {said}");
            refused += 1;
        }
    }
    assert_eq!(refused, 4);
    assert_eq!(world.size(), (1, 1));
    world.verify();
}

#[test]
fn sqlite_refuses_to_change_the_log() {
    check_append_only(Site::sqlite(), "");
}

#[test]
fn postgres_refuses_to_change_the_log() {
    let site = Site::postgres();
    check_append_only(site, "sayso.");
    let world = World::new(Site::postgres());
    let said = world.site.tamper("TRUNCATE sayso.events").unwrap_err();
    assert!(said.contains("append-only"), "{said}");
}
