//! What waits: which gates ask the same, and which endings hang.

use crate::world::{World, actor, ann, at};
use sayso_core::gate::{Card, Gate, GateCommand};
use sayso_core::{AnswerShape, GateId, GateKind, Role, Timestamp};
use sayso_store::DeliveryRow;

fn question(world: &World, asker: &str, text: &str) -> Gate {
    world.gate(|o| {
        (o.kind, o.lineage.asker) = (GateKind::Decision, asker.into());
        o.card = Card { question: text.into(), shape: AnswerShape::Text, ..o.card.clone() };
    })
}

fn ids(gates: &[Gate]) -> Vec<GateId> {
    gates.iter().map(|gate| gate.opened.id).collect()
}

pub(crate) fn gates_that_ask_the_same_are_found_while_they_wait(world: &World) {
    let port = ["bot", "eve", "kim"].map(|asker| question(world, asker, "Which port?"));
    let host = question(world, "bot", "Which host?");
    let sign_off = world.gate(|_| ());
    let same = port[0].dedup_key().unwrap();
    let asking = |limit| {
        let read = world.store.read(|r| r.open_gates_with_key(world.space, same.as_str(), limit));
        let page = read.unwrap();
        (ids(&page.items), page.more)
    };
    assert_eq!(asking(9), (ids(&port), false));
    assert_eq!(asking(2), (ids(&port[..2]), true));
    let rows =
        || world.store.read(|read| read.queued_gates(world.space, &[], None, 99)).unwrap().items;
    let all = rows();
    assert_eq!(all.len(), 5);
    assert_eq!(all[0].same.as_deref(), Some(same.as_str()));
    assert_eq!(all[3].same, host.dedup_key().map(|same| same.to_string()));
    assert_eq!((all[4].id, all[4].same.as_ref()), (sign_off.opened.id, None));
    assert_eq!((all[1].asker.as_str(), all[1].opened_at), ("eve", port[1].opened_at));
    // A revision asks something else, and an ending asks nothing any more.
    let card = Card { narrative: "for the proxy".into(), ..port[1].card.clone() };
    let by = actor(Role::Operator, "eve");
    world.on_gate(port[1].opened.id, GateCommand::Revise(card), by);
    let digest = port[2].digest.to_string();
    let answer = sayso_core::Answer::text("80");
    world.on_gate(port[2].opened.id, GateCommand::Answer { answer, digest }, ann());
    assert_eq!(asking(9), (vec![port[0].opened.id], false));
    let gone = world.store.read(|read| read.queued_gate(port[2].opened.id)).unwrap().unwrap();
    assert_eq!((gone.same, gone.asker.as_str()), (None, "kim"));
    assert_eq!(world.store.read(|read| read.queued_gate(GateId::mint(at(9), 9))).unwrap(), None);
}

pub(crate) fn what_waits_is_listed_by_kind_and_asker(world: &World) {
    let first = question(world, "bot", "Which port?");
    let second = question(world, "eve", "Which port?");
    let third = world.gate(|_| ());
    let until = at(1_000);
    world.on_gate(first.opened.id, GateCommand::Snooze { until }, ann());
    let list = |kinds: &[GateKind], asker: Option<&str>, limit| {
        let page =
            world.store.read(|read| read.queued_gates(world.space, kinds, asker, limit)).unwrap();
        (page.items.iter().map(|row| row.id).collect::<Vec<_>>(), page.more)
    };
    let [a, b, c] = [&first, &second, &third].map(|gate| gate.opened.id);
    assert_eq!(list(&[], None, 9), (vec![a, b, c], false));
    assert_eq!(list(&[], None, 2), (vec![a, b], true));
    assert_eq!(list(&[GateKind::Approval], None, 9), (vec![c], false));
    assert_eq!(list(&[], Some("eve"), 9), (vec![b], false));
    assert_eq!(list(&[GateKind::Approval], Some("eve"), 9), (vec![], false));
    let rows = world.store.read(|read| read.queued_gates(world.space, &[], None, 9)).unwrap().items;
    assert_eq!(
        rows.iter().map(|row| row.snoozed_until).collect::<Vec<_>>(),
        [Some(until), None, None]
    );
    let mut views =
        world.store.read(|read| read.gate_views(&[c, a, GateId::mint(at(9), 9)])).unwrap();
    views.sort_by_key(|gate| gate.opened_at);
    assert_eq!(ids(&views), [a, c]);
    assert_eq!(world.store.read(|read| read.gate_views(&[])).unwrap(), []);
    let many: Vec<_> = (0..1_200).map(|n| GateId::mint(at(9), n)).chain([b]).collect();
    assert_eq!(ids(&world.store.read(|read| read.gate_views(&many)).unwrap()), [b]);
}

pub(crate) fn endings_under_way_are_found_by_time(world: &World) {
    let gates: Vec<_> =
        (0..4).map(|n| question(world, "bot", &format!("{n}?")).opened.id).collect();
    let (space, put) = (world.space, gates.clone());
    world.write(move |write| {
        for (n, (gate, state)) in
            put.iter().zip(["pending", "delivered", "acknowledged", "failed"]).enumerate()
        {
            let delivery = DeliveryRow { gate: *gate, asker: "bot", state };
            write.put_delivery(space, &delivery, at(10 + n as i64))?;
        }
        Ok(())
    });
    let between = |from: Timestamp, until: Timestamp, limit| {
        world.store.read(|read| read.deliveries_between(space, from, until, limit)).unwrap()
    };
    assert_eq!(between(at(0), at(99), 9), [gates[3], gates[1], gates[0]]);
    assert_eq!(between(at(0), at(99), 2), [gates[3], gates[1]]);
    assert_eq!(between(at(10), at(11), 9), [gates[1]], "after the one, up to the other");
}

pub(crate) fn what_waits_is_read_in_turns(world: &World) {
    let many: Vec<_> = (0..5).map(|n| question(world, "many", &format!("Number {n}?"))).collect();
    let eve = question(world, "eve", "Which host?");
    let kim = question(world, "kim", "Which port?");
    let late = question(world, "eve", "Which user?");
    let [m0, m1, m2, m3, m4] = [0, 1, 2, 3, 4].map(|n| many[n].opened.id);
    let [eve, kim, late] = [&eve, &kim, &late].map(|gate| gate.opened.id);
    let in_turn = |kinds: &[GateKind], asker: Option<&str>, skip, limit| {
        let read = |read: &mut sayso_store::ReadTransaction<'_>| {
            read.queued_gates_round_robin(world.space, kinds, asker, skip, limit)
        };
        let page = world.store.read(read).unwrap();
        (page.items.iter().map(|row| row.id).collect::<Vec<_>>(), page.more)
    };
    let all = [m0, eve, kim, m1, late, m2, m3, m4];
    assert_eq!(in_turn(&[], None, 0, 8), (all.to_vec(), false));
    assert_eq!(in_turn(&[], None, 0, 3), (all[..3].to_vec(), true));
    assert_eq!(in_turn(&[], None, 3, 3), (all[3..6].to_vec(), true));
    assert_eq!(in_turn(&[], None, 6, 3), (all[6..].to_vec(), false));
    assert_eq!(in_turn(&[], Some("many"), 1, 2), (vec![m1, m2], true));
    assert_eq!(in_turn(&[GateKind::Approval], None, 0, 9), (vec![], false));
    assert_eq!(in_turn(&[GateKind::Decision], Some("eve"), 0, 9), (vec![eve, late], false));
    let before = |gate: GateId, asker: Option<&str>| {
        let read = |read: &mut sayso_store::ReadTransaction<'_>| {
            let row = read.queued_gate(gate)?.unwrap();
            read.round_robin_position(world.space, &[], asker, &row)
        };
        world.store.read(read).unwrap()
    };
    for (place, gate) in all.iter().enumerate() {
        assert_eq!(before(*gate, None), place);
    }
    assert_eq!(before(m3, Some("many")), 3);
    // One that has ended is where it would be now.
    let (answer, digest) = (sayso_core::Answer::text("80"), many[1].digest.to_string());
    world.on_gate(m1, GateCommand::Answer { answer, digest }, ann());
    assert_eq!(in_turn(&[], None, 0, 9).0, [m0, eve, kim, m2, late, m3, m4]);
    assert_eq!((before(m1, None), before(late, None)), (3, 4));
    let count = |kinds: &[GateKind], askers: &[&str]| {
        let mut found =
            world.store.read(|read| read.count_asked(world.space, kinds, askers)).unwrap();
        found.sort();
        found
    };
    let named = |name: &str, count| (name.to_owned(), count);
    assert_eq!(count(&[], &["many", "eve", "nobody"]), [named("eve", 2), named("many", 4)]);
    assert_eq!(count(&[GateKind::Tool], &["many"]), []);
    let others = |askers: &[&str]| {
        let read = |read: &mut sayso_store::ReadTransaction<'_>| {
            read.count_asked_by_others(world.space, &[GateKind::Decision], askers)
        };
        world.store.read(read).unwrap()
    };
    assert_eq!((others(&["many"]), others(&["eve", "many"]), others(&[])), (3, 1, 7));
}
