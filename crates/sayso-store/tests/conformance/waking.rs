//! A wake-up only shortens the wait, but it does shorten it.

use crate::world::{World, actor};
use sayso_core::gate::GateCommand;
use sayso_core::{GateId, Role};
use sayso_store::{CommitWatch, Store, WatchTopic};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How often a waiter looks by itself.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

const WAKES: u32 = 20;

/// Time for a waiter to have looked and to be waiting.
const SETTLE: Duration = Duration::from_millis(20);

fn version(store: &Store, gate: GateId) -> u64 {
    store.read(|read| read.gate_view(gate)).unwrap().unwrap().1
}

/// Looks, waits and looks until the gate has come so far, and says so each time.
fn follow(store: &Store, mut watch: CommitWatch, gate: GateId, until: u64, seen: &Sender<u64>) {
    let mut last = version(store, gate);
    while last < until {
        watch.wait(Duration::from_secs(10));
        let now = version(store, gate);
        if now > last {
            last = now;
            seen.send(now).unwrap();
        }
    }
}

/// Changes a gate again and again, each time when the waiter has seen the last change.
fn change(world: &World, gate: GateId, times: u32, seen: &Receiver<u64>) -> Duration {
    let first = version(&world.store, gate);
    let mut waited = Duration::ZERO;
    for n in 1..=u64::from(times) {
        thread::sleep(SETTLE);
        let begun = Instant::now();
        world.on_gate(gate, GateCommand::Remind, actor(Role::Operator, "timer"));
        assert_eq!(seen.recv_timeout(LOOK_AGAIN * 5), Ok(first + n));
        waited += begun.elapsed();
    }
    waited
}

/// Twenty wakes take far less than twenty looks, so they were wakes.
fn assert_woken(waited: Duration) {
    assert!(waited < LOOK_AGAIN * WAKES / 4, "{WAKES} wakes took {waited:?}");
}

/// Two stores on one place; in memory there is only the one.
fn check_wakes(world: &World, waiting: &Store) {
    let gate = world.gate(|_| ()).opened.id;
    let until = 1 + u64::from(WAKES);
    for topic in [WatchTopic::Gate(gate), WatchTopic::Space(world.space)] {
        let (sender, seen) = mpsc::channel();
        let until = version(waiting, gate) - 1 + until;
        thread::scope(|scope| {
            let watch = waiting.watch(&[topic]).unwrap();
            scope.spawn(move || follow(waiting, watch, gate, until, &sender));
            assert_woken(change(world, gate, WAKES, &seen));
        });
    }
}

pub(crate) fn a_waiter_is_woken_and_does_not_look_by_itself(world: &World) {
    let other = world.site.is_shared().then(|| world.site.create());
    check_wakes(world, other.as_ref().unwrap_or(&world.store));
}

pub(crate) fn a_waiter_is_woken_by_the_group(world: &World) {
    if !world.site.is_shared() {
        return check_wakes(world, &world.store);
    }
    let group = world.site.create().with_group_commit().unwrap();
    check_wakes(&world.through(group), &world.store);
}

pub(crate) fn one_who_leaves_does_not_deafen_the_others(world: &World) {
    let gate = world.gate(|_| ()).opened.id;
    let topics = [WatchTopic::Gate(gate), WatchTopic::Space(world.space)];
    let watch = world.store.watch(&topics).unwrap();
    let (sender, seen) = mpsc::channel();
    thread::scope(|scope| {
        let until = 2 + u64::from(WAKES);
        scope.spawn(move || follow(&world.store, watch, gate, until, &sender));
        let leaving = world.store.watch(&topics).unwrap();
        change(world, gate, 1, &seen);
        drop(leaving);
        assert_woken(change(world, gate, WAKES, &seen));
    });
}

/// In the process that commits nobody has to be woken from outside, alone or in a group.
pub(crate) fn those_who_are_near_hear_of_each_commit(world: &World) {
    let group = world.site.is_shared().then(|| world.site.create().with_group_commit().unwrap());
    let through = group.map(|group| world.through(group));
    for world in [Some(world), through.as_ref()].into_iter().flatten() {
        let (sender, heard) = mpsc::channel();
        // Hears twice, and then wants to hear no more.
        let left = std::cell::Cell::new(2);
        world.store.subscribe(move |topics| {
            left.set(left.get() - 1);
            sender.send(topics.to_vec()).unwrap();
            left.get() > 0
        });
        let gate = world.gate(|_| ()).opened.id;
        let topics = vec![WatchTopic::Gate(gate), WatchTopic::Space(world.space)];
        assert_eq!(heard.recv_timeout(LOOK_AGAIN), Ok(topics.clone()));
        // What is refused is not heard of.
        let refused = world.store.write(|_| Err::<(), _>(sayso_store::Error::Conflict));
        assert!(refused.is_err());
        for _ in 0..2 {
            world.on_gate(gate, GateCommand::Remind, actor(Role::Operator, "timer"));
        }
        assert_eq!(heard.recv_timeout(LOOK_AGAIN), Ok(topics));
        assert_eq!(heard.recv_timeout(LOOK_AGAIN), Err(RecvTimeoutError::Disconnected));
    }
}

pub(crate) fn nothing_said_means_a_slow_look(world: &World) {
    let gate = world.gate(|_| ()).opened.id;
    let mut watch = world.store.watch(&[WatchTopic::Gate(gate)]).unwrap();
    let begun = Instant::now();
    watch.wait(Duration::from_millis(200));
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_millis(190) && waited < LOOK_AGAIN, "{waited:?}");
    watch.wait(Duration::from_secs(60));
    let waited = begun.elapsed();
    assert!(waited >= LOOK_AGAIN && waited < LOOK_AGAIN * 3, "{waited:?}");
}
