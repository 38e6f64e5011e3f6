//! A store with a space in it, whose gates and tasks are what the core made of commands.

use crate::site::Site;
use sayso_core::audit::{ChainEntry, ChainVerifier, EventReference};
use sayso_core::gate::{self, Card, Gate, GateSpec};
use sayso_core::task::{self, Task, TaskEdit, TaskSpec};
use sayso_core::{
    Actor, Answer, AnswerShape, AssuranceLevel, EntryPoint, GateId, GateKind, IdentityProof, Role,
    SpaceId, TaskId, Timestamp,
};
use sayso_store::{
    GateFilter, HandleTable, ListPage, Result, Store, TaskFilter, TaskRow, WriteTransaction,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

/// When every world begins; a tick is a second.
const BEGIN_MICROS: i64 = 1_700_000_000_000_000;

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) space: SpaceId,
    pub(crate) site: Site,
    ticks: AtomicI64,
}

/// The moment `ticks` seconds after the beginning.
pub(crate) fn at(ticks: i64) -> Timestamp {
    Timestamp::from_micros(BEGIN_MICROS).plus_micros(ticks * 1_000_000)
}

pub(crate) fn actor(role: Role, name: &str) -> Actor {
    Actor::new(role, name, IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Cli)
}

pub(crate) fn ann() -> Actor {
    actor(Role::Human, "ann")
}

/// An event of a stream that means nothing to the core.
pub(crate) fn event(stream: &str, version: u64) -> (String, u64, String) {
    (stream.into(), version, format!("{{\"event\":\"test\",\"n\":{version}}}"))
}

/// An audit entry about nothing in particular.
pub(crate) fn entry(space: SpaceId, at: Timestamp) -> ChainEntry {
    ChainEntry::new(&ann(), space, at, "test.done", "x")
}

impl World {
    pub(crate) fn new(site: Site) -> Self {
        let store = site.create();
        let space = SpaceId::mint(at(0), 7);
        store.write(move |write| write.add_space(space, "home", at(0))).unwrap();
        Self { store, space, site, ticks: AtomicI64::new(0) }
    }

    /// The same world through another store, in later times.
    pub(crate) fn through(&self, store: Store) -> Self {
        let ticks = AtomicI64::new(1_000_000);
        Self { store, space: self.space, site: Site::memory(), ticks }
    }

    /// The next moment: nothing in a world happens at the same time by accident.
    pub(crate) fn tick(&self) -> Timestamp {
        at(self.ticks.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Chance that never repeats within a world.
    pub(crate) fn chance(&self) -> u128 {
        let count = self.ticks.fetch_add(1, Ordering::Relaxed) as u128 + 1;
        count.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39d) & ((1 << 80) - 1)
    }

    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut WriteTransaction<'_>) -> Result<T> + Send + 'static,
    ) -> T {
        self.store.write(work).unwrap()
    }

    /// Opens a gate; `shape` says what is particular to it.
    pub(crate) fn gate(&self, shape: impl FnOnce(&mut GateSpec)) -> Gate {
        self.gate_at(self.tick(), shape)
    }

    pub(crate) fn gate_at(&self, at: Timestamp, shape: impl FnOnce(&mut GateSpec)) -> Gate {
        let bot = actor(Role::Operator, "bot");
        let id = GateId::mint(at, self.chance());
        let card = Card {
            question: "Ship it?".into(),
            narrative: String::new(),
            facts: vec![],
            shape: AnswerShape::Verdict,
        };
        let mut opened = GateSpec {
            least_proof: IdentityProof::None,
            ..GateSpec::new(id, self.space, "", GateKind::Approval, card, bot.lineage())
        };
        shape(&mut opened);
        let (id, space) = (opened.id, self.space);
        opened.handle = self
            .write(move |write| write.free_handle(HandleTable::Gates, space, |len| id.handle(len)));
        self.on_gate_at(at, id, gate::GateCommand::Open(Box::new(opened)), bot)
    }

    pub(crate) fn answer(&self, gate: &Gate) -> Gate {
        let digest = gate.digest.to_string();
        let command = gate::GateCommand::Answer { answer: Answer::approved(), digest };
        self.on_gate(gate.opened.id, command, ann())
    }

    /// Hands a command to a gate as the desk does: decide, apply, append, put.
    pub(crate) fn on_gate(&self, id: GateId, command: gate::GateCommand, by: Actor) -> Gate {
        self.on_gate_at(self.tick(), id, command, by)
    }

    fn on_gate_at(&self, at: Timestamp, id: GateId, command: gate::GateCommand, by: Actor) -> Gate {
        let space = self.space;
        self.write(move |write| {
            write.lock(space)?;
            let (mut gate, mut version) = write.gate_view(id)?.unzip_or_new();
            let decided = gate::decide(gate.as_ref(), &command, &by, at).unwrap();
            let mut rows = vec![];
            for event in &decided {
                version += 1;
                let body = serde_json::to_string(event).unwrap();
                rows.push((format!("gate/{id}"), version, body));
                gate = gate::apply(gate, event, at);
            }
            let gate = gate.unwrap();
            write
                .append(ChainEntry::new(&by, space, at, decided[0].name(), gate.handle()), &rows)?;
            write.put_gate(&gate, version)?;
            Ok(gate)
        })
    }

    /// Makes a task; `shape` says what is particular to it.
    pub(crate) fn task(&self, shape: impl FnOnce(&mut TaskSpec)) -> Task {
        self.task_at(self.tick(), shape)
    }

    pub(crate) fn task_at(&self, at: Timestamp, shape: impl FnOnce(&mut TaskSpec)) -> Task {
        let created = self.created(at, shape);
        self.on_task_at(at, created.id, task::TaskCommand::Create(Box::new(created)))
    }

    fn created(&self, at: Timestamp, shape: impl FnOnce(&mut TaskSpec)) -> TaskSpec {
        let id = TaskId::mint(at, self.chance());
        let mut created = TaskSpec {
            id,
            space: self.space,
            handle: String::new(),
            title: "Do it".into(),
            body: String::new(),
            sort: "task".into(),
            priority: 2,
            size: None,
            labels: Default::default(),
            parent: None,
            blocked_by: Default::default(),
            requires: None,
            created_by: "ann".into(),
        };
        shape(&mut created);
        let (id, space) = (created.id, self.space);
        created.handle = self
            .write(move |write| write.free_handle(HandleTable::Tasks, space, |len| id.handle(len)));
        created
    }

    /// Hands a command to a task as the desk does, by a person.
    pub(crate) fn on_task(&self, id: TaskId, command: task::TaskCommand) -> Task {
        self.on_task_at(self.tick(), id, command)
    }

    fn on_task_at(&self, at: Timestamp, id: TaskId, command: task::TaskCommand) -> Task {
        let space = self.space;
        self.write(move |write| {
            write.lock(space)?;
            let (row, mut version) = write.task(id)?.unzip_or_new();
            let mut task = row.map(|row| row.task);
            let decided = task::decide(task.as_ref(), &command, &ann(), at).unwrap();
            let mut rows = vec![];
            for event in &decided {
                version += 1;
                let body = serde_json::to_string(event).unwrap();
                rows.push((format!("task/{id}"), version, body));
                task = task::apply(task, event, at);
            }
            let task = task.unwrap();
            write.append(
                ChainEntry::new(&ann(), space, at, decided[0].name(), &task.handle),
                &rows,
            )?;
            write.put_task(&task, version)?;
            Ok(task)
        })
    }

    pub(crate) fn edit(&self, id: TaskId, edit: TaskEdit) -> Task {
        self.on_task(id, task::TaskCommand::Edit(Box::new(edit)))
    }

    pub(crate) fn close(&self, id: TaskId) -> Task {
        self.on_task(id, task::TaskCommand::Close { reason: "done".into(), open_children: 0 })
    }

    pub(crate) fn reopen(&self, id: TaskId) -> Task {
        self.on_task(id, task::TaskCommand::Reopen { reason: "again".into() })
    }

    /// Opens a gate on a task, which then waits for it.
    pub(crate) fn ask(&self, id: TaskId, kind: GateKind) -> Gate {
        let gate = self.gate(|opened| (opened.kind, opened.task) = (kind, Some(id)));
        let handle = gate.handle().to_owned();
        self.on_task(id, task::TaskCommand::Ask { gate: gate.opened.id, handle, kind });
        gate
    }

    /// Answers a gate on a task, which is then released.
    pub(crate) fn settle(&self, gate: &Gate) {
        let answered = self.answer(gate);
        let GateSpec { id, kind, handle, task, .. } = answered.opened.clone();
        let verdict = answered.answer().map(|(answer, _)| answer.verdict);
        let command =
            task::TaskCommand::Settle { gate: id, handle, kind, ending: "answered", verdict };
        self.on_task(task.unwrap(), command);
    }

    pub(crate) fn gates(&self, filter: GateFilter) -> ListPage<Gate> {
        self.store.read(|read| read.gates(self.space, &filter)).unwrap()
    }

    pub(crate) fn tasks(&self, filter: TaskFilter) -> ListPage<TaskRow> {
        self.store.read(|read| read.tasks(self.space, &filter)).unwrap()
    }

    pub(crate) fn row(&self, id: TaskId) -> TaskRow {
        self.store.read(|read| read.task(id)).unwrap().unwrap().0
    }

    pub(crate) fn ready(&self) -> Vec<TaskId> {
        let now = self.tick();
        ids(&self.tasks(TaskFilter { ready_at: Some(now), limit: 100, ..Default::default() }))
    }

    /// How many events and audit entries there are.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.store
            .read(|read| {
                let events = read.events_after(self.space, "", 0, usize::MAX)?.len();
                Ok((events, read.audit_after(self.space, 0, usize::MAX)?.len()))
            })
            .unwrap()
    }

    /// The chain holds from end to end, and every event stands in it exactly once, unchanged.
    pub(crate) fn verify(&self) {
        self.store
            .read(|read| {
                let mut verifier = ChainVerifier::new(self.space);
                let mut marks = BTreeMap::new();
                for sealed in read.audit_after(self.space, 0, usize::MAX)? {
                    for mark in verifier.next(&sealed).unwrap().events {
                        let key = (mark.stream.clone(), mark.version);
                        assert_eq!(marks.insert(key.clone(), (mark, sealed.seq)), None, "{key:?}");
                    }
                }
                let spaces = read.spaces()?;
                let head = &spaces.iter().find(|s| s.id == self.space).unwrap().head;
                verifier.finish(head).unwrap();
                for row in read.events_after(self.space, "", 0, usize::MAX)? {
                    let mark = EventReference::of(&row.stream, row.version, &row.body);
                    let marked = marks.remove(&(row.stream.clone(), row.version));
                    assert_eq!(marked, Some((mark, row.audit)), "{} {}", row.stream, row.version);
                }
                assert!(marks.is_empty(), "entries without events: {marks:?}");
                Ok(())
            })
            .unwrap();
    }
}

/// The ids on a page, in its order.
pub(crate) fn ids(page: &ListPage<TaskRow>) -> Vec<TaskId> {
    page.items.iter().map(|row| row.task.id).collect()
}

/// The ids on a page, in its order.
pub(crate) fn gate_ids(page: &ListPage<Gate>) -> Vec<GateId> {
    page.items.iter().map(|gate| gate.opened.id).collect()
}

trait UnzipOrNew<T> {
    fn unzip_or_new(self) -> (Option<T>, u64);
}

impl<T> UnzipOrNew<T> for Option<(T, u64)> {
    /// What is there with its version, or nothing with version 0.
    fn unzip_or_new(self) -> (Option<T>, u64) {
        self.map_or((None, 0), |(value, version)| (Some(value), version))
    }
}
