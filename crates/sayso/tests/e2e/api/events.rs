//! What happens, as it happens: in order, without gaps and without doubles, whatever is cut off.

use super::{PATIENCE, Reply, Server, text};
use crate::harness::{Backend, Space, Who, on_both};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Somebody who listens to a server.
struct Ear {
    lines: BufReader<Chunks>,
    pub status: u16,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
struct Heard {
    id: u64,
    event: String,
    data: Value,
}

impl Ear {
    fn at(server: &Server, who: &str, query: &str, last: Option<u64>) -> Self {
        let mut stream = server.connect();
        let last = last.map_or(String::new(), |id| format!("last-event-id: {id}\r\n"));
        let request = format!(
            "GET /v1/spaces/{}/events?heartbeat=1s{query} HTTP/1.1\r\nhost: {}\r\n{last}authorization: Bearer {}\r\n\r\n",
            server.space,
            server.address,
            server.secret(who)
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = vec![];
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let reply = Reply::read(&head).unwrap();
        Self { lines: BufReader::new(Chunks { stream, left: 0 }), status: reply.status }
    }

    /// The next event; none when the stream is over.
    fn next(&mut self) -> Option<Heard> {
        let (mut id, mut event) = (None, String::new());
        loop {
            match self.line()?.split_once(": ") {
                Some(("id", number)) => id = number.parse().ok(),
                Some(("event", name)) => event = name.to_owned(),
                Some(("data", data)) => {
                    let data = serde_json::from_str(data).unwrap();
                    return Some(Heard { id: id.unwrap(), event, data });
                }
                _ => {}
            }
        }
    }

    /// The next line; none when the stream is over.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }

    /// Everything up to the entry of this number.
    fn up_to(&mut self, end: u64) -> Vec<Heard> {
        let mut heard: Vec<Heard> = vec![];
        while heard.last().is_none_or(|last| last.id < end) {
            heard.push(self.next().expect("the stream is over"));
        }
        heard
    }
}

/// A body that comes in chunks.
struct Chunks {
    stream: TcpStream,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let size = self.size()?;
            if size == 0 {
                return Ok(0);
            }
            self.left = size;
        }
        let most = self.left.min(into.len());
        let read = self.stream.read(&mut into[..most])?;
        self.left -= read;
        if self.left == 0 {
            self.stream.read_exact(&mut [0; 2])?;
        }
        Ok(read)
    }
}

impl Chunks {
    fn size(&mut self) -> std::io::Result<usize> {
        let mut line = vec![];
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            line.push(byte[0]);
        }
        let text = String::from_utf8_lossy(&line);
        usize::from_str_radix(text.trim(), 16).map_err(std::io::Error::other)
    }
}

/// The number of the last entry.
fn end(space: &Space) -> u64 {
    space.audit()[0]["seq"].as_u64().unwrap()
}

fn ids(heard: &[Heard]) -> Vec<u64> {
    heard.iter().map(|heard| heard.id).collect()
}

on_both! {
    /// One server ends, another comes up: who goes on behind the last event has missed nothing.
    fn going_on_after_a_restart(space: &Space) {
        let first = Server::of(space);
        let mut ear = Ear::at(&first, "ann", "&after=0", None);
        assert_eq!(ear.status, 200);
        let gate = first.ask("coder", json!({"question": "Ship?", "form": "verdict"}));
        let heard = ear.up_to(end(space));
        assert_eq!(ids(&heard), (1..=heard.len() as u64).collect::<Vec<_>>());
        let last = heard.last().unwrap();
        assert_eq!((last.event.as_str(), &last.data["object"]), ("gate.opened", &gate["handle"]));
        assert!(first.stop(), "a server with listeners ends cleanly");
        assert_eq!(ear.next(), None, "the stream ends with its server");
        // Something happens while nobody serves.
        space.ann(&["approve", text(&gate["handle"])]).ok();
        let second = Server::of(space);
        let mut ear = Ear::at(&second, "ann", "&after=1", Some(last.id));
        second.post("coder", &format!("/gates/{}/acknowledged", text(&gate["id"])), json!({})).is(200);
        let more = ear.up_to(end(space));
        assert_eq!(more[0].id, last.id + 1);
        assert_eq!(ids(&more), (last.id + 1..=end(space)).collect::<Vec<_>>());
        assert!(more.iter().any(|heard| heard.event == "gate.answered"));
        space.verify();
    }
}

/// What is written through one server is heard at the other, and a listener may change over.
#[test]
fn two_servers_on_one_database() {
    let space = &Space::new(Backend::Postgres);
    let servers = [Server::of(space), Server::of(space)];
    let begin = end(space);
    let mut ear = Ear::at(&servers[0], "ann", "", Some(begin));
    let (mut heard, rounds) = (vec![], 12);
    for round in 0..rounds {
        for (n, server) in servers.iter().enumerate() {
            server.ask("coder", json!({"question": format!("Round {round} at {n}?")}));
        }
        space.coder(&["ask", "From the terminal?"]).ok();
        let now = begin + 3 * (round + 1);
        heard.extend(ear.up_to(now));
        // Over to the other one.
        ear = Ear::at(&servers[(round % 2) as usize], "ann", "", Some(now));
    }
    assert_eq!(ids(&heard), (begin + 1..=begin + 3 * rounds).collect::<Vec<_>>());
    space.verify();
}

on_both! {
    /// An agent hears of its own gates and messages, an operator of everything but who was refused.
    fn who_hears_what(space: &Space) {
        space.mint("operator", "ops");
        let server = Server::of(space);
        let begin = Some(end(space));
        let mut ears = ["ann", "coder", "tester", "ops"].map(|who| Ear::at(&server, who, "", begin));
        let own = server.ask("coder", json!({"question": "Mine?", "form": "verdict"}));
        server.ask("tester", json!({"question": "Not yours?"}));
        server.post("ann", "/messages", json!({"to": "coder", "text": "hello"})).is(201);
        server.post("ann", "/tasks", json!({"title": "Something"})).is(201);
        server.answer("tester", &own, json!({"verdict": "approved"})).refused(404, "SAY001");
        server.answer("ann", &own, json!({"verdict": "approved"})).is(200);
        let last = server.post("ann", "/messages", json!({"to": "tester", "text": "bye"})).is(201);
        let last_own = server.post("ann", "/messages", json!({"to": "coder", "text": "bye"})).is(201);
        assert_ne!(last, last_own);
        let mut hears = |n: usize, count: usize| -> Vec<String> {
            (0..count).map(|_| ears[n].next().unwrap().event).collect()
        };
        assert_eq!(hears(1, 4), ["gate.opened", "message.sent", "gate.answered", "message.sent"]);
        assert_eq!(hears(2, 2), ["gate.opened", "message.sent"]);
        assert_eq!(
            hears(0, 8),
            ["gate.opened", "gate.opened", "message.sent", "task.created", "refused", "gate.answered",
             "message.sent", "message.sent"]
        );
        assert_eq!(
            hears(3, 7),
            ["gate.opened", "gate.opened", "message.sent", "task.created", "gate.answered",
             "message.sent", "message.sent"]
        );
        space.verify();
    }
}

on_both! {
    /// A stream says that it is there, and ends with the credential it was opened by.
    fn a_credential_that_is_taken_back(space: &Space) {
        let server = Server::of(space);
        let mut ear = Ear::at(&server, "coder", "", None);
        let began = Instant::now();
        while ear.line().expect("it is over").as_str() != ": still here" {
            assert!(began.elapsed() < PATIENCE);
        }
        space.revoke("coder");
        while ear.line().is_some() {
            assert!(began.elapsed() < PATIENCE, "it goes on without a credential");
        }
        let mut again = server.connect();
        let path = format!("/v1/spaces/{}/events", server.space);
        again.write_all(&server.request("GET", &path, Some(server.secret("coder")), None)).unwrap();
        let mut reply = vec![];
        again.read_to_end(&mut reply).unwrap();
        Reply::read(&reply).unwrap().refused(401, "SAY028");
    }
}

on_both! {
    /// Somebody who does not read holds up nobody.
    fn a_listener_that_sleeps(space: &Space) {
        let server = Server::of(space);
        let mut sleeper = Ear::at(&server, "ann", "", None);
        let begin = end(space);
        let context = "x".repeat(100_000);
        for n in 0..40 {
            server.ask("coder", json!({"question": format!("{n}?"), "context": context}));
        }
        let mut awake = Ear::at(&server, "ann", "", Some(begin));
        assert_eq!(awake.up_to(begin + 40).len(), 40);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(sleeper.up_to(begin + 40).len(), 40);
        space.run(Who::Human("ann"), &["audit", "verify"]).ok();
    }
}
