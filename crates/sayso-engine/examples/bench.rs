//! The gate benchmark, as one program with the modes the peers' programs have: `b1` round trip and
//! throughput, `b2` kill and recover, `b3` what a waiting gate costs; and `fill`, which fills a
//! space for the command line's benchmark. It prints one line, `@@` and JSON.
//!
//! In `b1` with one gate in flight, agent and human are two processes: the agent opens a gate, tells
//! the human through a pipe, and waits as `sayso ask --wait` does. The pipe is part of the time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use sayso_core::gate::Card;
use sayso_core::{
    Actor, Answer, AnswerShape, AssuranceLevel, EntryPoint, GateId, GateKind, IdentityProof, Role,
};
use sayso_engine::{Desk, GateFilter, NewGate, NewTask, RuntimeEnv, StoreLocation, WaitOutcome};
use serde_json::json;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const QUESTION: &str = "Should the API use JWT tokens or session cookies for authentication?";
const ANSWER: &str = "Use JWT tokens with 24h expiry";

struct Options(HashMap<String, String>);

impl Options {
    fn text(&self, name: &str, or: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| or.into())
    }

    fn number(&self, name: &str, or: usize) -> usize {
        self.0.get(name).map_or(or, |v| v.parse().expect(name))
    }

    fn seconds(&self, name: &str) -> f64 {
        self.0.get(name).map_or(0.0, |v| v.parse().expect(name))
    }

    fn place(&self) -> StoreLocation {
        match self.text("backend", "sqlite").as_str() {
            "postgres" => StoreLocation::Postgres(self.text("pg", "")),
            _ => {
                let dir = std::path::PathBuf::from(self.text("dir", "."));
                std::fs::create_dir_all(&dir).unwrap();
                StoreLocation::Sqlite(dir.join("sayso.db"))
            }
        }
    }

    fn desk(&self) -> Desk {
        Desk::create(self.place(), "bench", &actor(Role::Human, "ann"), RuntimeEnv::real())
            .unwrap()
            .0
    }

    fn shared_desk(&self) -> Desk {
        drop(self.desk());
        Desk::open_shared(self.place(), "bench", RuntimeEnv::real()).unwrap()
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let mode = words.next().unwrap_or_default();
    let mut options = HashMap::new();
    while let Some(name) = words.next() {
        options.insert(name.trim_start_matches('-').to_owned(), words.next().unwrap_or_default());
    }
    let options = Options(options);
    match mode.as_str() {
        "b1" if options.number("inflight", 1) <= 1 => round_trips(&options),
        "b1" => throughput(&options),
        "b2" => recovery(&options),
        "b3" => cost(&options),
        "fill" => fill(&options),
        "human" => human(&options),
        "open-many" => open_many(&options),
        "recover" => recover(&options),
        other => panic!("no mode {other:?}"),
    }
}

fn emit(value: &serde_json::Value) {
    println!("@@{value}");
}

fn actor(role: Role, name: &str) -> Actor {
    Actor::new(role, name, IdentityProof::Token, AssuranceLevel::S0, EntryPoint::Cli)
}

fn ask(desk: &Desk) -> NewGate {
    let card = Card {
        question: QUESTION.into(),
        narrative: String::new(),
        facts: vec![],
        shape: AnswerShape::Text,
    };
    NewGate::new(desk.new_gate_id(), GateKind::Decision, None, card)
}

fn answer(desk: &Desk, id: GateId) {
    let digest = desk.gate(id).unwrap().digest.to_string();
    desk.answer(&actor(Role::Human, "ann"), id, Answer::text(ANSWER), &digest).unwrap();
}

fn durability(options: &Options) -> String {
    match options.place() {
        StoreLocation::Postgres(_) => "postgres defaults: fsync=on synchronous_commit=on".into(),
        StoreLocation::Sqlite(_) | StoreLocation::Memory => {
            "sqlite WAL synchronous=FULL: fsync per commit".into()
        }
    }
}

/// A human in a process of their own: reads ids, answers them.
fn start_human(options: &Options) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("human");
    for (name, value) in &options.0 {
        command.args([&format!("--{name}"), value]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn human(options: &Options) {
    let desk = options.desk();
    println!("ready");
    for id in std::io::stdin().lock().lines() {
        answer(&desk, id.unwrap().parse().unwrap());
    }
}

fn prefill(desk: &Desk, count: usize, threads: usize) {
    let left = AtomicUsize::new(count);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let agent = actor(Role::Agent, "coder");
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                    .is_ok()
                {
                    desk.ask(&agent, ask(desk)).unwrap();
                }
            });
        }
    });
}

fn round_trips(options: &Options) {
    let (count, warmup) = (options.number("n", 60), options.number("warmup", 10));
    if options.number("prefill", 0) > 0 {
        prefill(&options.shared_desk(), options.number("prefill", 0), 64);
    }
    let desk = options.desk();
    let agent = actor(Role::Agent, "coder");
    let mut human = start_human(options);
    let mut ready = String::new();
    BufReader::new(human.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    let mut pipe = human.stdin.take().unwrap();
    let (mut rtt, mut opened, mut delivered) = (vec![], vec![], vec![]);
    let began = Instant::now();
    for n in 0..warmup + count {
        let start = Instant::now();
        let gate = desk.ask(&agent, ask(&desk)).unwrap();
        let open = start.elapsed();
        let thinking = options.seconds("think");
        std::thread::sleep(Duration::from_secs_f64(thinking));
        let start = Instant::now();
        writeln!(pipe, "{}", gate.opened.id).unwrap();
        let WaitOutcome::Ended(gate) = desk.wait(gate.opened.id, None).unwrap() else { panic!() };
        let deliver = start.elapsed();
        assert_eq!(gate.answer().unwrap().0.as_text(), ANSWER);
        if n >= warmup {
            opened.push(open.as_secs_f64() * 1e3);
            delivered.push(deliver.as_secs_f64() * 1e3);
            rtt.push((open + deliver).as_secs_f64() * 1e3);
        }
    }
    let wall = began.elapsed().as_secs_f64();
    drop(pipe);
    human.wait().unwrap();
    emit(&json!({"rtt_ms": rtt, "open_ms": opened, "deliver_ms": delivered, "wall_s": wall,
                 "per_s": count as f64 / wall, "durability": durability(options)}));
}

/// Many gates in flight in one process: each thread opens, answers as the human, and waits.
fn throughput(options: &Options) {
    let (count, inflight) = (options.number("n", 1_000), options.number("inflight", 64));
    let desk = options.shared_desk();
    if options.number("prefill", 0) > 0 {
        prefill(&desk, options.number("prefill", 0), 64);
    }
    prefill(&desk, 100, inflight);
    let left = AtomicUsize::new(count);
    let began = Instant::now();
    let rtt: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..inflight)
            .map(|_| {
                scope.spawn(|| {
                    let agent = actor(Role::Agent, "coder");
                    let mut rtt = vec![];
                    while left
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                        .is_ok()
                    {
                        let start = Instant::now();
                        let gate = desk.ask(&agent, ask(&desk)).unwrap();
                        answer(&desk, gate.opened.id);
                        let waited = desk.wait(gate.opened.id, None).unwrap();
                        assert!(matches!(waited, WaitOutcome::Ended(_)));
                        rtt.push(start.elapsed().as_secs_f64() * 1e3);
                    }
                    rtt
                })
            })
            .collect();
        workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    });
    let wall = began.elapsed().as_secs_f64();
    emit(&json!({"rtt_ms": rtt, "wall_s": wall, "per_s": count as f64 / wall,
                 "durability": durability(options)}));
}

fn open_many(options: &Options) {
    let began = Instant::now();
    prefill(&options.shared_desk(), options.number("n", 1_000), 64);
    println!("filled {}", began.elapsed().as_secs_f64());
    std::thread::sleep(Duration::from_secs(600));
}

/// A fresh process: the first answer, then every open gate listed, then a sample answered.
fn recover(options: &Options) {
    let desk = options.desk();
    let ann = actor(Role::Human, "ann");
    let filter = GateFilter { limit: 1, ..GateFilter::default() };
    let first = desk.gates(&ann, filter).unwrap().items.remove(0);
    answer(&desk, first.opened.id);
    println!("first");
    let mut filter = GateFilter { limit: 1_000, ..GateFilter::default() };
    let mut open = vec![];
    loop {
        let page = desk.gates(&ann, filter.clone()).unwrap();
        open.extend(page.items.iter().map(|gate| gate.opened.id));
        filter.after = open.last().copied();
        if !page.more {
            break;
        }
    }
    println!("listed {}", open.len());
    let sample = options.number("sample", 500).min(open.len());
    for id in &open[..sample] {
        answer(&desk, *id);
    }
    println!("answered {sample}");
}

fn recovery(options: &Options) {
    let count = options.number("n", 1_000);
    let again = |mode: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(mode);
        for (name, value) in &options.0 {
            command.args([&format!("--{name}"), value]);
        }
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let line = |from: &mut dyn BufRead| {
        let mut text = String::new();
        from.read_line(&mut text).unwrap();
        text.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let mut filler = again("open-many");
    let fill = line(&mut BufReader::new(filler.stdout.as_mut().unwrap()));
    filler.kill().unwrap();
    filler.wait().unwrap();
    let began = Instant::now();
    let mut recovering = again("recover");
    let mut out = BufReader::new(recovering.stdout.take().unwrap());
    line(&mut out);
    let first = began.elapsed().as_secs_f64();
    let listed = line(&mut out);
    let all = began.elapsed().as_secs_f64();
    let answered = line(&mut out);
    let end = began.elapsed().as_secs_f64();
    recovering.wait().unwrap();
    emit(&json!({"n": count, "fill_s": fill, "first_answer_s": first, "all_listed_s": all,
                 "answered": answered + 1.0, "answered_of": count.min(500) + 1,
                 "answer_sample_s": end - all, "lost": count as f64 - 1.0 - listed,
                 "durability": durability(options)}));
}

/// Parked gates are rows: nothing is held for them in memory.
fn cost(options: &Options) {
    let count = options.number("n", 1_000);
    let desk = options.shared_desk();
    prefill(&desk, 50, 8);
    let (before, disk_before) = (private_bytes(), disk(options));
    prefill(&desk, count, 64);
    let (after, disk_after) = (private_bytes(), disk(options));
    emit(&json!({"n": count, "bytes_per_gate": (after - before) as f64 / count as f64,
                 "disk_per_gate": (disk_after - disk_before) as f64 / count as f64,
                 "note": "a waiting gate is rows; no process, thread or task holds it"}));
}

fn private_bytes() -> i64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let private = text.lines().filter(|line| line.starts_with("Private_"));
    private.map(|line| line.split_whitespace().nth(1).unwrap().parse::<i64>().unwrap() * 1024).sum()
}

fn disk(options: &Options) -> i64 {
    let dir = options.text("dir", ".");
    let files = std::fs::read_dir(dir).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len() as i64).sum()
}

/// Tasks and gates as the peers' data set has them: every tenth is done, of the rest every fifth
/// waits for the one before; `gates` of them are answered gates.
fn fill(options: &Options) {
    let (tasks, gates) = (options.number("tasks", 0), options.number("gates", 0));
    let desk = options.shared_desk();
    let service = actor(Role::Human, "ann");
    let began = Instant::now();
    let next = AtomicUsize::new(1);
    // Each thread takes runs of ten, in which a task can only wait for one of its own run.
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(10, Ordering::Relaxed);
                    if from > tasks {
                        break;
                    }
                    let mut before = None;
                    for n in from..(from + 10).min(tasks + 1) {
                        let id = desk.new_task_id();
                        let (done, waits) = (n % 10 == 0, n % 5 == 3);
                        let blocked_by = before.filter(|_| waits && !done).into_iter().collect();
                        let new = NewTask {
                            id,
                            title: format!("Implement part {n} of the authentication flow"),
                            body: String::new(),
                            sort: "task".into(),
                            priority: (n % 3) as u8,
                            size: None,
                            labels: [].into(),
                            parent: None,
                            blocked_by,
                            requires: None,
                            awaiting: None,
                        };
                        desk.create_task(&service, new).unwrap();
                        if done {
                            desk.close_task(&service, id, "done", false).unwrap();
                        }
                        before = Some(id);
                    }
                }
            });
        }
    });
    let left = AtomicUsize::new(gates);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let agent = actor(Role::Agent, "coder");
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                    .is_ok()
                {
                    let gate = desk.ask(&agent, ask(&desk)).unwrap();
                    answer(&desk, gate.opened.id);
                }
            });
        }
    });
    emit(&json!({"tasks": tasks, "gates": gates, "seconds": began.elapsed().as_secs_f64()}));
}
