//! A desk of a test's own, with a clock that can be set, and people and agents who come to it.

use sayso_core::gate::{Card, Gate};
use sayso_core::run::LeaseHolder;
use sayso_core::{
    Actor, Answer, AnswerShape, AssuranceLevel, Code, EntryPoint, GateId, GateKind, IdentityProof,
    Role, RunId, TaskId, Timestamp,
};
use sayso_engine::{Desk, NewGate, NewRun, NewTask, Result, RuntimeEnv, StoreLocation};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use tempfile::TempDir;

/// When every test begins.
pub const NOON: i64 = 1_763_208_000_000_000;

/// A second, in the unit of the clock.
pub const SECOND: i64 = 1_000_000;

pub struct Bench {
    pub desk: Desk,
    pub clock: Clock,
    pub file: Option<PathBuf>,
    _folder: Option<TempDir>,
}

/// A clock that goes on by a microsecond each time somebody looks at it, and counts the looks.
#[derive(Clone, Default)]
pub struct Clock {
    now: Arc<AtomicI64>,
    looks: Arc<AtomicU64>,
}

impl Clock {
    pub fn set(&self, micros: i64) {
        self.now.store(micros, Relaxed);
    }

    pub fn jump(&self, micros: i64) {
        self.now.fetch_add(micros, Relaxed);
    }

    pub fn at(&self) -> Timestamp {
        Timestamp::from_micros(self.now.load(Relaxed))
    }

    pub fn looks(&self) -> u64 {
        self.looks.load(Relaxed)
    }

    fn look(&self) -> Timestamp {
        self.looks.fetch_add(1, Relaxed);
        // At the very end of time it stands still.
        let next = |now: i64| Some(now.saturating_add(1));
        Timestamp::from_micros(self.now.fetch_update(Relaxed, Relaxed, next).unwrap())
    }

    /// A world with this clock.
    pub fn world(&self) -> RuntimeEnv {
        let (clock, count) = (self.clone(), AtomicU64::new(1));
        RuntimeEnv::new(
            move || clock.look(),
            move || {
                u128::from(count.fetch_add(1, Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c)
            },
        )
    }
}

impl Bench {
    pub fn memory() -> Self {
        Self::at(StoreLocation::Memory, None, None)
    }

    pub fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("sayso.db");
        Self::at(StoreLocation::Sqlite(file.clone()), Some(file), Some(folder))
    }

    fn at(place: StoreLocation, file: Option<PathBuf>, folder: Option<TempDir>) -> Self {
        let clock = Clock::default();
        clock.set(NOON);
        let (desk, is_new) = Desk::create(place, "test", &ann(), clock.world()).unwrap();
        assert!(is_new);
        Self { desk, clock, file, _folder: folder }
    }

    /// The same store, opened for many threads.
    pub fn shared(&self) -> Desk {
        match &self.file {
            Some(file) => {
                let place = StoreLocation::Sqlite(file.clone());
                // Real time, which the store need not be near: it was made at noon of a day long ago.
                let (clock, chance) = (RuntimeEnv::real(), RuntimeEnv::real());
                let world = RuntimeEnv::new(move || clock.now(), move || chance.random_u128());
                Desk::open_shared(place, "test", world).unwrap()
            }
            None => self.desk.clone(),
        }
    }

    pub fn ask(&self, text: &str) -> Gate {
        self.desk.ask(&coder(), question(self.desk.new_gate_id(), text)).unwrap()
    }

    pub fn task(&self, title: &str) -> TaskId {
        self.desk.create_task(&ann(), new_task(self.desk.new_task_id(), title)).unwrap().id
    }

    /// How many entries the audit has. It holds, and every view is what its events made it.
    #[track_caller]
    pub fn entries(&self) -> u64 {
        self.desk.verify_audit(&ann(), |_| {}).unwrap().entries
    }

    /// A second way in, past the desk.
    pub fn past_the_desk(&self, sql: &str) {
        let file = rusqlite::Connection::open(self.file.as_ref().unwrap()).unwrap();
        file.execute_batch(sql).unwrap();
    }

    /// Everything that is in the store.
    pub fn everything(&self) -> Vec<String> {
        let file = rusqlite::Connection::open(self.file.as_ref().unwrap()).unwrap();
        let tables: Vec<String> = file
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(|name| name.unwrap())
            .collect();
        assert!(tables.len() >= 12, "{tables:?}");
        let mut all = vec![];
        for table in tables {
            let mut statement = file.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let cells: String =
                    (0..columns).map(|at| format!("{:?} ", row.get_ref(at).unwrap())).collect();
                all.push(format!("{table}: {cells}"));
            }
        }
        all
    }
}

fn actor(role: Role, name: &str) -> Actor {
    Actor {
        scopes: None,
        stands_for: vec![],
        introductions: vec![],
        role,
        name: name.into(),
        run: None,
        task: None,
        launcher: None,
        proof: IdentityProof::Token,
        level: AssuranceLevel::S0,
        door: EntryPoint::Cli,
    }
}

pub fn ann() -> Actor {
    Actor { proof: IdentityProof::Tty, ..actor(Role::Human, "ann") }
}

pub fn bob() -> Actor {
    actor(Role::Human, "bob")
}

pub fn coder() -> Actor {
    Actor { launcher: Some("ann".into()), ..actor(Role::Agent, "coder") }
}

pub fn worker() -> Actor {
    actor(Role::Operator, "worker")
}

pub fn question(id: GateId, text: &str) -> NewGate {
    let (narrative, facts, shape) = (String::new(), vec![], AnswerShape::Text);
    let card = Card { question: text.into(), narrative, facts, shape };
    NewGate::new(id, GateKind::Decision, None, card)
}

pub fn new_task(id: TaskId, title: &str) -> NewTask {
    NewTask {
        id,
        title: title.into(),
        body: String::new(),
        sort: "task".into(),
        priority: 2,
        size: None,
        labels: BTreeSet::from(["web".to_owned()]),
        parent: None,
        blocked_by: BTreeSet::new(),
        requires: None,
        awaiting: None,
    }
}

/// Answers with the card as it stands.
/// The secret of a run's agent is this and the run's id.
pub const SECRET: &str = "sayso_a_test";

pub fn new_run(desk: &Desk, id: RunId, task: TaskId) -> NewRun {
    NewRun {
        id,
        task,
        agent: "coder".into(),
        lease_until: desk.now().plus_micros(60 * SECOND),
        holder: LeaseHolder::default(),
        session: None,
        secret: format!("{SECRET}{id}"),
    }
}

pub fn say(desk: &Desk, who: &Actor, id: GateId, text: &str) -> Result<Gate> {
    let gate = desk.gate(id)?;
    desk.answer(who, id, Answer::text(text), gate.digest.as_str())
}

/// Asserts that it was refused or failed with this code.
#[track_caller]
pub fn fails<T>(result: Result<T>, code: Code) {
    match result {
        Ok(_) => panic!("it went through; expected {code:?}"),
        Err(error) => assert_eq!(error.code(), code, "{error}"),
    }
}

/// Makes two tests of one: in memory and on a file.
macro_rules! on_each {
    ($(#[$doc:meta])* fn $name:ident($bench:ident: &Bench) $body:block) => {
        mod $name {
            use super::*;

            $(#[$doc])*
            fn run($bench: &Bench) $body

            #[test]
            fn memory() {
                run(&Bench::memory());
            }

            #[test]
            fn sqlite() {
                run(&Bench::sqlite());
            }
        }
    };
}
pub(crate) use on_each;
