//! What must hold whatever crashes, races or runs full: real processes, killed for real.
//!
//! Each test counts what it saw and asserts the count, so that none can pass without having looked.
//! The numbers are printed; RELIABILITY.md says what they stand for and how to see them again.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what was counted is to be read")]

mod again;
mod backup;
mod broken;
mod clocks;
mod crowd;
mod disk;
mod full;
mod gateway;
mod governs;
mod hung;
mod inputs;
mod kill;
mod lost;
mod older;
mod places;
mod race;
mod ready;
mod restart;
mod silent;
mod wake;

use crate::harness::{Backend, Space, Who};
use sayso_core::gate::Card;
use sayso_core::{
    Actor, AnswerShape, AssuranceLevel, EntryPoint, GateId, GateKind, IdentityProof, Role, TaskId,
    Timestamp,
};
use sayso_engine::{Desk, NewGate, RuntimeEnv, StoreLocation};
use std::time::{SystemTime, UNIX_EPOCH};

/// A way into a space past the program, to look at what it left behind. It reads on a connection of
/// its own, as a process started afterwards would.
pub(crate) fn desk(space: &Space) -> Desk {
    Desk::open(place(space), &name(space), RuntimeEnv::real()).unwrap()
}

fn place(space: &Space) -> StoreLocation {
    match (&space.backend, &space.store) {
        (Backend::Postgres, Some(url)) => StoreLocation::Postgres(url.clone()),
        _ => StoreLocation::Sqlite(space.file()),
    }
}

/// The name `sayso init` gave the space: that of its folder.
fn name(space: &Space) -> String {
    space.path().file_name().unwrap().to_str().unwrap().to_owned()
}

/// How many credentials a fresh space has. Verifying the audit compares them with the log, as it does gates and tasks.
const TOKENS: u64 = 4;

/// Makes a space in an empty folder, with the tokens a fresh one has.
fn furnish(space: &Space) {
    space.run(Who::Script, &["init"]).ok();
    for name in ["ann", "bob"] {
        space.mint("human", name);
    }
    for name in ["coder", "tester"] {
        space.mint("agent", name);
    }
}

/// A question in words, from an agent, as the desk takes it.
fn question(id: GateId, text: &str) -> NewGate {
    let (narrative, facts, shape) = (String::new(), vec![], AnswerShape::Text);
    let card = Card { question: text.into(), narrative, facts, shape };
    NewGate::new(id, GateKind::Decision, None, card)
}

/// An agent as the desk knows it from its token.
fn agent(name: &str) -> Actor {
    Actor { role: Role::Agent, name: name.into(), launcher: Some("ann".into()), ..ann() }
}

/// Somebody who may read everything.
pub(crate) fn ann() -> Actor {
    Actor {
        scopes: None,
        stands_for: vec![],
        introductions: vec![],
        role: Role::Human,
        name: "ann".into(),
        run: None,
        task: None,
        launcher: None,
        proof: IdentityProof::Token,
        level: AssuranceLevel::S0,
        door: EntryPoint::Cli,
    }
}

/// How many entries the audit has; it holds.
#[track_caller]
fn entries(space: &Space) -> u64 {
    desk(space).verify_audit(&ann(), |_| {}).unwrap().entries
}

/// An id made by the caller, as agents make them.
fn gate_id(chance: &mut Chance) -> GateId {
    GateId::mint(now(), chance.wide())
}

fn task_id(chance: &mut Chance) -> TaskId {
    TaskId::mint(now(), chance.wide())
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_micros(since.as_micros().try_into().unwrap())
}

/// Numbers by chance, the same for the same seed. `SAYSO_SEED` chooses another.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(salt: u64) -> Self {
        Self(Self::seed() ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Where all chance begins.
    pub(crate) fn seed() -> u64 {
        let seed = std::env::var("SAYSO_SEED").ok().and_then(|text| text.parse().ok());
        seed.unwrap_or(7_142)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}
