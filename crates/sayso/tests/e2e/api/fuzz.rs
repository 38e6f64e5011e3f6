//! Requests by chance, made from the document itself: fitting ones, ones at the edge, and hostile ones.
//!
//! Whatever is sent, the server does not fail, answers what the document says, and its audit holds at the
//! end. `SAYSO_SEED` chooses other requests and `SAYSO_FUZZ` how many: `SAYSO_FUZZ=50000 cargo xtask test -p
//! sayso api::fuzz`.

mod requests;

use super::document::{Document, Operation};
use super::{Reply, Server, text, ulid};
use crate::governed::policy;
use crate::harness::{Backend, Space, Who};
use crate::lifecycle::Fleet;
use crate::reliability::Chance;
use requests::{Made, Maker, Mood};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};

/// How many requests are sent unless told otherwise, to each database.
const REQUESTS: u64 = 2_500;

/// Who sends them; nobody and a stranger are among them.
const PEOPLE: [&str; 6] = ["ann", "coder", "root", "eye", "ops", "cron"];

/// Agents; all but the first run.
const AGENTS: [&str; 8] =
    ["fixer", "mender", "welder", "joiner", "roofer", "glazier", "mason", "tiler"];

/// What takes a key that somebody touches; see `api::passkeys`.
const WITH_A_KEY: [&str; 4] = ["beginPasskey", "addPasskey", "removePasskey", "askForPresence"];

/// So that there is something to explain.
const POLICY: &str = "
rules:
  - {name: never, on: tool, match: {command: rm *}, then: deny}
  - {name: careful, on: tool, then: ask, ask: {of: ann, deadline: 2h}}
";

/// What was seen of an operation.
#[derive(Debug, Default, Clone)]
struct Count {
    sent: u64,
    done: u64,
    refused: u64,
}

#[test]
fn sqlite() {
    run(Backend::Sqlite);
}

#[test]
fn postgres() {
    run(Backend::Postgres);
}

fn run(backend: Backend) {
    let space = Space::new(backend);
    for (role, name) in
        [("admin", "root"), ("auditor", "eye"), ("operator", "ops"), ("service", "cron")]
    {
        space.mint(role, name);
    }
    let fleet = Fleet::new(&space, &AGENTS.map(|name| (name, "")));
    for name in &AGENTS[1..] {
        space.run(Who::Terminal, &["agent", "spawn", name, "--wait"]).ok();
        fleet.started(name, 1);
    }
    policy(&space, "space", POLICY);
    let server = Server::of(&space);
    let document = Document::of(&server);
    let operations = document.operations();
    let mut maker = Maker::new(Chance::new(0xf0 + backend as u64), &document);
    furnish(&server, &mut maker);
    let wanted = std::env::var("SAYSO_FUZZ").ok().and_then(|text| text.parse().ok());
    let wanted: u64 = wanted.unwrap_or(REQUESTS);
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for number in 0..wanted {
        let operation = &operations[(number % operations.len() as u64) as usize];
        let made = maker.request(operation, &server.space);
        let who = maker.who(operation, made.mood, &PEOPLE);
        let reply = send(&server, &who, operation, &made);
        let shown = || format!("seed {} number {number}, {who}: {made:?}", Chance::seed());
        document.check(operation, &reply).unwrap_or_else(|why| panic!("{why}\n{}", shown()));
        let count = counts.entry(operation.name.clone()).or_default();
        count.sent += 1;
        match reply.status {
            200..300 => {
                count.done += 1;
                assert_ne!(made.mood, Mood::Unreadable, "it was taken: {}\n{reply:?}", shown());
                maker.learn(&reply.json_or_null());
            }
            _ => count.refused += 1,
        }
    }
    check_counts(&counts, &operations, wanted);
    let ready = server.raw(&server.request("GET", "/health/ready", None, None));
    assert_eq!(ready.status, 200);
    assert!(server.stop());
    assert!(space.verify() > 100);
}

/// Every operation was used, most of them with success: a fuzzer that is refused everywhere has seen nothing.
fn check_counts(counts: &BTreeMap<String, Count>, operations: &[Operation], wanted: u64) {
    let each = wanted / operations.len() as u64;
    for operation in operations {
        let count = counts.get(&operation.name).cloned().unwrap_or_default();
        assert!(count.sent >= each && each >= 20, "{} was sent {count:?}", operation.name);
    }
    let never = counts.iter().filter(|(_, count)| count.done == 0);
    let never: Vec<_> = never.filter(|(name, _)| !WITH_A_KEY.contains(&name.as_str())).collect();
    assert!(never.is_empty(), "never done: {never:?}");
    let refused = counts.values().filter(|count| count.refused > 0).count();
    assert!(refused + 1 >= operations.len(), "hardly anything was refused: {counts:?}");
    let done: u64 = counts.values().map(|count| count.done).sum();
    assert!(done * 5 > wanted, "{done} of {wanted} were done");
}

/// Things to be named.
fn furnish(server: &Server, maker: &mut Maker<'_>) {
    for n in 0..12 {
        let question = json!({"question": format!("{n}?"), "id": ulid(1_000 + n)});
        maker.learn(&server.ask(if n % 2 == 0 { "coder" } else { "ann" }, question));
        maker.learn(&server.post("ann", "/tasks", json!({"title": format!("{n}")})).is(201));
        maker.learn(&server.post("ann", "/messages", json!({"to": "coder", "text": "x"})).is(201));
        let flow = json!({
            "id": ulid(2_000 + n), "workflow": "w", "version": "1", "definition": null, "title": "",
            "task": null, "phase": "a", "state": {},
        });
        let begun = server.line("ann", "start_flow", json!([flow])).is(200);
        maker.learn(&begun["started"]);
        let token = json!({"role": "agent", "name": format!("spare{n}")});
        maker.learn(&server.post("root", "/tokens", token).is(201));
    }
}

fn send(server: &Server, who: &str, operation: &Operation, made: &Made) -> Reply {
    // Whoever brings wrong credentials again and again is answered later each time; whoever brings none is not.
    static WRONG: AtomicU32 = AtomicU32::new(0);
    let secret = match made.mood {
        Mood::Stranger if WRONG.fetch_add(1, Ordering::Relaxed) < 4 => Some("sayso_h_0000"),
        Mood::Stranger => None,
        _ => Some(server.secret(who)),
    };
    let request = server.request(&operation.method, &made.target, secret, made.body.as_deref());
    if !operation.name.starts_with("stream") {
        return server.raw(&request);
    }
    // A stream has no end: its head says enough.
    let mut stream = server.connect();
    stream.write_all(&request).unwrap();
    let mut bytes = vec![0; 4_096];
    let mut read = 0;
    while !bytes[..read].windows(4).any(|four| four == b"\r\n\r\n") {
        read += stream.read(&mut bytes[read..]).unwrap();
    }
    let reply = Reply::read(&bytes[..read]).unwrap();
    if reply.status == 200 {
        return reply;
    }
    server.raw(&request)
}

impl Reply {
    fn json_or_null(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// The checker itself can fail: a document that is wrong in one place, a server that fails, a code that
/// nobody knows, a field that nobody told of.
#[test]
fn what_is_wrong_is_found() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    let document = Document::of(&server);
    let show = document.operation("showGate");
    let gate = server.ask("coder", json!({"question": "Ship?"}));
    let good = server.get("ann", &format!("/gates/{}", text(&gate["id"])));
    let refused = server.get("ann", "/gates/g0000");
    assert_eq!(document.check(&show, &good), Ok(()));
    assert_eq!(document.check(&show, &refused), Ok(()));
    let tampered = |pointer: &str, with: Value| {
        let mut value = document.value().clone();
        *value.pointer_mut(pointer).unwrap() = with;
        Document::new(value)
    };
    let wrong_type = tampered("/components/schemas/Gate/properties/revision/type", json!("string"));
    let too_few =
        tampered("/components/schemas/Gate/properties", json!({"id": {"type": "string"}}));
    let wrong_code = tampered("/components/schemas/Problem/properties/code/pattern", json!("^NO"));
    let with = |status: u16, change: &dyn Fn(&mut Value)| {
        let mut problem = refused.json();
        problem["status"] = json!(status);
        change(&mut problem);
        Reply { status, body: problem.to_string(), ..refused.clone() }
    };
    let html = Reply { body: "<html>".into(), ..refused.clone() };
    let plain =
        good.headers.clone().into_iter().chain([("content-type".into(), "text/html".into())]);
    let plain = Reply { headers: plain.collect(), ..good.clone() };
    for (what, found) in [
        ("a wrong type", wrong_type.check(&show, &good)),
        ("an untold field", too_few.check(&show, &good)),
        ("a wrong pattern", wrong_code.check(&show, &refused)),
        ("a failing server", document.check(&show, &with(500, &|_| {}))),
        ("an unknown code", document.check(&show, &with(409, &|p| p["code"] = json!("SAY999")))),
        ("another status", document.check(&show, &with(409, &|p| p["status"] = json!(404)))),
        (
            "a missing detail",
            document
                .check(&show, &with(409, &|p| drop(p.as_object_mut().unwrap().remove("detail")))),
        ),
        ("no JSON", document.check(&show, &html)),
        ("another type", document.check(&show, &plain)),
    ] {
        assert!(found.is_err(), "{what} was not found");
    }
}
