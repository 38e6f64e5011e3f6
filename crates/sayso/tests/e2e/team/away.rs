//! Servers that go away while somebody counts on them, and replies that are lost on the way.

use super::{Team, for_teams, log_in};
use crate::harness::{Backend, Ran, Space, Who};
use crate::notices::until;
use crate::worker::{COMPLETE, Project, says, turns};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Scenario L over HTTP: the server dies while an agent waits, and another comes in its place.
#[test]
fn whoever_waits_hears_it_from_the_next_server() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let mut team = Team::new(backend);
        let ann = team.first("ann");
        let token = team.token(&ann, "agent", "coder");
        let waiting =
            ann.start(Who::Holder(&token), &["ask", "Ship it?", "--kind", "approval", "--wait"]);
        until_it_is_asked(&ann);
        let home = team.home.path().to_owned();
        team.server.replace(&home, || std::thread::sleep(Duration::from_millis(700)));
        ann.run(Who::Terminal, &["approve", &open_gates(&ann)[0]]).ok();
        let heard = Ran::of(&waiting.wait_with_output().unwrap());
        heard.exits(0).says("approved");
        assert!(open_gates(&ann).is_empty());
        let audit = ann.run(Who::Terminal, &["audit", "list", "--limit", "100", "--json"]).json();
        let count = |action: &str| {
            audit.as_array().unwrap().iter().filter(|entry| entry["action"] == action).count()
        };
        assert_eq!(["gate.opened", "gate.answered", "gate.delivered"].map(count), [1, 1, 1]);
    }
}

/// What is written when nobody is there fails at once, and says that nothing was allowed.
#[test]
fn nobody_there_is_said_at_once() {
    let team = Team::new(Backend::Sqlite);
    let ann = team.first("ann");
    drop(team.server);
    let began = std::time::Instant::now();
    ann.run(Who::Script, &["create", "A task"])
        .exits(9)
        .refused("SAY023")
        .says("nothing was allowed");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// A worker goes on when its server is back: with the turn it was in, and with what came meanwhile.
#[test]
fn a_worker_outlives_its_server() {
    let space = Space::new(Backend::Served);
    let slow = format!("- sleep: 3\n{}", says(COMPLETE));
    let project = Project::new(&space, &turns(&[&slow]), "");
    let first = space.create(&["First"]);
    let mut command = space.command(Who::Script, &["work", "--watch"]);
    let mut worker = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    until("the turn begins", || space.state(&first) == "in_progress");
    space.replace_server(|| std::thread::sleep(Duration::from_millis(1_500)));
    until("the turn ends well", || space.state(&first) == "closed");
    space.replace_server(|| std::thread::sleep(Duration::from_millis(500)));
    let second = space.create(&["Second"]);
    until("the next one, too", || space.state(&second) == "closed");
    assert_eq!(project.endings(&first), ["completed"]);
    assert_eq!(project.endings(&second), ["completed"]);
    assert!(worker.try_wait().unwrap().is_none(), "it works on");
    worker.kill().unwrap();
    worker.wait().unwrap();
    space.verify();
}

for_teams! {
    /// The reply to a call is lost, so the program asks again; it is done once, and the reply is the same.
    fn what_came_of_a_lost_call(team: &Team) {
        let ann = team.first("ann");
        let token = team.token(&ann, "human", "bob");
        let task = ann.run(Who::Script, &["create", "Count"]).ok();
        for (cut, args) in [
            ("note", vec!["note", &task, "once"]),
            ("create_task", vec!["create", "Another"]),
            ("close_task", vec!["close", &task, "done"]),
        ] {
            let thief = Thief::before(&team.server.url, cut);
            let machine = Space::empty();
            machine.run(Who::Script, &["init", "--name", &team.name, "--store", &thief.url]).ok();
            machine.run(Who::Holder(&token), &args).exits(0);
            assert_eq!(thief.calls.load(Ordering::SeqCst), 2, "{cut} was made again");
        }
        let shown = ann.run(Who::Script, &["show", &task, "--json"]).json();
        assert_eq!(shown["notes"].as_array().map(Vec::len), Some(1), "{shown}");
        assert_eq!(shown["state"], "closed");
        let all = ann.run(Who::Script, &["list", "--all", "--json"]).json();
        assert_eq!(all["items"].as_array().map(Vec::len), Some(2), "{all}");
    }
}

for_teams! {
    /// A secret that was lost with the reply is kept nowhere: it is said which token to revoke.
    fn a_secret_that_was_lost(team: &Team) {
        let ann = team.first("ann");
        let token = ann.path().join("stolen.token");
        let thief = Thief::before(&team.server.url, "mint");
        let machine = Space::empty();
        machine.run(Who::Script, &["init", "--name", &team.name, "--store", &thief.url]).ok();
        log_in(&machine, "ann", "correct horse").exits(0);
        let make = ["token", "create", "--role", "agent", "--name", "coder", "--out"];
        let make: Vec<_> = make.iter().copied().chain([token.to_str().unwrap()]).collect();
        machine.run(Who::Terminal, &make).refused("SAY030").says("sayso token revoke k");
        assert!(!token.exists());
        let tokens = ann.run(Who::Terminal, &["token", "list", "--json"]).json();
        let coders = tokens["items"].as_array().unwrap().iter().filter(|t| t["name"] == "coder");
        assert_eq!(coders.count(), 1);
    }
}

fn open_gates(machine: &Space) -> Vec<String> {
    let inbox = machine.run(Who::Terminal, &["inbox", "--json"]).json();
    let items = inbox["items"].as_array().unwrap();
    items.iter().map(|gate| gate["handle"].as_str().unwrap().to_owned()).collect()
}

fn until_it_is_asked(machine: &Space) {
    for _ in 0..200 {
        if !open_gates(machine).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nothing was asked");
}

/// Stands before a server, hands everything over and back, and steals the first reply to one call.
struct Thief {
    url: String,
    /// How often the call was made.
    calls: Arc<AtomicUsize>,
}

impl Thief {
    fn before(server: &str, call: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = server.strip_prefix("http://").unwrap().to_owned();
        let (calls, wanted) = (Arc::new(AtomicUsize::new(0)), format!("/{call} HTTP/1.1\r\n"));
        let count = calls.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, server, wanted) =
                    (stream.unwrap(), server.clone(), wanted.clone());
                let count = count.clone();
                std::thread::spawn(move || {
                    while let Some(request) = one_message(&mut stream) {
                        let reply = handed_over(&server, &request);
                        let is_wanted = String::from_utf8_lossy(&request).contains(&wanted);
                        if is_wanted && count.fetch_add(1, Ordering::SeqCst) == 0 {
                            return;
                        }
                        if stream.write_all(&reply).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { url, calls }
    }
}

fn handed_over(server: &str, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(request).unwrap();
    one_message(&mut stream).unwrap()
}

/// A request or a response, head and body.
fn one_message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let (mut all, mut some) = (vec![], [0; 4096]);
    loop {
        let read = stream.read(&mut some).ok().filter(|read| *read > 0)?;
        all.extend_from_slice(&some[..read]);
        let Some(end) = all.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
        if all.len() >= end + 4 + length {
            return Some(all);
        }
    }
}
