//! Waiting: a request is held until the gate has ended, and no thread with it.

use super::figures::held;
use super::{Server, text};
use crate::harness::{Who, on_both};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// How many wait together: more than a server has threads.
const WAITERS: usize = 150;

on_both! {
    fn held_until_somebody_answers(space: &Space) {
        let server = Server::of(space);
        let gate = server.ask("coder", json!({"question": "Which port?"}));
        let path = format!("/gates/{}", text(&gate["handle"]));
        // Nobody answers: it is still open, and that is an answer, too.
        let began = Instant::now();
        assert_eq!(server.get("coder", &format!("{path}?wait=1s")).is(200)["state"], "open");
        assert!(began.elapsed() >= Duration::from_secs(1));
        let waiting = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| server.get("coder", &format!("{path}?wait=60s")).is(200));
            std::thread::sleep(Duration::from_millis(300));
            // From the terminal, in another process.
            space.run(Who::Human("ann"), &["respond", text(&gate["handle"]), "8080"]).ok();
            waiter.join().unwrap()
        });
        assert_eq!(waiting["answer"]["text"], "8080");
        assert_eq!(server.get("coder", &format!("{path}?wait=60s")).is(200)["state"], "answered");
        server.get("coder", &format!("{path}?wait=soon")).refused(400, "SAY038");
        server.get("tester", &format!("{path}?wait=1s")).refused(404, "SAY001");
        space.verify();
    }
}

on_both! {
    /// An id is taken for a gate's at once; a task's id means the gate it waits for, and one of neither nothing.
    fn a_task_stands_for_its_gate(space: &Space) {
        let server = Server::of(space);
        let task = server.post("ann", "/tasks", json!({"title": "Ship it"})).is(201);
        let (id, question) = (text(&task["id"]), "Which port?");
        let gate = server.ask("coder", json!({"question": question, "task": id}));
        let path = format!("/gates/{id}");
        assert_eq!(server.get("coder", &path).is(200)["id"], gate["id"]);
        assert_eq!(server.get("coder", &format!("{path}?wait=1s")).is(200)["state"], "open");
        let said = json!({"verdict": "approved", "text": "8080", "digest": gate["digest"]});
        let answered = server.post("ann", &format!("{path}/answer"), said.clone()).is(200);
        assert_eq!(answered["id"], gate["id"], "{answered}");
        let nobody = "/gates/01ARZ3NDEKTSV4RRFFQ69G5FAV";
        server.get("coder", nobody).refused(404, "SAY001");
        server.post("ann", &format!("{nobody}/answer"), said).refused(404, "SAY001");
        space.verify();
    }
}

on_both! {
    /// A gate whose time is over lets its waiter go, with nobody else there to look at the clock.
    fn held_until_time_is_over(space: &Space) {
        let server = Server::of(space);
        let gate = server.ask("coder", json!({"question": "Now?", "deadline": "2s"}));
        let path = format!("/gates/{}?wait=60s", text(&gate["id"]));
        let ended = server.get("coder", &path).is(200);
        assert_eq!((&ended["state"], &ended["answer"]), (&json!("expired"), &Value::Null));
    }
}

on_both! {
    fn many_wait_and_threads_are_few(space: &Space) {
        let server = Server::of(space);
        let gate = server.ask("coder", json!({"question": "Ship?", "form": "verdict"}));
        let path = format!("/v1/spaces/{}/gates/{}?wait=60s", server.space, text(&gate["id"]));
        let request = server.request("GET", &path, Some(server.secret("coder")), None);
        let mut waiters: Vec<_> = (0..WAITERS).map(|_| {
            let mut stream = server.connect();
            stream.write_all(&request).unwrap();
            stream
        }).collect();
        held(&server, WAITERS);
        let threads = std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().count();
        assert!(threads < WAITERS / 2 + 20, "{threads} threads for {WAITERS} waiters");
        server.answer("ann", &gate, json!({"verdict": "approved"})).is(200);
        for waiter in &mut waiters {
            let mut reply = String::new();
            waiter.read_to_string(&mut reply).unwrap();
            assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("\"approved\""), "{reply}");
        }
    }
}

on_both! {
    /// A server that ends lets its waiters go; the next one has what they wait for.
    fn a_server_that_ends(space: &Space) {
        let server = Server::of(space);
        let gate = server.ask("coder", json!({"question": "Ship?", "form": "verdict"}));
        let path = format!("/v1/spaces/{}/gates/{}?wait=60s", server.space, text(&gate["id"]));
        let mut waiter = server.connect();
        waiter.write_all(&server.request("GET", &path, Some(server.secret("coder")), None)).unwrap();
        held(&server, 1);
        assert!(server.stop());
        let mut reply = String::new();
        waiter.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("\"open\""), "{reply}");
        let next = Server::of(space);
        next.answer("ann", &gate, json!({"verdict": "approved"})).is(200);
        let path = format!("/gates/{}?wait=60s", text(&gate["id"]));
        assert_eq!(next.get("coder", &path).is(200)["verdict"], "approved");
    }
}
