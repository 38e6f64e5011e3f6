//! Several servers on one database, of which now and then one dies.
#![allow(clippy::print_stdout, reason = "what was counted is to be read")]

use super::Team;
use crate::harness::{Backend, Server, Who};
use sayso_core::gate::Card;
use sayso_core::{
    Actor, Answer, AnswerContent, AnswerShape, EntryPoint, GateId, GateKind, IdentityProof, Role,
    TaskId, Verdict,
};
use sayso_engine::{CallError, Desk, NewGate, RemoteDesk, RpcTransport, RuntimeEnv, WaitOutcome};
use sayso_server::client::HttpTransport;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How many servers there are.
const SERVERS: usize = 3;

/// How many ask and are answered at the same time.
const PAIRS: usize = 8;

/// A line to whichever server is up, another each time.
struct AnyOf {
    urls: Arc<Mutex<Vec<String>>>,
    space: String,
    turn: AtomicUsize,
    retries: Arc<AtomicU64>,
}

impl RpcTransport for AnyOf {
    fn call(
        &self,
        secret: Option<&str>,
        call: &str,
        handed: &str,
        patience: Duration,
    ) -> Result<String, CallError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let url = {
            let urls = self.urls.lock().unwrap();
            urls[turn % urls.len()].clone()
        };
        let outcome = HttpTransport::to(&url, &self.space, None)
            .unwrap()
            .call(secret, call, handed, patience);
        if let Err(CallError::Unreachable(_) | CallError::Interrupted(_)) = &outcome {
            self.retries.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    fn address(&self) -> String {
        "one of several".into()
    }
}

/// Kills one server after the other, and starts another in its place.
fn kill_and_start(home: &Path, urls: &Mutex<Vec<String>>, is_over: &AtomicBool) -> u64 {
    let mut servers: Vec<_> = (0..SERVERS).map(|_| Server::start(home, &[])).collect();
    *urls.lock().unwrap() = servers.iter().map(|server| server.url.clone()).collect();
    let mut kills = 0;
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(300));
        let at = kills as usize % SERVERS;
        // Dropped it is killed, as it is.
        servers[at] = Server::start(home, &[]);
        urls.lock().unwrap()[at] = servers[at].url.clone();
        kills += 1;
    }
    kills
}

/// Whatever is asked is there, whatever is answered stays, and nobody hears anything twice or not at all.
#[test]
fn servers_that_die() {
    let team = Team::new(Backend::Postgres);
    let ann = team.first("ann");
    let token = |role: &str, name: &str| {
        let file = ann.path().join(name);
        let make =
            ["token", "create", "--role", role, "--name", name, "--out", file.to_str().unwrap()];
        ann.run(Who::Terminal, &make).ok();
        std::fs::read_to_string(file).unwrap().trim().to_owned()
    };
    let (asker, answerer) = (token("agent", "coder"), token("human", "bob"));
    let urls = Arc::new(Mutex::new(vec![team.server.url.clone()]));
    let (is_over, retries) = (AtomicBool::new(false), Arc::new(AtomicU64::new(0)));
    let desk = |secret: &str| {
        let (urls, retries) = (urls.clone(), retries.clone());
        let line = AnyOf { urls, space: team.name.clone(), turn: AtomicUsize::new(0), retries };
        let reached =
            RemoteDesk::reach(Arc::new(line), Some(secret.to_owned()), RuntimeEnv::real());
        Desk::from(reached.unwrap().with_patience(Duration::from_secs(60)))
    };
    let task = ann.run(Who::Script, &["create", "Count"]).ok();
    let task = desk(&answerer).find_task(&task).unwrap();
    let (asked, kills) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill_and_start(team.home.path(), &urls, &is_over));
        while urls.lock().unwrap().len() < SERVERS {
            std::thread::sleep(Duration::from_millis(20));
        }
        let pairs: Vec<_> = (0..PAIRS)
            .map(|_| {
                scope.spawn(|| {
                    ask_and_answer(&desk(&asker), &desk(&answerer), task, Duration::from_secs(8))
                })
            })
            .collect();
        let asked: Vec<GateId> = pairs.into_iter().flat_map(|pair| pair.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        (asked, killer.join().unwrap())
    });
    let again = retries.load(Ordering::Relaxed);
    println!(
        "{} gates asked and answered, {kills} servers killed, {again} calls made again",
        asked.len()
    );
    // A test in which nothing happened shows nothing.
    assert!(asked.len() >= 30 && kills >= 8 && again >= 5, "{} {kills} {again}", asked.len());
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), asked.len());
    let desk = crate::reliability::desk(&team.home);
    for id in &asked {
        let gate = desk.gate(*id).unwrap();
        assert_eq!(gate.verdict(), Some(Verdict::Approved));
    }
    let ended = ann.run(Who::Terminal, &["audit", "verify", "--json"]).json();
    assert_eq!(ended["holds"], true);
    // Each was opened once and answered once.
    let audit = ann.run(Who::Terminal, &["audit", "list", "--limit", "100000", "--json"]).json();
    let of =
        |action: &str| audit.as_array().unwrap().iter().filter(|e| e["action"] == action).count();
    assert_eq!((of("gate.opened"), of("gate.answered")), (asked.len(), asked.len()));
    // A note is not the same when it is written again: that it is there once is what replies are kept for.
    assert_eq!(of("task.noted"), asked.len());
}

/// Asks and answers, one after the other, until the time is over. What was asked.
fn ask_and_answer(asker: &Desk, answerer: &Desk, task: TaskId, time: Duration) -> Vec<GateId> {
    let (coder, bob) = (actor(asker, Role::Agent, "coder"), actor(answerer, Role::Human, "bob"));
    let began = Instant::now();
    let mut asked = vec![];
    while began.elapsed() < time {
        let id = asker.new_gate_id();
        let card = Card {
            question: format!("May I go on after {}?", asked.len()),
            narrative: String::new(),
            facts: vec![],
            shape: AnswerShape::Verdict,
        };
        asker.ask(&coder, NewGate::new(id, GateKind::Decision, None, card)).unwrap();
        let shown = answerer.gate(id).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| asker.wait(id, Some(Duration::from_secs(60))).unwrap());
            let yes = Answer {
                verdict: Verdict::Approved,
                content: AnswerContent::None,
                reason: None,
                interrupts: false,
            };
            answerer.answer(&bob, id, yes, shown.digest.as_str()).unwrap();
            assert!(matches!(waiting.join().unwrap(), WaitOutcome::Ended(_)));
        });
        answerer.note(&bob, task, &format!("I said yes to {id}"), false).unwrap();
        asked.push(id);
    }
    asked
}

fn actor(desk: &Desk, role: Role, name: &str) -> Actor {
    Actor::new(role, name, IdentityProof::Token, desk.level(), EntryPoint::Cli)
}
