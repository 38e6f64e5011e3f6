//! How quick the terminal inbox is with 10,000 open gates. Nothing is asserted here: figures are for people,
//! beside the goal. `cargo xtask test -p sayso --run-ignored only --no-capture inbox::measured`
#![allow(clippy::print_stdout, reason = "what was counted is to be read")]

use super::Terminal;
use crate::harness::{Backend, Space};
use sayso_core::gate::Card;
use sayso_core::{AnswerShape, EntryPoint, GateKind};
use sayso_engine::{Desk, NewGate, RuntimeEnv, StoreLocation};
use std::time::{Duration, Instant};

/// So many gates are open.
const GATES: usize = 10_000;

/// So often each thing is measured.
const ROUNDS: usize = 20;

#[test]
#[ignore = "figures, not a test"]
fn sqlite() {
    let space = Space::new(Backend::Sqlite);
    measure(&space, StoreLocation::Sqlite(space.file()), "SQLite");
}

#[test]
#[ignore = "figures, not a test"]
fn postgres() {
    let space = Space::new(Backend::Postgres);
    measure(&space, StoreLocation::Postgres(space.store.clone().unwrap()), "PostgreSQL");
}

fn measure(space: &Space, place: StoreLocation, store: &str) {
    let name = space.path().file_name().unwrap().to_str().unwrap();
    let desk = Desk::open(place, name, RuntimeEnv::real()).unwrap();
    let secret = std::fs::read_to_string(space.token("coder")).unwrap();
    let coder = desk.authenticate(secret.trim(), EntryPoint::Cli).unwrap();
    for number in 0..GATES {
        let question = format!("Deploy number {number}?");
        let card =
            Card { question, narrative: String::new(), facts: vec![], shape: AnswerShape::Verdict };
        desk.ask(&coder, NewGate::new(desk.new_gate_id(), GateKind::Decision, None, card)).unwrap();
    }
    let mut first = vec![];
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let terminal = Terminal::open(space);
        until(&terminal, "Deploy number 0?");
        first.push(begun.elapsed());
    }
    let terminal = Terminal::open(space);
    until(&terminal, "Deploy number 0?");
    let mut keys = vec![];
    for number in 1..=ROUNDS {
        let begun = Instant::now();
        terminal.press(&["j"]);
        let question = format!("┃ Deploy number {number}?");
        until(&terminal, &question);
        keys.push(begun.elapsed());
    }
    let mut look = vec![];
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        terminal.screen();
        look.push(begun.elapsed());
    }
    println!("{store}, ms (half, nine of ten), with {GATES} open gates:");
    println!("  started to its first rows: {}", told(first));
    println!("  key to the next row and its card: {}", told(keys));
    println!("  of that, one look at the screen by tmux: {}", told(look));
}

fn until(terminal: &Terminal<'_>, wanted: &str) {
    let end = Instant::now() + super::PATIENCE;
    while !terminal.screen().contains(wanted) {
        assert!(Instant::now() < end, "no {wanted:?} on:\n{}", terminal.screen());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn told(mut all: Vec<Duration>) -> String {
    all.sort_unstable();
    let ms = |share: usize| all[(all.len() * share / 100).min(all.len() - 1)].as_secs_f64() * 1e3;
    format!("{:.0}, {:.0}", ms(50), ms(90))
}
