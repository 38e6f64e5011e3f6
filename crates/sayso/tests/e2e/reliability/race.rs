//! Races: many processes answer one gate, one wins, and each of the others is told who did (R3).
//!
//! A racer is started with its text on standard input, so that it waits there, loaded and ready,
//! until all are let go at once.

use super::{Chance, ann, desk, gate_id};
use crate::harness::{Backend, Space, Who};
use sayso_core::{AnswerContent, GateId};
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

const PEOPLE: [&str; 8] = ["ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"];

#[test]
fn one_of_64_processes_wins_each_of_500_gates_sqlite() {
    race(Backend::Sqlite, 500, 64, 2);
}

#[test]
fn one_of_64_processes_wins_each_gate_postgres() {
    race(Backend::Postgres, 30, 64, 1);
}

#[test]
fn one_of_2_and_one_of_8_processes_wins() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        race(backend, 25, 2, 2);
        race(backend, 15, 8, 2);
    }
}

#[derive(Default)]
struct Seen {
    winners: AtomicU64,
    losers: AtomicU64,
    /// Gates that somebody else won than the first to be let go.
    overtaken: AtomicU64,
}

fn race(backend: Backend, gates: u64, racers: usize, at_once: u64) {
    let space = Space::new(backend);
    for name in &PEOPLE[2..] {
        space.mint("human", name);
    }
    let began = Instant::now();
    let (seen, next) = (Seen::default(), AtomicU64::default());
    std::thread::scope(|scope| {
        for salt in 0..at_once {
            let (space, seen, next) = (&space, &seen, &next);
            scope.spawn(move || {
                let mut chance = Chance::new(salt);
                while next.fetch_add(1, Relaxed) < gates {
                    race_for_one(space, gate_id(&mut chance), racers, seen);
                }
            });
        }
    });
    let [winners, losers, overtaken] =
        [&seen.winners, &seen.losers, &seen.overtaken].map(|count| count.load(Relaxed));
    println!(
        "{backend:?}: {gates} gates, {racers} racers each: {winners} winners, {losers} losers, \
         {overtaken} won by a later starter, {:?}",
        began.elapsed()
    );
    assert_eq!(winners, gates);
    assert_eq!(losers, gates * (racers as u64 - 1));
    assert!(overtaken > 0, "nobody ever overtook the first: that was no race");
    space.verify();
    let report = desk(&space).verify_audit(&ann(), |_| {}).unwrap();
    // Eight people and two agents have a token each, and each person was introduced by the admin.
    let (tokens, introductions) = (PEOPLE.len() as u64 + 2, PEOPLE.len() as u64);
    let expected = gates * 2 + tokens + introductions;
    assert_eq!(report.events, expected, "each gate was opened once and answered once");
}

fn race_for_one(space: &Space, id: GateId, racers: usize, seen: &Seen) {
    let gate = id.to_string();
    space.run(Who::Agent("coder"), &["ask", "Who is first?", "--id", &gate]).ok();
    let start = |n: usize| space.start(Who::Human(PEOPLE[n % 8]), &["respond", &gate, "-"]);
    let mut waiting: Vec<_> = (0..racers).map(start).collect();
    for (n, racer) in waiting.iter_mut().enumerate() {
        racer.stdin.take().unwrap().write_all(format!("from racer {n}").as_bytes()).unwrap();
    }
    let ended: Vec<_> = waiting.into_iter().map(|r| r.wait_with_output().unwrap()).collect();
    let winners: Vec<_> = (0..racers).filter(|n| ended[*n].status.code() == Some(0)).collect();
    assert_eq!(winners.len(), 1, "gate {gate} was won by {winners:?}");
    let (winner, by) = (winners[0], PEOPLE[winners[0] % 8]);
    for (n, loser) in ended.iter().enumerate().filter(|(n, _)| *n != winner) {
        let said = String::from_utf8_lossy(&loser.stderr);
        assert_eq!(loser.status.code(), Some(6), "racer {n}: {said}");
        assert!(said.contains("SAY004"), "racer {n}: {said}");
        assert!(said.contains(&format!("by {by}")), "racer {n} was not told of {by}: {said}");
        assert!(loser.stdout.is_empty(), "racer {n} was told that it counted");
    }
    let gate = desk(space).gate(id).unwrap();
    let (answer, signed) = gate.answer().unwrap();
    assert_eq!(answer.content, AnswerContent::Text(format!("from racer {winner}")));
    assert_eq!(signed.name, by);
    seen.winners.fetch_add(1, Relaxed);
    seen.losers.fetch_add(racers as u64 - 1, Relaxed);
    seen.overtaken.fetch_add(u64::from(winner != 0), Relaxed);
}

/// A yes, a no and a withdrawal at once: the gate ends one way, and every caller hears which.
#[test]
fn answers_race_with_a_withdrawal() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let space = Space::new(backend);
        let endings = Mutex::new(std::collections::BTreeMap::<String, u32>::new());
        let mut chance = Chance::new(11);
        for round in 0..24 {
            let id = gate_id(&mut chance).to_string();
            space.run(Who::Agent("coder"), &["ask", "Go?", "--verdict", "--id", &id]).ok();
            let mut racers = [
                (Who::Human("ann"), vec!["approve", &id]),
                (Who::Human("bob"), vec!["reject", &id, "no"]),
                (Who::Agent("coder"), vec!["withdraw", &id]),
            ];
            // Who starts first has an edge; everybody gets it in turn.
            racers.rotate_left(round % 3);
            let started: Vec<_> =
                racers.iter().map(|(who, args)| space.start(*who, args)).collect();
            let ended: Vec<_> =
                started.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
            let codes: Vec<_> = ended.iter().map(|e| e.status.code().unwrap()).collect();
            let won = codes.iter().filter(|code| **code == 0).count();
            assert_eq!(won, 1, "{codes:?}");
            assert!(codes.iter().all(|code| [0, 6].contains(code)), "{codes:?}");
            let gate = space.show(&id);
            let state = match gate["answer"]["verdict"].as_str() {
                Some(verdict) => verdict.to_owned(),
                None => gate["state"].as_str().unwrap().to_owned(),
            };
            *endings.lock().unwrap().entry(state).or_default() += 1;
        }
        println!("{backend:?}: {endings:?}");
        assert!(endings.lock().unwrap().len() >= 2, "the same one won every time: {endings:?}");
        space.verify();
    }
}
