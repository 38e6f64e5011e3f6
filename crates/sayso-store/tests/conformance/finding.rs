//! Finding things by what people call them, whatever they type.

use crate::world::{World, at};
use sayso_core::{GateId, SpaceId, TaskId};
use sayso_store::{HandleTable, NameMatch};

fn find(world: &World, name: &str) -> Vec<NameMatch> {
    let found = world.store.read(|read| read.find(world.space, name)).unwrap();
    found.into_iter().map(|(found, _)| found).collect()
}

pub(crate) fn by_handle_prefix_and_id(world: &World) {
    // The random part of an id begins 60 bits up, five bits a character.
    let chance = |text: u128| text << 60;
    let short = GateId::mint(at(0), chance(0x12345));
    let long = GateId::mint(at(0), chance(0x12345) | 1 << 55);
    let other = GateId::mint(at(0), chance(0x12999));
    let [short_gate, long_gate, _] = [short, long, other].map(|id| world.gate(|o| o.id = id));
    let task = world.task(|_| ());
    let prefix = short_gate.handle().to_owned();
    assert!(long_gate.handle().starts_with(&prefix), "{} {prefix}", long_gate.handle());
    // The exact handle wins, though another one begins with it.
    assert_eq!(find(world, &prefix), [NameMatch::Gate(short)]);
    assert_eq!(find(world, long_gate.handle()), [NameMatch::Gate(long)]);
    assert_eq!(find(world, &prefix[..4]), [NameMatch::Gate(short), NameMatch::Gate(long)]);
    assert_eq!(find(world, &prefix[..2]).len(), 3);
    assert_eq!(find(world, &task.handle), [NameMatch::Task(task.id)]);
    assert_eq!(find(world, &task.handle[..3]), [NameMatch::Task(task.id)]);
    for id in [task.id.to_string(), task.id.to_string().to_lowercase()] {
        assert_eq!(find(world, &id), [NameMatch::Task(task.id)]);
    }
    assert_eq!(find(world, &short.to_string().to_lowercase()), [NameMatch::Gate(short)]);
    let handles = world.store.read(|read| read.find(world.space, "g")).unwrap();
    assert!(handles.iter().all(|(_, handle)| handle.starts_with('g')));
    // Too many to be of use.
    (0..20).for_each(|_| drop(world.gate(|_| ())));
    assert_eq!(find(world, "g").len(), 8);
    let elsewhere = world.store.read(|read| read.find(SpaceId::mint(at(0), 3), &prefix)).unwrap();
    assert_eq!(elsewhere, []);
}

pub(crate) fn hostile_names_find_nothing(world: &World) {
    world.gate(|_| ());
    world.task(|_| ());
    let long = "g".repeat(1_000_000);
    let names = [
        "",
        "%",
        "_",
        "g%",
        "'",
        "''",
        "g' OR '1'='1",
        "~",
        "g~",
        "?1",
        "$1",
        "\\",
        "\0",
        "g\0",
        "\n",
        "ü",
        "\u{10ffff}",
        "日本語",
        "G",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        &"%".repeat(26),
        &"é".repeat(13),
        &long,
        "-1",
        "--",
        ";",
    ];
    for name in names {
        assert_eq!(find(world, name), [], "{name:.40?}");
        let (elsewhere, message, token) = world
            .store
            .read(|read| {
                let message = read.message(world.space, name)?;
                Ok((read.find_in_other_space(name)?, message, read.token(world.space, name)?))
            })
            .unwrap();
        assert_eq!((elsewhere, message, token), (None, None, None), "{name:.40?}");
    }
    assert_eq!(names.len(), 26);
}

pub(crate) fn in_another_space(world: &World) {
    let gate = world.gate(|_| ());
    let task = world.task(|_| ());
    let elsewhere = |name: &str| world.store.read(|read| read.find_in_other_space(name)).unwrap();
    for name in [gate.opened.id.to_string(), task.id.to_string().to_lowercase()] {
        assert_eq!(elsewhere(&name).as_deref(), Some("home"), "{name}");
    }
    assert_eq!(elsewhere(gate.handle()).as_deref(), Some("home"));
    assert_eq!(elsewhere(&task.handle).as_deref(), Some("home"));
    assert_eq!(elsewhere(&gate.handle()[..3]), None);
}

pub(crate) fn a_handle_grows_where_it_is_taken(world: &World) {
    let twins = |last: u128| GateId::mint(at(0), 0xabcd << 60 | last);
    let handles: Vec<_> =
        (0..3).map(|n| world.gate(|o| o.id = twins(n)).handle().to_owned()).collect();
    let lengths: Vec<_> = handles.iter().map(String::len).collect();
    assert_eq!(lengths, [5, 6, 7]);
    assert!(handles[2].starts_with(&handles[1]) && handles[1].starts_with(&handles[0]));
    // Tasks have handles of their own, and so has every space.
    let (space, other) = (world.space, SpaceId::mint(at(0), 3));
    let free = move |table, space| {
        let of = TaskId::mint(at(0), 0xabcd << 60);
        world.write(move |write| {
            write.free_handle(table, space, |len| of.handle(len).replacen('t', "g", 1))
        })
    };
    assert_eq!(free(HandleTable::Gates, space).len(), 8);
    for (table, space) in [
        (HandleTable::Tasks, space),
        (HandleTable::Messages, space),
        (HandleTable::Tokens, space),
        (HandleTable::Gates, other),
    ] {
        assert_eq!(free(table, space).len(), 5);
    }
}
