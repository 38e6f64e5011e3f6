//! The views of gates: lists, filters, pages.

use crate::world::{World, actor, ann, at, gate_ids};
use sayso_core::gate::GateCommand;
use sayso_core::{GateId, GateKind, Role, Timestamp};
use sayso_store::{GateFilter, GateRows, Store};

fn filter(limit: usize) -> GateFilter {
    GateFilter { limit, ..Default::default() }
}

pub(crate) fn a_view_follows_its_gate(world: &World) {
    let opened = world.gate(|_| ());
    let id = opened.opened.id;
    let view = || world.store.read(|read| read.gate_view(id)).unwrap();
    assert_eq!(view(), Some((opened.clone(), 1)));
    let answered = world.answer(&opened);
    assert_eq!(view(), Some((answered, 2)));
    let carried = world.on_gate(id, GateCommand::Acknowledge, actor(Role::Operator, "bot"));
    assert_eq!(view(), Some((carried, 4)));
    let unknown = GateId::mint(at(0), 1);
    assert_eq!(world.store.read(|read| read.gate_view(unknown)).unwrap(), None);
    let bodies = world.store.read(|read| read.events(&format!("gate/{id}"))).unwrap();
    assert_eq!(bodies.iter().map(|e| e.version).collect::<Vec<_>>(), [1, 2, 3, 4]);
    // Both at once are the same as each.
    let rows = |id| world.store.query(|read| read.gate_rows(&format!("gate/{id}"), id)).unwrap();
    let kept = rows(id);
    assert_eq!(kept.events, bodies);
    assert_eq!(kept.view.map(|row| (row.gate().unwrap(), row.version)), view());
    // The entry of the ending comes with them, as it was written.
    let (space, ending) = (world.space, bodies[1].audit);
    let entry = world.store.read(|read| read.audit_after(space, ending - 1, 1)).unwrap();
    assert_eq!(kept.entries, entry);
    assert_eq!(rows(unknown), GateRows::default());
}

pub(crate) fn a_look_sees_what_was_committed_last(world: &World) {
    let opened = world.gate(|_| ());
    let version = |store: &Store| {
        let seen = store.query(|read| read.gate_view(opened.opened.id)).unwrap();
        seen.map(|(_, version)| version)
    };
    assert_eq!(version(&world.store), Some(1));
    // One that fails leaves the connection as it was.
    let failed = world.store.query(|_| Err::<(), _>(sayso_store::Error::Conflict));
    assert!(failed.is_err());
    world.answer(&opened);
    assert_eq!(version(&world.store), Some(2));
    if world.site.is_shared() {
        assert_eq!(version(&world.site.create()), Some(2));
    }
}

pub(crate) fn lists_by_state_task_asker_and_kind(world: &World) {
    let task = world.task(|_| ());
    let plain = world.gate(|_| ());
    let tool = world.gate(|o| o.kind = GateKind::Tool);
    let asked = world.ask(task.id, GateKind::Input);
    let eves = world.gate(|o| o.lineage.asker = "eve".into());
    let first = world.gate(|_| ());
    let second = world.gate(|o| o.lineage.asker = "eve".into());
    let of_task = world.gate(|o| o.task = Some(task.id));
    for gate in [&first, &of_task, &second] {
        world.answer(gate);
    }
    let list = |filter: GateFilter| gate_ids(&world.gates(filter));
    let id = |gate: &sayso_core::gate::Gate| gate.opened.id;
    assert_eq!(list(filter(9)), [&plain, &tool, &asked, &eves].map(id));
    let ended = GateFilter { ended: true, ..filter(9) };
    assert_eq!(list(ended.clone()), [&second, &of_task, &first].map(id));
    assert_eq!(list(GateFilter { task: Some(task.id), ..filter(9) }), [&asked, &of_task].map(id));
    let eve = |ended| GateFilter { asker: Some("eve".into()), ended, ..filter(9) };
    assert_eq!(list(eve(false)), [id(&eves)]);
    assert_eq!(list(eve(true)), [id(&second)]);
    let kinds = |kinds: &[GateKind]| GateFilter { kinds: kinds.into(), ..filter(9) };
    assert_eq!(list(kinds(&[GateKind::Tool])), [id(&tool)]);
    assert_eq!(list(kinds(&[GateKind::Tool, GateKind::Input])), [&tool, &asked].map(id));
    assert_eq!(list(kinds(&[GateKind::Lifecycle])), []);
    let page = world.gates(filter(2));
    assert_eq!((gate_ids(&page), page.more), ([&plain, &tool].map(id).to_vec(), true));
    let page = world.gates(filter(4));
    assert_eq!((page.items.len(), page.more), (4, false));
    assert_eq!(world.gates(filter(usize::MAX)).items.len(), 4);
    // Another space has none of them.
    let other = sayso_core::SpaceId::mint(at(1), 8);
    let there = world.store.read(|read| read.gates(other, &filter(9))).unwrap();
    assert_eq!(there.items, []);
}

/// Reads a list to its end, a page at a time.
fn read_through(world: &World, first: GateFilter) -> Vec<GateId> {
    let mut seen = vec![];
    let mut next = first;
    for _ in 0..200 {
        let page = world.gates(next.clone());
        assert!(page.items.len() <= next.limit);
        seen.extend(gate_ids(&page));
        if !page.more {
            return seen;
        }
        assert_eq!(page.items.len(), next.limit, "a page with more behind it is full");
        next.after = seen.last().copied();
    }
    panic!("the list has no end: {seen:?}")
}

pub(crate) fn pages_have_no_gaps_and_no_doubles(world: &World) {
    // Many open at the very same moment: then the id decides. Their ids are in no order.
    let moment = world.tick();
    let opened: Vec<_> = (0..40)
        .map(|n| {
            let asker = ["bot", "eve"][n % 2];
            world.gate_at(moment.plus_micros(n as i64 / 8), |o| o.lineage.asker = asker.into())
        })
        .collect();
    let mut in_order: Vec<_> = opened.iter().map(|g| (g.opened_at, g.opened.id)).collect();
    in_order.sort();
    let whole: Vec<_> = in_order.into_iter().map(|(_, id)| id).collect();
    assert_ne!(whole, opened.iter().map(|g| g.opened.id).collect::<Vec<_>>());
    let eves = GateFilter { asker: Some("eve".into()), ..filter(usize::MAX) };
    let eves_whole = gate_ids(&world.gates(eves.clone()));
    assert_eq!(eves_whole.len(), 20);
    for limit in [1, 3, 7, 8, 19, 20, 39, 40, 41] {
        assert_eq!(read_through(world, filter(limit)), whole, "{limit}");
        assert_eq!(read_through(world, GateFilter { limit, ..eves.clone() }), eves_whole);
    }
    for gate in &opened[..23] {
        world.answer(gate);
    }
    let ended = GateFilter { ended: true, ..filter(usize::MAX) };
    let whole = gate_ids(&world.gates(ended.clone()));
    assert_eq!(whole, opened[..23].iter().rev().map(|g| g.opened.id).collect::<Vec<_>>());
    for limit in [1, 5, 22, 23, 24] {
        assert_eq!(read_through(world, GateFilter { limit, ..ended.clone() }), whole, "{limit}");
    }
    // One that ended in between still marks its place in the list of the open ones.
    let after = Some(opened[0].opened.id);
    assert!(!world.gates(GateFilter { after, ..filter(9) }).items.is_empty());
    let unknown = Some(GateId::mint(at(9), 9));
    assert_eq!(world.gates(GateFilter { after: unknown, ..filter(9) }).items, []);
}

pub(crate) fn what_is_put_off_is_left_out(world: &World) {
    let gates: Vec<_> = (0..12).map(|_| world.gate(|_| ()).opened.id).collect();
    // The oldest ones are put off: more of them than a page holds.
    let until = at(1_000);
    for id in &gates[..10] {
        world.on_gate(*id, GateCommand::Snooze { until }, ann());
    }
    let awake = |now: Timestamp, limit| GateFilter { awake_at: Some(now), ..filter(limit) };
    let page = world.gates(awake(at(500), 3));
    assert_eq!((gate_ids(&page), page.more), (gates[10..].to_vec(), false));
    let just_before = until.plus_micros(-1);
    assert_eq!(gate_ids(&world.gates(awake(just_before, 99))), gates[10..]);
    assert_eq!(gate_ids(&world.gates(awake(until, 99))), gates);
    assert_eq!(gate_ids(&world.gates(filter(99))), gates);
    // Escalation wakes it.
    world.on_gate(gates[0], GateCommand::Escalate, ann());
    assert_eq!(gate_ids(&world.gates(awake(at(500), 1))), [gates[0]]);
}

pub(crate) fn open_gates_are_counted_up_to_a_limit(world: &World) {
    let gates: Vec<_> = (0..5).map(|_| world.gate(|_| ())).collect();
    world.answer(&gates[0]);
    let count = |most| world.store.read(|read| read.count_open_gates(world.space, most)).unwrap();
    assert_eq!([count(0), count(3), count(4), count(usize::MAX)], [0, 3, 4, 4]);
}
