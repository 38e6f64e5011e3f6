//! Crash points: a write that fails half-way leaves nothing, and can be tried again.
//!
//! Triggers in the file stand for whatever goes wrong: each lets one statement of the write path
//! fail, table by table.

use crate::bench::{Bench, ann, bob, coder, fails, new_run, new_task, question, say, worker};
use sayso_core::{Code, GateId, MessageId, Role, RunId, TaskId, Timestamp};
use sayso_engine::{Desk, NewGate, NewRun, NewToken, Result, RuntimeEnv};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// What is done in each round, in order; each step stands on the one before.
struct Steps {
    task: TaskId,
    gate: GateId,
    message: MessageId,
    run: RunId,
}

const STEPS: [&str; 10] = [
    "create",
    "ask",
    "see",
    "answer",
    "deliver",
    "acknowledge",
    "note",
    "tell",
    "mint",
    "start run",
];

impl Steps {
    fn new(desk: &Desk) -> Self {
        let (task, gate) = (desk.new_task_id(), desk.new_gate_id());
        Self { task, gate, message: desk.new_message_id(), run: desk.new_run_id() }
    }

    fn take(&self, desk: &Desk, step: &str) -> Result<()> {
        match step {
            "create" => drop(desk.create_task(&ann(), new_task(self.task, "Ship"))?),
            "ask" => {
                let ask = NewGate { task: Some(self.task), ..question(self.gate, "Ship?") };
                desk.ask(&coder(), ask)?;
            }
            "see" => desk.see(&ann(), &[desk.gate(self.gate)?])?,
            "answer" => drop(say(desk, &ann(), self.gate, "Yes")?),
            "deliver" => drop(desk.deliver(&coder(), self.gate)?),
            "acknowledge" => drop(desk.acknowledge(&coder(), self.gate)?),
            "note" => drop(desk.note(&ann(), self.task, "A note", false)?),
            "tell" => drop(desk.tell(&ann(), self.message, "coder", "Go on")?),
            "mint" => {
                let (role, name, task, run) = (Role::Agent, "fixer".into(), None, None);
                desk.mint(
                    &ann(),
                    NewToken { role, name, task, run, expires_at: None, scopes: None },
                )?;
            }
            "start run" => {
                let lease_until = Timestamp::from_micros(i64::MAX);
                let new = NewRun { lease_until, ..new_run(desk, self.run, self.task) };
                desk.start_run(&worker(), new)?;
            }
            _ => panic!("{step}"),
        }
        Ok(())
    }
}

#[test]
fn a_write_that_fails_at_any_statement_leaves_nothing() {
    let tables = [
        "events",
        "audit",
        "spaces",
        "gates",
        "deliveries",
        "tasks",
        "labels",
        "outbox",
        "messages",
        "tokens",
        "runs",
    ];
    let (mut crashes, mut passed) = (0, 0);
    for (table, verb) in tables.iter().flat_map(|t| [(t, "INSERT"), (t, "UPDATE")]) {
        let bench = Bench::sqlite();
        let desk = bench.desk.clone().with_channels(vec!["mail".into()]);
        let steps = Steps::new(&desk);
        for step in STEPS {
            let before = bench.everything();
            bench.past_the_desk(&format!(
                "CREATE TRIGGER crash BEFORE {verb} ON {table} \
                 BEGIN SELECT RAISE(ABORT, 'the lights went out'); END"
            ));
            let outcome = steps.take(&desk, step);
            bench.past_the_desk("DROP TRIGGER crash");
            match outcome {
                Ok(()) => passed += 1,
                Err(error) => {
                    let what = format!("{step} with a crash at {verb} on {table}");
                    assert_eq!(error.code(), Code::Failure, "{what}: {error}");
                    assert_eq!(bench.everything(), before, "{what} left something");
                    bench.entries();
                    steps.take(&desk, step).unwrap();
                    crashes += 1;
                }
            }
        }
        // All ten steps, one entry each, and one for the space itself.
        assert_eq!(bench.entries(), 11, "{verb} on {table}");
    }
    println!("{crashes} crashes, {passed} steps that did not touch the table");
    assert!(crashes >= 45, "{crashes}");
}

/// The same for a writer that commits for many: one whose write fails costs the others nothing.
#[test]
fn one_that_fails_in_a_group_costs_the_others_nothing() {
    let bench = Bench::sqlite();
    let desk = bench.shared();
    bench.past_the_desk(
        "CREATE TRIGGER poison BEFORE INSERT ON events WHEN NEW.body LIKE '%poison%' \
         BEGIN SELECT RAISE(ABORT, 'the lights went out'); END",
    );
    let (kept, failed) = (AtomicU32::default(), AtomicU32::default());
    std::thread::scope(|scope| {
        for n in 0..32 {
            let (desk, kept, failed) = (&desk, &kept, &failed);
            scope.spawn(move || {
                for round in 0..10 {
                    let is_poison = (n + round) % 5 == 0;
                    let text = if is_poison { "poison?" } else { "fine?" };
                    let asked = desk.ask(&coder(), question(desk.new_gate_id(), text));
                    assert_eq!(asked.is_err(), is_poison);
                    let count = if is_poison { failed } else { kept };
                    count.fetch_add(1, Relaxed);
                }
            });
        }
    });
    let (kept, failed) = (kept.into_inner(), failed.into_inner());
    assert_eq!((kept, failed), (256, 64));
    let report = bench.desk.verify_audit(&ann(), |_| {}).unwrap();
    assert_eq!(report.views, u64::from(kept));
    assert_eq!(report.entries, u64::from(kept) + 1);
}

/// Somebody else always writes first: the desk looks again a bounded number of times, then says so.
#[test]
fn a_conflict_is_retried_a_bounded_number_of_times() {
    let bench = Bench::sqlite();
    let id = bench.desk.new_gate_id();
    bench.past_the_desk(
        "CREATE TRIGGER conflict BEFORE INSERT ON audit \
         BEGIN INSERT INTO spaces SELECT * FROM spaces LIMIT 1; END",
    );
    let (before, looks) = (bench.everything(), bench.clock.looks());
    fails(bench.desk.ask(&coder(), question(id, "Mine?")), Code::Busy);
    assert_eq!(bench.clock.looks() - looks, 5, "one look at the clock for each try");
    assert_eq!(bench.everything(), before);
    // A conflict that goes away is not even noticed.
    let (ask, desk) = (question(id, "Mine?"), bench.desk.clone());
    let asking = std::thread::spawn(move || desk.ask(&coder(), ask));
    std::thread::sleep(Duration::from_millis(25));
    bench.past_the_desk("DROP TRIGGER conflict");
    asking.join().unwrap().unwrap();
    assert_eq!(bench.entries(), 2);
}

/// A bug, seen as a panic in the middle of a write, is one caller's failure and nobody else's.
#[test]
fn a_panic_in_a_write_leaves_nothing() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        let is_broken = Arc::new(AtomicBool::new(false));
        let (clock, broken) = (bench.clock.world(), is_broken.clone());
        let world = RuntimeEnv::new(
            move || {
                assert!(!broken.load(Relaxed), "a bug, on purpose");
                clock.now()
            },
            || 7,
        );
        let (desk, is_new) = match &bench.file {
            Some(file) => {
                let place = sayso_engine::StoreLocation::Sqlite(file.clone());
                (Desk::open_shared(place, "test", world).unwrap(), false)
            }
            None => {
                Desk::create(sayso_engine::StoreLocation::Memory, "test", &ann(), world).unwrap()
            }
        };
        assert_eq!(is_new, bench.file.is_none());
        let id = desk.new_gate_id();
        is_broken.store(true, Relaxed);
        fails(desk.ask(&coder(), question(id, "Now?")), Code::Failure);
        is_broken.store(false, Relaxed);
        fails(desk.gate(id), Code::NotFound);
        desk.ask(&coder(), question(id, "Now?")).unwrap();
        assert_eq!(desk.verify_audit(&ann(), |_| {}).unwrap().entries, 2);
    }
}

/// A row that says the same in another text, as an older version may have written it, is the same gate.
#[test]
fn a_row_with_another_text_for_the_same_is_fine() {
    let bench = Bench::sqlite();
    let gate = bench.ask("Ship?").opened.id;
    bench.past_the_desk("UPDATE gates SET body = replace(body, ',\"attempts\":0', ' ')");
    assert_eq!(bench.desk.gate(gate).unwrap().attempts, 0);
    say(&bench.desk, &ann(), gate, "Yes").unwrap();
    assert!(!bench.desk.gate(gate).unwrap().is_open());
}

/// Whoever changes the store past the desk is found out, and nothing is decided on what they left.
#[test]
fn what_was_written_past_the_desk_is_not_acted_on() {
    let tampering = [
        "DROP TRIGGER events_stay; UPDATE events SET body = replace(body, 'Ship?', 'Ship it all?')",
        "DROP TRIGGER events_stay; UPDATE events SET at = at + 1",
        "DROP TRIGGER events_keep; DELETE FROM events WHERE version = 2",
        "DROP TRIGGER events_stay; UPDATE events SET version = 7 WHERE version = 2",
        "UPDATE gates SET body = replace(body, 'Ship?', 'Ship it all?')",
        "UPDATE gates SET body = replace(body, 'Yes', 'No!')",
        "DELETE FROM gates",
    ];
    for sql in tampering {
        let bench = Bench::sqlite();
        let gate = bench.ask("Ship?").opened.id;
        say(&bench.desk, &ann(), gate, "Yes").unwrap();
        bench.past_the_desk(sql);
        fails(bench.desk.gate(gate), Code::AuditBroken);
        fails(say(&bench.desk, &bob(), gate, "No"), Code::AuditBroken);
        fails(bench.desk.acknowledge(&coder(), gate), Code::AuditBroken);
        fails(bench.desk.verify_audit(&ann(), |_| {}), Code::AuditBroken);
    }
    assert_eq!(tampering.len(), 7);
}
