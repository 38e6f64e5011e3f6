//! Flows, measured: a step that asks, an answer, and the step behind it; whole flows at one time; flows that
//! wait. One line of JSON behind `@@`, as the peers' programs print it.
//!
//! `b1 --backend sqlite --dir DIR --n 60 --warmup 10 --inflight 1 --think 0.02`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs
)]

use sayso_core::{Actor, Answer, AssuranceLevel, EntryPoint, IdentityProof, Role};
use sayso_engine::{Desk, RuntimeEnv, StoreLocation};
use sayso_workflow::{FlowOutcome, FlowState, HumanInput, HumanQuestion, Inbox, Phase, Workflow};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn ann() -> Actor {
    Actor::new(Role::Human, "ann", IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Cli)
}

fn workflow() -> Workflow<u32> {
    Workflow::new("bench", 1)
        .phase(
            Phase::new("work")
                .agent(|state: FlowState<u32>| async move { Ok::<_, String>(state.data + 1) })
                .keep(|state, done: &u32| *state = *done)
                .human(HumanQuestion::approval("Deploy version 1.4.2 to production?"))
                .next("go on"),
        )
        .phase(
            Phase::new("go on")
                .agent(|state: FlowState<u32>| async move { Ok::<_, String>(state.data + 1) })
                .keep(|state, done: &u32| *state = *done)
                .terminal(),
        )
        .build()
        .unwrap()
}

struct Wanted(BTreeMap<String, String>);

impl Wanted {
    fn text(&self, name: &str, usual: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| usual.into())
    }

    fn number(&self, name: &str, usual: usize) -> usize {
        self.text(name, &usual.to_string()).parse().unwrap()
    }
}

/// Asked, answered and gone on to the end: in ms, without the time to think.
async fn once(
    inbox: &Inbox,
    desk: &Desk,
    workflow: &Workflow<u32>,
    key: &str,
    think: Duration,
) -> f64 {
    let began = Instant::now();
    let (flow, outcome) = inbox.run(workflow, key, 0, HumanInput::Park).await.unwrap();
    let FlowOutcome::Waits(questions) = outcome else { panic!("it asks") };
    let asked = began.elapsed();
    tokio::time::sleep(think).await;
    let again = Instant::now();
    let (desk, id) = (desk.clone(), questions[0].gate);
    let answered = tokio::task::spawn_blocking(move || {
        let digest = desk.gate(id)?.digest.to_string();
        desk.answer(&ann(), id, Answer::approved(), &digest)
    });
    answered.await.unwrap().unwrap();
    let outcome = flow.run(HumanInput::Park).await.unwrap();
    assert!(matches!(outcome, FlowOutcome::Done(state) if state.data == 2));
    (asked + again.elapsed()).as_secs_f64() * 1e3
}

fn memory_kb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn main() {
    let mut words = std::env::args().skip(1);
    let mode = words.next().unwrap_or_default();
    let mut wanted = Wanted(BTreeMap::new());
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        wanted.0.insert(name.trim_start_matches('-').to_owned(), value);
    }
    let place = match wanted.text("backend", "sqlite").as_str() {
        "postgres" => StoreLocation::Postgres(wanted.text("pg", "")),
        _ => StoreLocation::Sqlite(std::path::Path::new(&wanted.text("dir", ".")).join("flows.db")),
    };
    Desk::create(place.clone(), "bench", &ann(), RuntimeEnv::real()).unwrap();
    let desk = Desk::open_shared(place.clone(), "bench", RuntimeEnv::real()).unwrap();
    let inbox = Inbox::with(desk.clone(), "bench");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let said = match mode.as_str() {
        "b3" => runtime.block_on(parked(&inbox, wanted.number("n", 1_000))),
        _ => runtime.block_on(round_trips(&inbox, &desk, &wanted)),
    };
    println!("@@{said}");
    // What only waits for its turn to be dropped is not measured.
    runtime.shutdown_background();
}

async fn round_trips(inbox: &Inbox, desk: &Desk, wanted: &Wanted) -> serde_json::Value {
    let workflow = workflow();
    let think = Duration::from_secs_f64(wanted.text("think", "0").parse().unwrap());
    let tag = std::process::id();
    for n in 0..wanted.number("warmup", 10) {
        once(inbox, desk, &workflow, &format!("{tag} warm {n}"), Duration::ZERO).await;
    }
    let (count, at_once) = (wanted.number("n", 60), wanted.number("inflight", 1));
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let those: Vec<_> = (0..at_once)
        .map(|_| {
            let (inbox, desk, workflow, next) =
                (inbox.clone(), desk.clone(), workflow.clone(), next.clone());
            tokio::spawn(async move {
                let mut took = vec![];
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return took;
                    }
                    took.push(once(&inbox, &desk, &workflow, &format!("{tag} {n}"), think).await);
                }
            })
        })
        .collect();
    let mut took = vec![];
    for one in those {
        took.extend(one.await.unwrap());
    }
    let wall = began.elapsed().as_secs_f64();
    json!({
        "rtt_ms": took, "wall_s": wall, "per_s": took.len() as f64 / wall,
        "durability": "synchronous=FULL, or fsync=on: each step is on the disk before the next",
    })
}

/// Flows that wait: what they cost this process.
async fn parked(inbox: &Inbox, count: usize) -> serde_json::Value {
    let (workflow, tag) = (workflow(), std::process::id());
    for n in 0..50 {
        inbox.run(&workflow, &format!("{tag} warm {n}"), 0, HumanInput::Park).await.unwrap();
    }
    let before = memory_kb();
    for n in 0..count {
        inbox.run(&workflow, &format!("{tag} {n}"), 0, HumanInput::Park).await.unwrap();
    }
    let more = memory_kb().saturating_sub(before);
    json!({"flows": count, "more_kb": more, "bytes_per_gate": more * 1024 / count.max(1)})
}
