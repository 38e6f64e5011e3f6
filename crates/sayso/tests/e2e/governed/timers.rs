//! Thousands of timers, while the processes that fire them are killed again and again: none early, none
//! twice, none lost (R11). `SAYSO_TIMERS` makes it more or fewer.

#![allow(clippy::print_stdout, reason = "what was counted is to be read")]

use crate::harness::{Backend, Space, Who};
use crate::reliability::{Chance, ann, desk};
use crate::worker::{Project, turns};
use sayso_core::gate::{Card, GateEnding};
use sayso_core::{Actor, AnswerShape, AssuranceLevel, EntryPoint, GateKind, IdentityProof, Role};
use sayso_engine::{Desk, GateFilter, NewGate, RuntimeEnv};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How many processes fire at a time.
const FIRING: usize = 3;

#[test]
fn thousands_of_timers_sqlite() {
    run(&Space::new(Backend::Sqlite), 10_000);
}

#[test]
fn thousands_of_timers_postgres() {
    run(&Space::new(Backend::Postgres), 2_500);
}

fn run(space: &Space, usual: usize) {
    let wanted = std::env::var("SAYSO_TIMERS").ok().and_then(|text| text.parse().ok());
    let timers = wanted.unwrap_or(usual);
    // A worker works in a repository; it finds no task there, only timers.
    let _project = Project::new(space, &turns(&[]), "");
    let desk = desk(space);
    let before = desk.verify_audit(&ann(), |_| {}).unwrap().entries;
    let began = Instant::now();
    // Asked by a process with many threads, as a server is.
    let many =
        Desk::open_shared(desk.place().unwrap().clone(), desk.space_name(), RuntimeEnv::real())
            .unwrap();
    open(&many, timers);
    println!("{:?}: {timers} gates opened in {:?}", space.backend, began.elapsed());
    let kills = fire_under_kills(space, &desk);
    println!("{:?}: all fired in {:?}, {kills} processes killed", space.backend, began.elapsed());
    assert!(kills >= 5, "{kills} kills show nothing");
    check(&desk, timers);
    // Each is opened and ends, and nothing else happens to it: an entry each.
    assert_eq!(space.verify() - before, 2 * timers as u64, "none fires twice");
}

/// Opens gates that are due at various moments: some at once, some while others fire.
fn open(desk: &Desk, timers: usize) {
    let bot =
        Actor::new(Role::Service, "bot", IdentityProof::Token, AssuranceLevel::S0, EntryPoint::Cli);
    std::thread::scope(|scope| {
        for part in 0..16 {
            let bot = &bot;
            scope.spawn(move || {
                let mut chance = Chance::new(part);
                for n in (part as usize..timers).step_by(16) {
                    let card = Card {
                        question: format!("Question {n}?"),
                        narrative: String::new(),
                        facts: vec![],
                        shape: AnswerShape::Verdict,
                    };
                    let mut ask = NewGate::new(desk.new_gate_id(), GateKind::Decision, None, card);
                    ask.demands.deadline_ms = Some(1_000 + chance.below(20_000));
                    desk.ask(bot, ask).unwrap();
                }
            });
        }
    });
}

/// Lets processes fire until nothing is left, and kills one of them after the other.
fn fire_under_kills(space: &Space, desk: &Desk) -> usize {
    let start = || {
        let mut command = space.command(Who::Script, &["work", "--watch"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut chance = Chance::new(99);
    let mut processes: Vec<_> = (0..FIRING).map(|_| start()).collect();
    let end = Instant::now() + Duration::from_secs(240);
    let mut kills = 0;
    while desk.local().unwrap().next_due().unwrap().is_some() {
        assert!(Instant::now() < end, "timers are left after four minutes");
        std::thread::sleep(Duration::from_millis(100 + chance.below(700)));
        let victim = chance.below(FIRING as u64) as usize;
        assert!(processes[victim].try_wait().unwrap().is_none(), "it ended by itself");
        processes[victim].kill().unwrap();
        processes[victim].wait().unwrap();
        processes[victim] = start();
        kills += 1;
    }
    for mut process in processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    kills
}

fn check(desk: &Desk, timers: usize) {
    let mut filter = GateFilter { ended: true, limit: 1_000, ..GateFilter::default() };
    let mut seen = 0;
    loop {
        let page = desk.gates(&ann(), filter.clone()).unwrap();
        for gate in &page.items {
            let Some(GateEnding::Expired { at, .. }) = gate.ending else { panic!("{gate:?}") };
            assert!(at >= gate.opened.deadline.unwrap(), "too early: {gate:?}");
            seen += 1;
        }
        filter.after = page.items.last().map(|gate| gate.opened.id);
        if !page.more {
            break;
        }
    }
    assert_eq!(seen, timers, "none is lost");
    assert_eq!(desk.count_open_gates(10).unwrap(), 0);
}
