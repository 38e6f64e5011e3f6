//! Several ways to an ending at the same moment: one counts, and whoever lost is told (G, R3, R13).

use super::{Reply, Server, text};
use crate::harness::{Ran, Who, on_both};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// How many answer over HTTP at once.
const RACERS: usize = 8;

on_both! {
    fn one_of_many_answers_counts(space: &Space) {
        let servers = [Server::of(space), Server::of(space)];
        let task = servers[0].post("ann", "/tasks", json!({"title": "Pick"})).is(201);
        let gate = servers[0].ask("coder", json!({"question": "Which?", "task": task["id"]}));
        let waits = space.start(Who::Agent("coder"), &["wait", text(&gate["handle"])]);
        let cli = space.start(Who::Human("bob"), &["respond", text(&gate["handle"]), "from the terminal"]);
        let replies: Vec<Reply> = thread::scope(|scope| {
            let racers: Vec<_> = (0..RACERS).map(|n| {
                let (server, gate) = (&servers[n % 2], &gate);
                scope.spawn(move || {
                    server.answer("ann", gate, json!({"verdict": "approved", "text": format!("{n}")}))
                })
            }).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let cli = Ran::of(&cli.wait_with_output().unwrap());
        let shown = servers[1].get("ann", &format!("/gates/{}", text(&gate["id"]))).is(200);
        let (winner, by) = (text(&shown["answer"]["text"]), text(&shown["answer"]["by"]));
        let mut won = usize::from(cli.code == 0);
        for reply in &replies {
            match reply.status {
                200 => {
                    won += 1;
                    assert_eq!(reply.json()["answer"]["text"], winner);
                }
                _ => assert!(text(&reply.refused(409, "SAY004")["detail"]).contains(by)),
            }
        }
        assert_eq!(won, 1, "{replies:?} {cli:?}");
        if cli.code != 0 {
            cli.exits(6).refused("SAY004");
        }
        assert_eq!(Ran::of(&waits.wait_with_output().unwrap()).ok(), winner);
        let notes = space.show(text(&task["handle"]))["notes"].clone();
        assert_eq!(notes.as_array().unwrap().len(), 1);
        space.verify();
    }
}

on_both! {
    /// A terminal, the API and the deadline: one of them ends it, and the others are told.
    fn an_answer_against_the_clock(space: &Space) {
        let server = Server::of(space);
        let asked: Vec<Value> = (0..6).map(|n| {
            server.ask("coder", json!({"question": format!("In time {n}?"), "form": "verdict", "deadline": "2s"}))
        }).collect();
        let outcomes: Vec<(Value, u16, i32)> = thread::scope(|scope| {
            let racers: Vec<_> = asked.iter().enumerate().map(|(n, gate)| {
                let server = &server;
                scope.spawn(move || {
                    // Around the deadline, some before and some behind it.
                    thread::sleep(Duration::from_millis(1_700 + 120 * n as u64));
                    let cli = space.start(Who::Human("bob"), &["reject", text(&gate["handle"]), "no"]);
                    let reply = server.answer("ann", gate, json!({"verdict": "approved"}));
                    let code = Ran::of(&cli.wait_with_output().unwrap()).code;
                    (gate.clone(), reply.status, code)
                })
            }).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        for (gate, api, cli) in &outcomes {
            let path = format!("/gates/{}?wait=30s", text(&gate["id"]));
            let shown = server.get("coder", &path).is(200);
            let expected = match (text(&shown["state"]), shown["answer"]["by"].as_str()) {
                ("answered", Some("ann")) => (200, 6),
                ("answered", Some("bob")) => (409, 0),
                ("expired", None) => (409, 6),
                other => panic!("{other:?}"),
            };
            assert_eq!((*api, *cli), expected, "{shown}");
        }
        let entries = space.audit();
        let ended = |entry: &&Value| {
            ["gate.answered", "gate.expired"].contains(&text(&entry["action"]))
        };
        assert_eq!(entries.iter().filter(ended).count(), asked.len());
        space.verify();
    }
}
