//! A crowd: many processes and a long-lived one write one store; no write is lost (R17).

use super::{agent, ann, desk, name, place, question};
use crate::harness::{Backend, Space, Who};
use sayso_core::gate::Gate;
use sayso_core::task::TaskEvent;
use sayso_engine::{Desk, GateFilter, RuntimeEnv, TaskFilter};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const WRITERS: u64 = 16;

/// The longest any single command may take with the whole crowd at work.
const WAIT_MAX: Duration = Duration::from_secs(15);

#[test]
fn sixteen_processes_and_a_server_write_one_file_sqlite() {
    crowd(Backend::Sqlite, 12);
}

#[test]
fn sixteen_processes_and_a_server_write_one_database_postgres() {
    crowd(Backend::Postgres, 4);
}

fn crowd(backend: Backend, rounds: u64) {
    let space = Space::new(backend);
    let before = super::entries(&space);
    let slowest = Mutex::new(Duration::ZERO);
    let handles = Mutex::new(BTreeSet::new());
    let (is_over, served) = (AtomicBool::new(false), AtomicU64::default());
    let began = Instant::now();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(&space, &is_over, &served));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (space, slowest, handles) = (&space, &slowest, &handles);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let made = write(space, writer, round, slowest);
                        handles.lock().unwrap().extend(made);
                    }
                })
            })
            .collect();
        // All of them first: a server that is not told to end would keep a failure waiting for ever.
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        is_over.store(true, Relaxed);
        server.join().unwrap();
        written.into_iter().for_each(|writer| writer.unwrap());
    });
    let (served, slowest) = (served.load(Relaxed), slowest.into_inner().unwrap());
    let commands = WRITERS * rounds * 3;
    println!(
        "{backend:?}: {commands} commands of {WRITERS} processes beside {served} of a server in \
         {:?}, the slowest {slowest:?}",
        began.elapsed()
    );
    assert!(slowest < WAIT_MAX, "{slowest:?}");
    assert!(served >= 20, "the server wrote only {served} times");
    assert_eq!(handles.into_inner().unwrap().len() as u64, WRITERS * rounds * 2, "unique handles");
    check(&space, rounds, served);
    assert_eq!(super::entries(&space), before + commands + served, "one entry for each write");
    space.verify();
}

/// Makes a task, asks about it and writes a note; returns the handles.
fn write(space: &Space, writer: u64, round: u64, slowest: &Mutex<Duration>) -> [String; 2] {
    let timed = |who: Who<'_>, args: &[&str]| {
        let began = Instant::now();
        let said = space.run(who, args).ok();
        let mut slowest = slowest.lock().unwrap();
        *slowest = (*slowest).max(began.elapsed());
        said
    };
    let title = format!("Task {round} of writer {writer}");
    let task = timed(Who::Script, &["create", &title]);
    let question = format!("Question {round} of writer {writer}?");
    let gate = timed(Who::Agent("coder"), &["ask", &question, "--task", &task]);
    let note = format!("Note {round} of writer {writer}");
    timed(Who::Agent("tester"), &["note", &task, &note]);
    [task, gate]
}

/// A process with many threads that keeps its connections, as a server does.
fn serve(space: &Space, is_over: &AtomicBool, served: &AtomicU64) {
    let desk = Desk::open_shared(place(space), &name(space), RuntimeEnv::real()).unwrap();
    let agent = agent("served");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    let ask = question(desk.new_gate_id(), "From the server?");
                    desk.ask(&agent, ask).unwrap();
                    served.fetch_add(1, Relaxed);
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
    });
}

/// Everything is there, once.
fn check(space: &Space, rounds: u64, served: u64) {
    let desk = desk(space);
    let gates = desk.gates(&ann(), GateFilter { limit: 100_000, ..GateFilter::default() }).unwrap();
    let asked = |gate: &&Gate| gate.opened.lineage.asker == "coder";
    let by_processes: BTreeSet<_> =
        gates.items.iter().filter(asked).map(|gate| gate.card.question.clone()).collect();
    assert_eq!(by_processes.len() as u64, WRITERS * rounds);
    assert_eq!(gates.items.len() as u64, WRITERS * rounds + served);
    let tasks = desk.tasks(&TaskFilter { limit: 100_000, ..TaskFilter::default() }).unwrap();
    assert_eq!(tasks.items.len() as u64, WRITERS * rounds);
    for row in &tasks.items {
        assert_eq!(row.task.waits_for.len(), 1, "{}", row.task.title);
        let history = desk.history(row.task.id).unwrap();
        let note = row.task.title.replace("Task", "Note");
        let is_it = |e: &TaskEvent| matches!(e, TaskEvent::Noted(n) if n.text == note);
        let notes = history.iter().filter(|(_, e)| is_it(e)).count();
        assert_eq!(notes, 1, "{}", row.task.title);
    }
}
